"""What a worker does to turns in PostgreSQL: claims one, shows that it lives, and ends it, once."""

from __future__ import annotations

import asyncio
import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal
from uuid import UUID

import psycopg
from psycopg.errors import UniqueViolation
from psycopg.types.json import Jsonb

from agent.answering import Usage
from agent.errors import TurnFailed
from chassis.postgres import Connection, Pool
from chassis.queries import Queries
from contracts.frames import Sentence
from contracts.search import Filter, Source
from contracts.turns import TurnStatus

SQL = Queries.of("agent")
NAME = "talkdown"
"""This agent, among those that chats have."""
AGAIN_S = 0.1
"""The pause before the end of a turn is stored again."""

CancelReason = Literal["stopped", "interrupted"]


@dataclass(frozen=True)
class Claimed:
    """A turn that is ours to run; ``waited_s`` since it was asked, ``left_s`` until its deadline."""

    turn_id: UUID
    chat_id: UUID
    question: str
    filter: Filter
    prefetch_id: UUID | None
    traceparent: str
    waited_s: float
    left_s: float
    history_since: dt.datetime | None = None


@dataclass(frozen=True)
class Answered:
    """What is stored of an answer."""

    answer: str
    sources: tuple[Source, ...] = ()
    sentences: tuple[Sentence, ...] = ()
    abstained: bool = False


class Claims:
    """The turns of one worker; ``worker`` is a name that no other process ever has."""

    def __init__(self, pool: Pool, worker: str) -> None:
        self._pool = pool
        self.worker = worker

    async def claim(self) -> Claimed | None:
        """Take the oldest waiting turn of a chat that has none running; nothing when there is none."""
        try:
            rows = await self._rows(SQL.claim, {"worker": self.worker})
        except UniqueViolation:  # another worker took a turn of the same chat in this very moment
            return None
        if not rows:
            return None
        row = rows[0]
        return Claimed(
            turn_id=row["turn_id"],
            chat_id=row["chat_id"],
            question=row["question"],
            filter=Filter.model_validate(row["filter"]),
            prefetch_id=row["prefetch_id"],
            traceparent=row["traceparent"],
            waited_s=max(0.0, row["waited_s"]),
            left_s=max(0.0, row["left_s"]),
            history_since=row["history_since"],
        )

    async def heartbeat(self) -> dict[UUID, CancelReason | None]:
        """Show that this worker lives; gives the turns that are still its own, and why any of them was cancelled."""
        rows = await self._rows(SQL.heartbeat, {"worker": self.worker})
        return {row["turn_id"]: row["cancel_reason"] for row in rows}

    async def cancel_reason(self, turn_id: UUID) -> CancelReason | None:
        """Why a running turn of ours was cancelled; nothing when it was not, or is not ours any more."""
        rows = await self._rows(SQL.cancel_reason, {"turn_id": turn_id, "worker": self.worker})
        return rows[0]["cancel_reason"] if rows else None

    async def spend(self, chat_id: UUID, model: str, usage: Usage) -> None:
        """Add the tokens of an answer to what its chat has cost."""
        spent = {"input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens}
        async with self._pool.connection() as connection:
            await connection.execute(SQL.spend, {"chat_id": chat_id, "agent": NAME, "model": model, **spent})

    async def complete(self, turn_id: UUID, answered: Answered) -> bool:
        """Store an answer and end its turn as completed; false when it was cancelled, or is not ours any more.

        A database that is gone is tried again without end: the caller bounds it.
        """
        return await self._end(turn_id, "completed", None, answered, honour_cancel=True)

    async def end(self, turn_id: UUID, status: TurnStatus, failure: TurnFailed, answered: Answered | None) -> bool:
        """End a turn without a complete answer, as patiently; false when it is not ours any more."""
        return await self._end(turn_id, status, failure, answered, honour_cancel=False)

    async def told(self, turn_id: UUID) -> None:
        """Note that the last frame is written."""
        async with self._pool.connection() as connection:
            await connection.execute(SQL.mark_told, {"turn_id": turn_id})

    async def _end(
        self,
        turn_id: UUID,
        status: TurnStatus,
        failure: TurnFailed | None,
        answered: Answered | None,
        honour_cancel: bool,
    ) -> bool:
        ending = {
            "turn_id": turn_id,
            "worker": self.worker,
            "status": status,
            "error_code": failure.code if failure else None,
            "error_message": failure.message if failure else None,
            "honour_cancel": honour_cancel,
        }
        again = False
        while True:
            try:
                async with self._pool.connection() as connection, connection.transaction():
                    ended = await connection.execute(SQL.end_turn, ending)
                    ours = await ended.fetchone() is not None
                    if ours and answered is not None:
                        await _store(connection, turn_id, answered)
                    if ours or not again:
                        return ours
                # The connection was lost before; what was done then may have lasted all the same.
                rows = await self._rows(SQL.ended_as, {"turn_id": turn_id, "worker": self.worker})
                return bool(rows) and rows[0]["status"] == status
            except psycopg.OperationalError:
                again = True
                await asyncio.sleep(AGAIN_S)

    async def _rows(self, query: bytes, parameters: dict[str, Any]) -> Sequence[dict[str, Any]]:
        async with self._pool.connection() as connection:
            return await (await connection.execute(query, parameters)).fetchall()


async def _store(connection: Connection, turn_id: UUID, answered: Answered) -> None:
    async with connection.cursor() as cursor:
        await cursor.execute(
            SQL.store_answer, {"turn_id": turn_id, "answer": answered.answer, "abstained": answered.abstained}
        )
        if answered.sources:
            await cursor.executemany(
                SQL.store_source,
                [
                    {"turn_id": turn_id, "place": place, "source": Jsonb(source.model_dump(mode="json"))}
                    for place, source in enumerate(answered.sources, start=1)
                ],
            )
        if answered.sentences:
            await cursor.executemany(
                SQL.store_sentence,
                [
                    {
                        "turn_id": turn_id,
                        "place": sentence.index,
                        "span_start": sentence.span[0],
                        "span_end": sentence.span[1],
                        "verdict": sentence.verdict,
                        "support": Jsonb([one.model_dump(mode="json") for one in sentence.support]),
                    }
                    for sentence in answered.sentences
                ],
            )
