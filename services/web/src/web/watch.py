"""What became of a turn that says nothing (T10): web ends its stream within 5 s of its worker's last sign of life.

::

    silent > 2 s --GET /turns/{id}--> ended          the stored turn, as frames (its stream was lost)
                                      heartbeat old  error: worker_lost
                                      no frames      error: unavailable, when Redis has been gone for a while
                                      waiting        go on, until its deadline is long past
                                      unknown        error: not_found
                                      no agent       go on for 4 s, then error: unavailable
"""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Protocol
from uuid import UUID

from contracts.turns import ENDED, Turn
from web.errors import NotThere, UnknownTurn
from web.replay import LOST, OVERDUE, UNWATCHED, error_line, stored_lines

OVERDUE_S = 40.0
"""A turn has 30 s with its wait, and the agent fails it; past this nobody does."""
LOOK_EVERY_S = 0.5
LOOK_S = 1.0
"""How long a look-up may take; one that takes longer counts as no answer."""


class Turns(Protocol):
    """Where a stored turn is looked up."""

    async def turn(self, turn_id: UUID) -> Turn:
        """The turn; :class:`UnknownTurn` or :class:`NotThere` otherwise."""
        ...


class Watched(Protocol):
    """A reader, as far as the watch needs it."""

    turn_id: UUID
    cursor: str
    read_anything: bool
    heard_at: float
    sending: bool
    is_broken: bool


class Watch:
    """Looks a silent turn up and says how its stream must end, if it must."""

    def __init__(self, turns: Turns, *, silent_s: float, lost_s: float) -> None:
        self.turns, self.silent_s, self.lost_s = turns, silent_s, lost_s

    async def ending(self, reader: Watched) -> list[bytes]:
        """Wait until the stream cannot go on by itself; the lines that end it."""
        clock = asyncio.get_running_loop().time
        ended_before, alive_at = False, clock()
        while True:
            quiet = 0.0 if reader.sending else clock() - reader.heard_at
            if quiet < self.silent_s:
                ended_before = False
                await asyncio.sleep(self.silent_s if reader.sending else self.silent_s - quiet)
                continue
            heard_at = reader.heard_at
            try:
                turn = await asyncio.wait_for(self.turns.turn(reader.turn_id), LOOK_S)
            except UnknownTurn as error:
                return [error_line("not_found", str(error), reader.cursor)]
            except (NotThere, TimeoutError):
                if clock() - max(heard_at, alive_at) >= self.lost_s:
                    return [error_line("unavailable", UNWATCHED, reader.cursor)]
            else:
                alive_at = clock()
                if reader.heard_at == heard_at:
                    # An ended turn is looked at twice: its last frames may be on their way.
                    if turn.status in ENDED and ended_before:
                        return stored_lines(turn, cursor=reader.cursor, whole=not reader.read_anything)
                    ended_before = turn.status in ENDED
                    if lines := self._lost(turn, reader):
                        return lines
            await asyncio.sleep(LOOK_EVERY_S)

    def _lost(self, turn: Turn, reader: Watched) -> list[bytes] | None:
        wall = datetime.now(UTC)
        if turn.status in ENDED:
            return None
        if turn.heartbeat_at is not None and (wall - turn.heartbeat_at).total_seconds() > self.lost_s:
            return [error_line("worker_lost", LOST, reader.cursor)]
        if reader.is_broken:
            return [error_line("unavailable", UNWATCHED, reader.cursor)]
        if (wall - turn.asked_at).total_seconds() > OVERDUE_S:
            return [error_line("deadline", OVERDUE, reader.cursor)]
        return None
