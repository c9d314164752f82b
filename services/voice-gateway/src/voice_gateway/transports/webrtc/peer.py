"""The peer connection of one call: an answer to an offer, sound both ways, text on a data channel, and its end.

It knows nothing of sessions. It is over when the client closed it or its data channel, when nothing came from the
client for a while, or when :meth:`Peer.close` was called; :attr:`Peer.over` is then set.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from typing import Any, cast

from aiortc import RTCConfiguration, RTCDataChannel, RTCPeerConnection, RTCRtpSender, RTCSessionDescription
from aiortc.mediastreams import MediaStreamTrack
from aiortc.rtcconfiguration import RTCBundlePolicy

from voice_gateway.errors import OfferRefused, Refused
from voice_gateway.playout import Playout
from voice_gateway.transports.webrtc.hearing import Arrivals
from voice_gateway.transports.webrtc.ice import Ports, bind_as_told
from voice_gateway.transports.webrtc.offer import Offer
from voice_gateway.transports.webrtc.opus import Decoder, Encoder, OpusThread
from voice_gateway.transports.webrtc.sending import VoiceTrack

log = logging.getLogger(__name__)

CHANNEL = "oai-events"
MAX_BUFFERED_BYTES = 262_144
"""Of events that are on their way to the client; more wait in the session's outbox."""
LOOK_S = 2.0
CLOSE_S = 5.0


class Peer:
    """One peer connection; ``hear`` gets the person's sound (PCM, 24 kHz), ``read`` each text of the client."""

    def __init__(
        self,
        playout: Playout,
        thread: OpusThread,
        where: Ports,
        *,
        hear: Callable[[bytes], None],
        read: Callable[[str | bytes], None],
    ) -> None:
        self.connected = asyncio.Event()
        self.over = asyncio.Event()
        self.why = ""
        """How it ended, in a word, for the log."""
        self._where, self._read = where, read
        self._pc = RTCPeerConnection(RTCConfiguration(iceServers=[], bundlePolicy=RTCBundlePolicy.MAX_BUNDLE))
        self._arrivals = Arrivals(Decoder(thread, hear))
        self._playout = playout
        playout.on_added = Encoder(thread).ahead
        self.track = VoiceTrack(playout, self._arrivals.passed)
        self._channel: RTCDataChannel | None = None
        self._channel_open = asyncio.Event()
        self._room = asyncio.Event()
        self._room.set()
        self._max_message_bytes = 0
        self._pc.on("connectionstatechange", self._changed)
        self._pc.on("datachannel", self._opened)
        self._pc.on("track", self._hear)

    @property
    def reads(self) -> bool:
        """Whether the client gets what is sent to it."""
        return self._channel is not None and not self.over.is_set()

    async def answer(self, offer: Offer) -> str:
        """The SDP answer to ``offer``; :class:`OfferRefused` when it cannot be answered after all."""
        self._max_message_bytes = offer.max_message_bytes
        self._pc.addTrack(self.track)
        sound = self._pc.getTransceivers()[0]
        codecs = RTCRtpSender.getCapabilities("audio").codecs
        sound.setCodecPreferences([codec for codec in codecs if codec.mimeType.lower() == "audio/opus"])
        try:
            await self._pc.setRemoteDescription(RTCSessionDescription(offer.sdp, "offer"))
            bind_as_told(self._pc, self._where)
            await self._pc.setLocalDescription(await self._pc.createAnswer())
        except Refused:
            raise
        except Exception as error:
            # What the parser let pass may still fail in many ways; it is the client's offer that did it.
            log.info("an offer could not be answered", extra={"error": type(error).__name__})
            raise OfferRefused from error
        return self._pc.localDescription.sdp

    async def send(self, text: str) -> bool:
        """Send an event when the client's channel is open and has room; False when it is larger than that takes."""
        await self._channel_open.wait()
        await self._room.wait()
        if self._max_message_bytes and len(text.encode()) > self._max_message_bytes:
            return False
        channel = self._channel
        if channel is not None and channel.readyState == "open":
            channel.send(text)
            if channel.bufferedAmount > MAX_BUFFERED_BYTES:
                self._room.clear()
        return True

    async def flush(self) -> None:
        """Wait until everything that was sent is with the client."""
        channel = self._channel
        if channel is None:
            return
        while channel.bufferedAmount and not self.over.is_set():  # noqa: ASYNC110 - aiortc tells of no empty buffer
            await asyncio.sleep(0.01)

    async def watch(self, silent_s: float) -> None:
        """Until nothing at all came from the client for ``silent_s``."""
        seen, seen_at = -1, time.monotonic()
        while time.monotonic() - seen_at < silent_s:
            await asyncio.sleep(min(LOOK_S, silent_s / 4))
            count = await self._received()
            if count != seen:
                seen, seen_at = count, time.monotonic()
        self._end("silent")

    async def close(self) -> None:
        """End it, and leave nothing behind."""
        self._end("closed")
        self._playout.on_added = lambda _frame: None
        try:
            async with asyncio.timeout(CLOSE_S):
                await self._pc.close()
        except TimeoutError:
            log.warning("a peer connection did not close in time")

    async def _received(self) -> int:
        report = await self._pc.getTransceivers()[0].receiver.getStats()
        return sum(
            stats.packetsReceived for stats in cast(dict[str, Any], report).values() if stats.type == "transport"
        )

    def _end(self, why: str) -> None:
        self.why = self.why or why
        self.over.set()
        self._channel_open.set()
        self._room.set()

    def _changed(self) -> None:
        match self._pc.connectionState:
            case "connected":
                self.connected.set()
            case "failed":
                self._end("failed")
            case "closed":
                self._end("left")
            case _:
                pass

    def _hear(self, track: MediaStreamTrack) -> None:
        del track  # its frames would come late; the packets are taken before they reach it
        receiver = self._pc.getTransceivers()[0].receiver
        buffer = "_RTCRtpReceiver__jitter_buffer"
        if not hasattr(receiver, buffer):
            raise RuntimeError("this aiortc keeps its jitter buffer elsewhere")
        setattr(receiver, buffer, self._arrivals)

    def _opened(self, channel: RTCDataChannel) -> None:
        if channel.label != CHANNEL or self._channel is not None:
            return
        self._channel = channel
        channel.bufferedAmountLowThreshold = MAX_BUFFERED_BYTES // 2
        channel.on("message", self._read)
        channel.on("bufferedamountlow", self._room.set)
        channel.on("close", lambda: self._end("channel closed"))
        self._channel_open.set()
