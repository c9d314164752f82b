"""Clients in calls with a gateway, as light as can be: packets in are noted, not decoded, and packets out are ready.

``python clients.py URL COUNT SECONDS`` opens COUNT calls, has each speak without an end while sound is sent into it,
and prints as JSON what arrived in SECONDS: the longest time between two packets of each call, how many were over the
limit, and how late this process's own loop was, without which the others could not be read.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import av
import httpx2
import uvloop
from aiortc import RTCConfiguration, RTCPeerConnection, RTCSessionDescription
from aiortc.mediastreams import MediaStreamTrack

from voice_gateway.transports.webrtc.ice import bind_as_told
from voice_gateway.transports.webrtc.opus import SILENCE

LIMIT_MS = 60.0
SLOT_S = 0.02
TEXT = "The valve behind the dry house is closed by hand before the boiler is lit in the morning. " * 3
BEAT_S = 0.005


@dataclass(frozen=True)
class Loopback:
    """Where its sockets are."""

    ice_addresses: tuple[str, ...] = ("127.0.0.1",)
    ice_ports: tuple[int, int] | None = None
    ice_announced: str | None = None


class Arrivals:
    """Stands in for aiortc's jitter buffer: notes when packets came, and whether they held speech."""

    def __init__(self) -> None:
        self.at: list[float] = []
        self.loud = 0

    def add(self, packet: Any) -> tuple[bool, None]:
        """A packet came."""
        self.at.append(time.monotonic())
        self.loud += packet.payload != SILENCE
        return False, None


class Sound(MediaStreamTrack):
    """Sends a packet every 20 ms: one that was encoded once, of a noise too soft to be speech."""

    kind = "audio"

    def __init__(self, payload: bytes) -> None:
        super().__init__()
        self._payload, self._slot, self._start = payload, 0, time.monotonic()

    async def recv(self) -> av.Packet[Any]:
        """The next packet, in its time."""
        self._slot += 1
        await asyncio.sleep(self._start + self._slot * SLOT_S - time.monotonic())
        packet: av.Packet[Any] = av.Packet(self._payload)
        packet.pts, packet.time_base = self._slot * 960, Fraction(1, 48_000)
        return packet


class Call:
    """One call."""

    def __init__(self, payload: bytes) -> None:
        self.pc = RTCPeerConnection(RTCConfiguration(iceServers=[]))
        self.arrivals = Arrivals()
        self.pc.addTrack(Sound(payload))
        self.channel = self.pc.createDataChannel("oai-events")
        self.channel.on("open", self.speak)
        self.channel.on("message", self.read)
        self.pc.on("track", self.hear)
        self.failed: list[str] = []

    def hear(self, _track: MediaStreamTrack) -> None:
        """Take the packets before they are decoded."""
        receiver = self.pc.getTransceivers()[0].receiver
        setattr(receiver, "_RTCRtpReceiver__jitter_buffer", self.arrivals)  # noqa: B010 - its name is private

    def speak(self) -> None:
        """Have something read out."""
        content = [{"type": "input_text", "text": TEXT}]
        response = {
            "conversation": "none",
            "output_modalities": ["audio"],
            "tools": [],
            "input": [{"type": "message", "role": "user", "content": content}],
            "instructions": "Read it as it stands.",
        }
        self.channel.send(json.dumps({"type": "response.create", "response": response}))

    def read(self, message: str) -> None:
        """Go on speaking when it was played."""
        event = json.loads(message)
        if event["type"] == "output_audio_buffer.stopped":
            self.speak()
        if event["type"] == "error":
            self.failed.append(event["error"]["message"])

    async def dial(self, http: httpx2.AsyncClient) -> None:
        """Open it, and wait until it stands."""
        offer = await self.pc.createOffer()
        bind_as_told(self.pc, Loopback())
        await self.pc.setLocalDescription(offer)
        secret = (await http.post("/v1/realtime/client_secrets", json={})).json()["value"]
        headers = {"authorization": f"Bearer {secret}", "content-type": "application/sdp"}
        answer = await http.post("/v1/realtime/calls", content=self.pc.localDescription.sdp, headers=headers)
        answer.raise_for_status()
        await self.pc.setRemoteDescription(RTCSessionDescription(answer.text, "answer"))
        while not self.arrivals.loud:
            if self.failed or self.pc.connectionState in ("failed", "closed"):
                raise ConnectionError(f"a call failed: {self.failed or self.pc.connectionState}")
            await asyncio.sleep(0.05)


async def lateness(into: list[float]) -> None:
    """How late this loop is, again and again."""
    while True:
        due = time.monotonic() + BEAT_S
        await asyncio.sleep(BEAT_S)
        into.append(time.monotonic() - due)


def noise() -> bytes:
    """A packet of soft noise."""
    codec: Any = av.CodecContext.create("libopus", "w")
    codec.sample_rate, codec.layout, codec.format, codec.bit_rate = 24_000, "mono", "s16", 32_000
    frame = av.AudioFrame("s16", "mono", 480)
    frame.sample_rate = 24_000
    frame.planes[0].update(bytes((at * 37) % 64 if at % 2 == 0 else 0 for at in range(960)))
    return b"".join(bytes(packet) for packet in codec.encode(frame))


async def main(url: str, count: int, seconds: float) -> None:
    """Open the calls, listen, and tell."""
    payload = noise()
    calls = [Call(payload) for _ in range(count)]
    async with httpx2.AsyncClient(base_url=url, trust_env=False, timeout=30) as http:
        for call in calls:
            await asyncio.wait_for(call.dial(http), 30)
    late: list[float] = []
    watching = asyncio.create_task(lateness(late))
    await asyncio.sleep(1.0)
    print("measuring", flush=True)
    for call in calls:
        call.arrivals.at.clear()
    late.clear()
    await asyncio.sleep(seconds)
    watching.cancel()
    gaps = [[(b - a) * 1000 for a, b in zip(call.arrivals.at, call.arrivals.at[1:], strict=False)] for call in calls]
    told = {
        "packets": sum(len(one) for one in gaps),
        "longest_ms": max(max(one, default=seconds * 1000) for one in gaps),
        "over": sum(gap > LIMIT_MS for one in gaps for gap in one) + sum(not one for one in gaps),
        "client_late_ms": max(late) * 1000,
    }
    print(json.dumps(told), flush=True)
    await asyncio.gather(*(call.pc.close() for call in calls))


if __name__ == "__main__":
    uvloop.run(main(sys.argv[1], int(sys.argv[2]), float(sys.argv[3])))
