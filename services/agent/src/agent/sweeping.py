"""What every agent does again and again for turns that nobody looks after (T10).

::

    running, no heartbeat for 4 s   ──> failed, worker_lost   ─┐
    waiting past its deadline       ──> failed, deadline      ─┼──> the last frame is written, once
    ended, its last frame missing   ──────────────────────────┘
    waiting, its hint lost          ──> the workers are woken

Any number of agents may sweep: each row is ended by one statement, and told under its row's lock.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass

from redis.asyncio import Redis

from agent import measuring
from agent.errors import DeadlinePassed, WorkerLost
from agent.telling import tell
from chassis.postgres import Pool
from chassis.queries import Queries

log = logging.getLogger(__name__)
SQL = Queries.of("agent")


@dataclass(frozen=True)
class Sweeper:
    """Looks after turns that nobody else does; times in seconds."""

    pool: Pool
    redis: Redis
    wake: Callable[[], None]
    every_s: float = 0.4
    lost_after_s: float = 4.0
    untold_after_s: float = 1.0

    async def sweep_on(self) -> None:
        """Sweep until cancelled; what fails is tried at the next sweep."""
        while True:
            try:
                await self.sweep()
            except Exception as error:
                log.warning("turns could not be looked after now", exc_info=error)
            self.wake()
            await asyncio.sleep(self.every_s)

    async def sweep(self) -> None:
        """End the turns that are lost or too late, and write the last frames that are missing."""
        async with self.pool.connection() as connection:
            lost = await connection.execute(
                SQL.fail_lost, {"lost_after_s": self.lost_after_s, "message": WorkerLost().message}
            )
            ended = [(row, WorkerLost.code) async for row in lost]
            late = await connection.execute(SQL.fail_late, {"message": DeadlinePassed().message})
            ended += [(row, DeadlinePassed.code) async for row in late]
            for row, failure in ended:
                measuring.swept(failure, row["age_s"])
                log.warning("a turn was ended by the sweep", extra={"turn_id": str(row["turn_id"])})
            for row, _ in ended:
                await tell(row["turn_id"], connection, self.redis)
        while await self._tell_one():
            pass

    async def _tell_one(self) -> bool:
        async with self.pool.connection() as connection, connection.transaction():
            row = await (await connection.execute(SQL.untold, {"after_s": self.untold_after_s})).fetchone()
            if row is None:
                return False
            await tell(row["turn_id"], connection, self.redis)
            return True
