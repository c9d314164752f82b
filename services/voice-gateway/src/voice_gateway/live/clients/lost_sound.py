"""Notices that the sound of somebody who speaks has stopped coming: silence is sound, too, and ears wait for it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

LOST_S = 1.5
"""A network that stalls for less has only brought the sound late."""


class LostSound:
    """Calls ``lost`` once when, from the beginning of speech to its end, no sound came for ``LOST_S``."""

    def __init__(self, lost: Callable[[], None]) -> None:
        self._lost = lost
        self._timer: asyncio.TimerHandle | None = None
        self._came_at = 0.0

    def began(self) -> None:
        """Somebody speaks."""
        self.over()
        self.came()
        self._wait(LOST_S)

    def came(self) -> None:
        """The next sound is here."""
        self._came_at = asyncio.get_running_loop().time()

    def over(self) -> None:
        """It is known what it was."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _wait(self, seconds: float) -> None:
        self._timer = asyncio.get_running_loop().call_later(seconds, self._look)

    def _look(self) -> None:
        self._timer = None
        left_s = self._came_at + LOST_S - asyncio.get_running_loop().time()
        if left_s > 0.01:
            self._wait(left_s)
        else:
            self._lost()
