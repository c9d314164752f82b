"""An event loop whose clock jumps to the next thing that waits, so that ten minutes pass in a moment.

Everything that waits by the loop (``asyncio.sleep``, ``asyncio.timeout``, ``call_later``) waits in its time. Sockets
and threads do not: what uses them belongs on a real loop.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from typing import TypeVar

T = TypeVar("T")


class _Selector(selectors.SelectSelector):
    """Never waits: the time that it should have waited is handed to the loop."""

    waited = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            ready = super().select(5.0)  # nothing in virtual time is due: only a thread could wake the loop
            if not ready:
                raise RuntimeError("Everything waits, and nothing is due.")
            return ready
        ready = super().select(0)
        if not ready:
            self.waited += max(0.0, timeout)
        return ready


class VirtualLoop(asyncio.SelectorEventLoop):
    """A loop in virtual time, which starts at 0."""

    def __init__(self) -> None:
        self._skipping = _Selector()
        super().__init__(self._skipping)

    def time(self) -> float:
        return self._skipping.waited


def in_virtual_time(work: Coroutine[object, object, T]) -> T:
    """Run ``work`` to its end on a loop in virtual time."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(work)
