"""Reading turns: one, those of a chat, and what a model may know of them."""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from agent.history import PastTurn, recent_turns
from chassis.postgres import Connection, Pool
from chassis.queries import Queries
from contracts.frames import Sentence
from contracts.search import Source
from contracts.turns import Chat, Turn

SQL = Queries.of("agent")


class Ledger:
    """The stored turns; the limits are those of the history that a model is told."""

    def __init__(self, pool: Pool, *, history_turns: int = 20, history_characters: int = 40_000) -> None:
        self._pool = pool
        self._turns = history_turns
        self._characters = history_characters

    async def turn(self, turn_id: UUID) -> Turn | None:
        """One turn, with its answer, sources and sentences when there are any."""
        async with self._pool.connection() as connection:
            return await read_turn(connection, turn_id)

    async def chat(self, chat_id: UUID) -> Chat:
        """The turns of a chat, oldest first; a chat in which nobody has asked anything has none."""
        async with self._pool.connection() as connection:
            rows = await (await connection.execute(SQL.turns_of_chat, {"chat_id": chat_id})).fetchall()
            return Chat(chat_id=chat_id, turns=tuple(await _turns(connection, rows)))

    async def answered(self, chat_id: UUID) -> tuple[Turn, ...]:
        """The newest turns of a chat that have an answer, newest first, with their sources and sentences."""
        async with self._pool.connection() as connection:
            rows = await (await connection.execute(SQL.newest_answered, {"chat_id": chat_id})).fetchall()
            return tuple(await _turns(connection, rows))

    async def history(self, chat_id: UUID, since: dt.datetime | None = None) -> tuple[PastTurn, ...]:
        """What a model is told of a chat, in the order of time (T4); nothing of what was asked before ``since``."""
        wanted = {"chat_id": chat_id, "turns": self._turns, "since": since}
        async with self._pool.connection() as connection:
            cursor = await connection.execute(SQL.history, wanted)
            rows = await cursor.fetchall()
        past = (PastTurn(row["question"], row["answer"], row["status"], row["heard"]) for row in rows)
        return recent_turns(past, turns=self._turns, characters=self._characters)


async def read_turn(connection: Connection, turn_id: UUID) -> Turn | None:
    """One turn, read on a connection that may be inside a transaction."""
    rows = await (await connection.execute(SQL.turn, {"turn_id": turn_id})).fetchall()
    return (await _turns(connection, rows))[0] if rows else None


async def _turns(connection: Connection, rows: Sequence[dict[str, Any]]) -> list[Turn]:
    answered = [row["turn_id"] for row in rows if row["answer"] is not None]
    sources: defaultdict[UUID, list[Source]] = defaultdict(list)
    sentences: defaultdict[UUID, list[Sentence]] = defaultdict(list)
    if answered:
        async for row in await connection.execute(SQL.sources, {"turn_ids": answered}):
            sources[row["turn_id"]].append(Source.model_validate(row["source"]))
        async for row in await connection.execute(SQL.sentences, {"turn_ids": answered}):
            sentence = {
                "index": row["place"],
                "span": (row["span_start"], row["span_end"]),
                "support": row["support"],
                "verdict": row["verdict"],
            }
            sentences[row["turn_id"]].append(Sentence.model_validate(sentence))
    return [
        Turn.model_validate(
            {
                **{name: row[name] for name in Turn.model_fields if name in row},
                "heard": _within(row["heard"], row["answer"]),
                "abstained": bool(row["abstained"]),
                "sources": tuple(sources[row["turn_id"]]),
                "sentences": tuple(sentences[row["turn_id"]]),
            }
        )
        for row in rows
    ]


def _within(heard: int | None, answer: str | None) -> int | None:
    return heard if heard is None or answer is None else min(heard, len(answer))
