"""The sessions of this process: no more than it has room for, and all of them ended when it stops."""

from __future__ import annotations

import asyncio
from typing import Protocol

from voice_gateway import measuring
from voice_gateway.errors import GoingAway, TooManySessions
from voice_gateway.opening import Senses
from voice_gateway.outbox import GOING_AWAY, Close
from voice_gateway.responding import Ending


class Held(Protocol):
    """A session as its process holds it, whatever it speaks on its wire."""

    async def leave(self, why: Close, *, answer: Ending, patience_s: float) -> None:
        """End: at once, or when its answer is done, within ``patience_s``."""
        ...


class Sessions:
    """Counts sessions, and ends them."""

    def __init__(self, limit: int, senses: Senses | None = None) -> None:
        self._limit, self._senses = limit, senses
        self._open: set[Held] = set()
        self._stopping = False

    def __len__(self) -> int:
        """How many are open."""
        return len(self._open)

    def check_open(self) -> None:
        """:class:`GoingAway` when the process stops."""
        if self._stopping:
            raise GoingAway

    def check_room(self) -> None:
        """:class:`TooManySessions` when all are taken, :class:`GoingAway` when the process stops."""
        self.check_open()
        if len(self._open) >= self._limit:
            raise TooManySessions
        if self._senses is not None:
            self._senses.check_room()

    def add(self, session: Held) -> None:
        """From now on the session counts."""
        self._open.add(session)
        measuring.SESSIONS.add(1)

    def remove(self, session: Held) -> None:
        """The session has ended."""
        if session in self._open:
            self._open.remove(session)
            measuring.SESSIONS.add(-1)

    async def stop(self, patience_s: float) -> None:
        """Take no more, and end each session: at once, or when its answer is done, within ``patience_s``."""
        self._stopping = True
        await asyncio.gather(
            *(session.leave(GOING_AWAY, answer="stopping", patience_s=patience_s) for session in list(self._open))
        )
