"""A client on a peer connection: it plays sound into a call, keeps the sound that it gets, and reads the events."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections import deque
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, cast

import av
import numpy as np
from aiortc import RTCConfiguration, RTCPeerConnection, RTCSessionDescription
from aiortc.mediastreams import MediaStreamError, MediaStreamTrack
from voice_fakes import until

from voice_gateway.transports.webrtc.ice import bind_as_told

RATE = 24_000
FRAME = RATE // 50


@dataclass(frozen=True)
class Loopback:
    """Where its sockets are."""

    ice_addresses: tuple[str, ...] = ("127.0.0.1",)
    ice_ports: tuple[int, int] | None = None
    ice_announced: str | None = None


class Microphone(MediaStreamTrack):
    """Plays what it is given, and silence else."""

    kind = "audio"

    def __init__(self) -> None:
        super().__init__()
        self.waiting: deque[bytes] = deque()
        self._start, self._count = time.monotonic(), 0

    def play(self, pcm: bytes) -> None:
        """Say ``pcm`` (24 kHz mono) into the call."""
        self.waiting.extend(pcm[at : at + FRAME * 2].ljust(FRAME * 2, b"\0") for at in range(0, len(pcm), FRAME * 2))

    async def recv(self) -> av.AudioFrame:
        """The next 20 ms."""
        self._count += 1
        await asyncio.sleep(max(0.0, self._start + self._count * 0.02 - time.monotonic()))
        frame = av.AudioFrame("s16", "mono", FRAME)
        frame.planes[0].update(self.waiting.popleft() if self.waiting else bytes(FRAME * 2))
        frame.sample_rate, frame.pts, frame.time_base = RATE, self._count * FRAME, Fraction(1, RATE)
        return frame


class Caller:
    """One client. ``sound`` is what it heard: 48 kHz mono, a list of blocks."""

    def __init__(self, channel: str | None = "oai-events") -> None:
        self.pc = RTCPeerConnection(RTCConfiguration(iceServers=[]))
        self.microphone = Microphone()
        self.events: list[dict[str, Any]] = []
        self.sound: list[np.ndarray[Any, np.dtype[np.int16]]] = []
        self.call_id = ""
        self.pc.addTrack(self.microphone)
        self.channel = self.pc.createDataChannel(channel) if channel else None
        if self.channel:
            self.channel.on("message", self._read)
        self._listening: asyncio.Task[None] | None = None
        self.pc.on("track", self._listen)

    async def offer(self) -> str:
        """Its SDP offer."""
        offer = await self.pc.createOffer()
        # The transports exist once an offer was made, and gather when it is set.
        bind_as_told(self.pc, Loopback())
        await self.pc.setLocalDescription(offer)
        return self.pc.localDescription.sdp

    async def accept(self, sdp: str, within_s: float = 10.0) -> None:
        """Take the answer and wait for the connection."""
        await self.pc.setRemoteDescription(RTCSessionDescription(sdp, "answer"))
        await until(lambda: self.pc.connectionState == "connected", within_s)
        channel = self.channel
        if channel is not None:
            await until(lambda: channel.readyState == "open", within_s)

    def say(self, kind: str, **fields: object) -> None:
        """Send an event."""
        assert self.channel is not None
        self.channel.send(json.dumps({"type": kind, **fields}))

    async def hears(self, kind: str, within_s: float = 10.0) -> dict[str, Any]:
        """The first event of this kind, when it is there."""
        await until(lambda: self.kinds(kind), within_s)
        return self.kinds(kind)[0]

    def kinds(self, kind: str) -> list[dict[str, Any]]:
        """The events of this kind so far."""
        return [event for event in self.events if event["type"] == kind]

    def loud_s(self, threshold: int = 500) -> float:
        """How many seconds of what it heard were loud."""
        return sum(int(np.abs(block).max(initial=0) > threshold) * block.size / 48_000 for block in self.sound)

    async def close(self) -> None:
        """Leave."""
        await self.pc.close()
        if self._listening is not None:
            self._listening.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._listening

    def _read(self, text: str) -> None:
        self.events.append(json.loads(text))

    def _listen(self, track: MediaStreamTrack) -> None:
        self._listening = asyncio.create_task(self._keep(track))

    async def _keep(self, track: MediaStreamTrack) -> None:
        with contextlib.suppress(MediaStreamError):
            while True:
                frame = cast(av.AudioFrame, await track.recv())
                self.sound.append(frame.to_ndarray().astype(np.int16).reshape(-1)[::2])


def tone(seconds: float, hertz: float = 440.0) -> bytes:
    """A tone, 24 kHz mono."""
    at = np.arange(int(seconds * RATE)) / RATE
    return (8000 * np.sin(2 * np.pi * hertz * at)).astype("<i2").tobytes()
