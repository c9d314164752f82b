"""The clock of a transport that has none: it takes a frame of a playout for every 20 ms that pass.

The client gets frames a little before they are due, so that a late packet leaves no gap.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence

from voice_gateway.playout import FRAME_MS, Frame, Playout

LEAD_FRAMES = 10
"""200 ms are with the client before they are due."""
ALMOST = 1e-6
"""Of a frame: a clock that wakes us to the moment is not to be asked again for what rounding took."""
MAX_LATE_FRAMES = 25
"""A clock that stood still for longer does not make up for it: the sound was not played either."""


class Pacer:
    """Drives ``playout`` in real time; ``send`` is given what the client shall have next, one speech at a time."""

    def __init__(
        self,
        playout: Playout,
        send: Callable[[Sequence[Frame]], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._playout, self._send, self._clock = playout, send, clock
        self._due = clock()

    def tick(self) -> None:
        """Play what is due by now."""
        late = int((self._clock() - self._due) * 1000 / FRAME_MS + ALMOST)
        if late > MAX_LATE_FRAMES:
            self._due += (late - MAX_LATE_FRAMES) * FRAME_MS / 1000
            late = MAX_LATE_FRAMES
        for _ in range(late):
            self._due += FRAME_MS / 1000
            frame = self._playout.take()
            coming = [frame, *self._playout.coming(LEAD_FRAMES)] if frame else []
            fresh = [ahead for ahead in coming if not ahead.sent]
            if fresh:
                self._send(fresh)
                for ahead in fresh:
                    ahead.speech.was_sent(ahead)

    async def run(self) -> None:
        """Tick until cancelled."""
        while True:
            await asyncio.sleep(max(0.0, self._due + FRAME_MS / 1000 - self._clock()))
            self.tick()
