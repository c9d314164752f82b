"""Taking a question in: stored, its first frame written, then announced (T1, T2, T5)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol
from uuid import UUID, uuid4

import psycopg
from psycopg.types.json import Jsonb
from redis.exceptions import RedisError

from agent.errors import NotAccepting, StorageFull, TooManyTurns
from agent.writing import Frames
from chassis import telemetry
from chassis.postgres import Connection, Pool
from chassis.queries import Queries
from contracts.events import Event, TurnRequested
from contracts.frames import Accepted, AnyFrame, Status
from contracts.turns import TurnAccepted, TurnAsked

log = logging.getLogger(__name__)
SQL = Queries.of("agent")
FIRST_FRAME_TIMEOUT_S = 2.0
HINT_TIMEOUT_S = 0.5


@dataclass(frozen=True)
class Limits:
    """How much may wait or run at once, and the seconds that a turn has, its wait included."""

    turns_in_chat: int = 4
    active_chats: int = 100
    deadline_s: float = 30.0


class Publishes(Protocol):
    """Puts events on the bus."""

    async def publish(self, *events: Event) -> object:
        """Publish events, in order."""
        ...


@dataclass(frozen=True)
class Reception:
    """Where questions are taken in; ``wake`` tells the workers of this process."""

    pool: Pool
    frames: Frames
    bus: Publishes
    wake: Callable[[], None]
    limits: Limits

    async def accept(self, asked: TurnAsked) -> TurnAccepted:
        """Store a question and write its first frame, both or neither; then tell the workers.

        A hint that is lost loses no turn: every agent looks for waiting turns by itself.
        """
        turn_id = uuid4()
        traceparent, trace_id = telemetry.inject(), telemetry.trace_id()
        assert traceparent is not None, "a turn is accepted inside a span"
        assert trace_id is not None, "a span has a trace"
        try:
            async with self.pool.connection() as connection, connection.transaction():
                others = await self._admit(connection, asked)
                question = {
                    "turn_id": turn_id,
                    "chat_id": asked.chat_id,
                    "question": asked.question,
                    "filter": Jsonb(asked.filter.model_dump(mode="json")),
                    "prefetch_id": asked.prefetch_id,
                    "trace_id": trace_id,
                    "traceparent": traceparent,
                    "history_since": asked.history_since,
                    "deadline_s": self.limits.deadline_s,
                }
                await connection.execute(SQL.store_question, question)
                first: list[AnyFrame] = [Accepted(turn_id=turn_id, trace_id=trace_id)]
                if others:
                    first.append(Status(stage="waiting"))
                # Nobody sees the row before the commit, so no worker can write a frame before this one.
                async with asyncio.timeout(FIRST_FRAME_TIMEOUT_S):
                    await self.frames.append(turn_id, *first)
        except (RedisError, OSError, TimeoutError, psycopg.OperationalError) as error:
            log.error("a question could not be taken", exc_info=error)
            raise (StorageFull if _is_full(error) else NotAccepting) from None
        known = {"turn_id": str(turn_id), "chat_id": str(asked.chat_id), "question": asked.question}
        log.info("turn accepted", extra=known)
        self.wake()
        await self._hint(turn_id, asked.chat_id)
        return TurnAccepted(turn_id=turn_id, chat_id=asked.chat_id, trace_id=trace_id)

    async def _admit(self, connection: Connection, asked: TurnAsked) -> int:
        """Hold the limits, and say how many turns of it are before this one."""
        await connection.execute(SQL.lock_admission)
        row = await (await connection.execute(SQL.count_active, {"chat_id": asked.chat_id})).fetchone()
        assert row is not None
        if row["in_chat"] >= self.limits.turns_in_chat:
            raise TooManyTurns(
                f"{row['in_chat']} questions of this chat are still open; wait for an answer and ask again."
            )
        if row["other_chats"] >= self.limits.active_chats:
            raise TooManyTurns("Too many people are asking at once; wait a moment and ask again.")
        return row["in_chat"]

    async def _hint(self, turn_id: UUID, chat_id: UUID) -> None:
        try:
            async with asyncio.timeout(HINT_TIMEOUT_S):
                await self.bus.publish(TurnRequested(turn_id=turn_id, chat_id=chat_id))
        except Exception as error:
            log.warning("a waiting turn was not announced", exc_info=error, extra={"turn_id": str(turn_id)})


def _is_full(error: Exception) -> bool:
    """Say whether PostgreSQL, or Redis by the name of its error, found no room on its disk."""
    return isinstance(error, psycopg.errors.DiskFull) or str(error).startswith("MISCONF")
