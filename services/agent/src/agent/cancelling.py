"""What a person does to a turn after asking: Stop, speaking over it, and having heard a part of it."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from uuid import UUID

from redis.asyncio import Redis
from redis.exceptions import RedisError

from agent import control
from agent.errors import Interrupted, Stopped, TurnUnknown
from agent.ledger import read_turn
from agent.telling import tell
from chassis.postgres import Connection, Pool
from chassis.queries import Queries
from contracts.turns import CancelRequested, Turn

log = logging.getLogger(__name__)
SQL = Queries.of("agent")
LARGEST = 2**31 - 1
"""The largest number that PostgreSQL takes as an ``integer``; no answer is as long."""


@dataclass(frozen=True)
class Canceller:
    """Cancels turns wherever they run; ``runs_here`` stops one of this process and says whether it was one."""

    pool: Pool
    redis: Redis
    runs_here: Callable[[UUID], bool]

    async def cancel(self, turn_id: UUID, request: CancelRequested) -> Turn:
        """Cancel a turn; one that has ended stays as it is, except that speech may cut short what is being heard.

        A running turn ends a moment later, when its worker has heard of it: the turn is answered as it stands now.
        """
        failure = Interrupted() if request.reason == "interrupted" else Stopped()
        parameters = {
            "turn_id": turn_id,
            "reason": request.reason,
            "heard": None if request.heard is None else min(request.heard, LARGEST),
            "error_code": failure.code,
            "error_message": failure.message,
        }
        async with self.pool.connection() as connection:
            cancelled = await (await connection.execute(SQL.cancel, parameters)).fetchone()
            if cancelled is not None and cancelled["status"] == "cancelled":
                await self._tell(turn_id, connection)
            turn = await read_turn(connection, turn_id)
        if turn is None:
            raise TurnUnknown
        if cancelled is not None and cancelled["status"] == "running" and not self.runs_here(turn_id):
            await control.announce(self.redis, turn_id)
        return turn

    async def heard(self, turn_id: UUID, characters: int) -> Turn:
        """Note how much of the answer was heard, in code points; it only grows."""
        async with self.pool.connection() as connection:
            await connection.execute(SQL.heard, {"turn_id": turn_id, "characters": min(characters, LARGEST)})
            turn = await read_turn(connection, turn_id)
        if turn is None:
            raise TurnUnknown
        return turn

    async def _tell(self, turn_id: UUID, connection: Connection) -> None:
        try:
            await tell(turn_id, connection, self.redis)
        except (RedisError, OSError):
            log.warning("the end of a cancelled turn is told later", extra={"turn_id": str(turn_id)})
