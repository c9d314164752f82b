"""What is remembered of people: their complete turns, and what they said of themselves (L7)."""

from __future__ import annotations

import re

from agent.profile import statements
from chassis.language import detect, words
from chassis.postgres import Pool
from chassis.queries import Queries
from contracts.live import Fact, Memories, Memory, ProfileCard, TurnRemembered

SQL = Queries.of("agent")
KEPT = 5_000
"""Turns of one person; the oldest are forgotten."""
MOST_FACTS = 100
MOST_TERMS = 40
_NO_TERM = re.compile(r"[^\w]+")


class Remembrance:
    """The memory of all people."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def remember(self, user_id: str, turn: TurnRemembered) -> None:
        """Store a complete turn, and what the person said of themselves in it."""
        named = {
            "user_id": user_id,
            **turn.model_dump(),
            "terms": " ".join(_terms(f"{turn.said} {turn.answered}", MOST_TERMS * 50)),
        }
        async with self._pool.connection() as connection, connection.transaction():
            await connection.execute(SQL.remember, named)
            await connection.execute(SQL.forget_oldest, {"user_id": user_id, "kept": KEPT})
            for said in statements(turn.said):
                fact = {"user_id": user_id, "subject": said.subject, "text": said.text}
                await connection.execute(SQL.keep_fact, fact)

    async def recall(self, user_id: str, query: str, most: int) -> Memories:
        """The turns that speak of ``query``, the most telling first; without a query the newest."""
        terms = _terms(query, MOST_TERMS)
        named = {"user_id": user_id, "most": most, "query": " | ".join(f"'{term}'" for term in terms)}
        if query.strip() and not terms:
            return Memories()
        async with self._pool.connection() as connection:
            cursor = await connection.execute(SQL.recall if terms else SQL.newest_memories, named)
            return Memories(memories=tuple([Memory.model_validate(row) async for row in cursor]))

    async def forget(self, user_id: str) -> None:
        """Forget every turn of a person."""
        async with self._pool.connection() as connection:
            await connection.execute(SQL.forget, {"user_id": user_id})

    async def profile(self, user_id: str) -> ProfileCard:
        """What a person said of themselves."""
        async with self._pool.connection() as connection:
            cursor = await connection.execute(SQL.facts, {"user_id": user_id, "most": MOST_FACTS})
            return ProfileCard(user_id=user_id, facts=tuple([Fact.model_validate(row) async for row in cursor]))

    async def erase_profile(self, user_id: str) -> None:
        """Erase it."""
        async with self._pool.connection() as connection:
            await connection.execute(SQL.erase_facts, {"user_id": user_id})


def _terms(text: str, most: int) -> list[str]:
    """The stems of the words that carry a text's subject, each once, as words that PostgreSQL does not split."""
    found = (word.term for word in words(text, detect(text)) if not word.common)
    return [term for term in dict.fromkeys(_NO_TERM.sub("", term) for term in found) if term][:most]
