"""Our voice as a track: a packet every 20 ms without a stop, of speech or of silence.

A browser that gets nothing for a while takes a second to begin again, so silence is sent too. Each packet has its place
in time. When the loop was held up, the places that passed are left empty: what was to be said is said a little later,
and nothing is sent in a burst, for which the browser would lengthen its buffer for the rest of the call.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from fractions import Fraction
from typing import Any, Protocol

import av
from aiortc.mediastreams import MediaStreamError, MediaStreamTrack

from voice_gateway.playout import FRAME_MS, Playout
from voice_gateway.transports.webrtc.opus import CLOCK_RATE, FRAME_TICKS, SILENCE

SLOT_S = FRAME_MS / 1000
LATE_S = 0.04
"""A place that is this late is left empty."""
ENCODING_SLOTS = 10
"""So many places a frame may miss because it is still being encoded."""
TIME_BASE = Fraction(1, CLOCK_RATE)


class Slots(Protocol):
    """Who is told of each place in time."""

    def __call__(self, now: float, ticks: int) -> None:
        """Until ``now``, ``ticks`` of the 48 kHz clock have passed since the last time."""
        ...


class VoiceTrack(MediaStreamTrack):
    """What the playout of a session plays, as Opus packets; ``passed`` is told of each place in time."""

    kind = "audio"

    def __init__(
        self,
        playout: Playout,
        passed: Slots,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        super().__init__()
        self._playout, self._passed = playout, passed
        self._clock, self._sleep = clock, sleep
        self._start: float | None = None
        self._slot = 0
        self._missed = 0
        self.skipped = 0
        """Places that were left empty because the loop was late."""

    async def recv(self) -> av.Packet[Any]:
        """The packet of the next place, when its time has come."""
        if self.readyState != "live":
            raise MediaStreamError
        now = self._clock()
        if self._start is None:
            self._start = now
        due = self._start + self._slot * SLOT_S
        if now < due:
            await self._sleep(due - now)
            now = self._clock()
        late = int((now - due) / SLOT_S) if now - due >= LATE_S else 0
        self._slot += late
        self.skipped += late
        packet: av.Packet[Any] = av.Packet(self._next())
        packet.pts = packet.dts = self._slot * FRAME_TICKS
        packet.time_base = TIME_BASE
        self._slot += 1
        self._passed(now, (late + 1) * FRAME_TICKS)
        return packet

    def _next(self) -> bytes:
        coming = next(self._playout.coming(1), None)
        if coming is not None and coming.encoded is None and self._missed < ENCODING_SLOTS:
            self._missed += 1
            return SILENCE
        self._missed = 0
        frame = self._playout.take()
        if frame is None:
            return SILENCE
        frame.speech.was_sent(frame)
        return frame.encoded or SILENCE
