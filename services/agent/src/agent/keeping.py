"""What is kept of live conversations: where their agents are, what was said, and what it cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from uuid import UUID

from chassis.postgres import Pool
from chassis.queries import Queries
from contracts.live import ChatLine, ChatLines, ChatState, Cost, LiveLine, TokensSpent

SQL = Queries.of("agent")
MILLION = 1_000_000

Prices = Mapping[str, tuple[float, float]]
"""By model, what a million input and a million output tokens cost."""


class Keeper:
    """The tables of live conversations."""

    def __init__(self, pool: Pool, prices: Prices) -> None:
        self._pool, self._prices = pool, prices

    async def state(self, chat_id: UUID) -> ChatState:
        """Where the agents of a chat are; a fresh state where nothing is known."""
        async with self._pool.connection() as connection:
            row = await (await connection.execute(SQL.state, {"chat_id": chat_id})).fetchone()
        return ChatState() if row is None else ChatState.model_validate(row)

    async def keep_state(self, chat_id: UUID, state: ChatState) -> ChatState:
        """Store it in the place of the one before."""
        named = {"chat_id": chat_id, **state.model_dump(), "visited": list(state.visited)}
        async with self._pool.connection() as connection, connection.transaction():
            await connection.execute(SQL.open_chat, {"chat_id": chat_id})
            await connection.execute(SQL.keep_state, named)
        return state

    async def keep_lines(self, chat_id: UUID, lines: Sequence[LiveLine]) -> None:
        """Store lines, each once."""
        async with self._pool.connection() as connection, connection.transaction():
            await connection.execute(SQL.open_chat, {"chat_id": chat_id})
            for line in lines:
                await connection.execute(SQL.keep_line, {"chat_id": chat_id, **line.model_dump()})

    async def lines(self, chat_id: UUID, most: int) -> ChatLines:
        """The newest lines of a chat, in the order of time."""
        async with self._pool.connection() as connection:
            rows = await (await connection.execute(SQL.newest_lines, {"chat_id": chat_id, "most": most})).fetchall()
        return ChatLines(lines=tuple(ChatLine.model_validate(row) for row in reversed(rows)))

    async def spend(self, chat_id: UUID, spent: Sequence[TokensSpent]) -> None:
        """Add tokens to what a chat has cost."""
        async with self._pool.connection() as connection, connection.transaction():
            await connection.execute(SQL.open_chat, {"chat_id": chat_id})
            for one in spent:
                await connection.execute(SQL.spend, {"chat_id": chat_id, **one.model_dump()})

    async def costs(self, chat_id: UUID) -> tuple[Cost, ...]:
        """What a chat has cost, by agent and model."""
        async with self._pool.connection() as connection:
            rows = await (await connection.execute(SQL.spent, {"chat_id": chat_id})).fetchall()
        return tuple(Cost.model_validate({**row, "price": self._price(row["model"], row)}) for row in rows)

    def _price(self, model: str, tokens: Mapping[str, int]) -> float | None:
        prices = self._prices.get(model)
        if prices is None:
            return None
        return round((tokens["input_tokens"] * prices[0] + tokens["output_tokens"] * prices[1]) / MILLION, 6)
