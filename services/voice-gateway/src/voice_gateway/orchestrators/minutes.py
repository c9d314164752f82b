"""What is written down of a session while it goes on: its lines, its tokens, and what is to be remembered (L5, L7, O6).

One after the other and beside the conversation, which never waits for it.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from typing import Protocol
from uuid import UUID, uuid4

from voice_gateway.live.port import Line
from voice_gateway.orchestrators.measuring import Tally
from voice_gateway.orchestrators.port import Result

log = logging.getLogger(__name__)

MOST_WAITING = 500
"""Entries that wait while the store is slow; the oldest are lost."""
CLOSE_S = 3.0


class Store(Protocol):
    """Where it is written."""

    async def keep(self, chat_id: UUID, session_id: UUID, turn: int, line: Line, agent: str | None) -> None:
        """A line of a turn."""
        ...

    async def spend(self, chat_id: UUID, spent: Iterable[tuple[str, str, int, int]]) -> None:
        """Agent, model, input and output tokens."""
        ...

    async def remember(self, user_id: str, chat_id: UUID, said: str, answered: str) -> None:
        """A complete turn of a person."""
        ...


class Minutes:
    """The minutes of one session; ``transcripts`` and ``memory`` are switches."""

    def __init__(
        self, store: Store, chat_id: UUID, user_id: str, tally: Tally, *, transcripts: bool = True, memory: bool = True
    ) -> None:
        self._store, self._chat_id, self._user_id, self._tally = store, chat_id, user_id, tally
        self._transcripts, self._memory = transcripts, memory
        self._session_id = uuid4()
        self._turns = 0
        self._waiting: deque[Callable[[], Awaitable[None]]] = deque(maxlen=MOST_WAITING)
        self._writing: asyncio.Task[None] | None = None

    async def store(self, turn: int, line: Line) -> None:
        """A line of a live session; a :class:`~voice_gateway.live.port.TranscriptStore`."""
        if self._transcripts:
            await self._store.keep(self._chat_id, self._session_id, turn, line, None)

    def ended(self, said: str, result: Result, interrupted: bool, *, lines: bool = False) -> None:
        """A turn is over; ``lines`` says that nobody else keeps what was said in it."""
        if lines and self._transcripts:
            self._turns += 1
            turn, agent = self._turns, result.new_agent or result.agent
            for line in (Line("user", said), Line("assistant", result.text)):
                self._add(lambda line=line: self._store.keep(self._chat_id, self._session_id, turn, line, agent))
        if spent := self._tally.news():
            self._add(lambda: self._store.spend(self._chat_id, spent))
        if self._memory and not interrupted and said.strip() and result.text.strip():
            self._add(lambda: self._store.remember(self._user_id, self._chat_id, said, result.text))

    async def close(self) -> None:
        """Write what waits, for a few seconds at most."""
        if spent := self._tally.news():
            self._add(lambda: self._store.spend(self._chat_id, spent))
        if self._writing is not None:
            _, late = await asyncio.wait({self._writing}, timeout=CLOSE_S)
            for task in late:
                task.cancel()

    def _add(self, write: Callable[[], Awaitable[None]]) -> None:
        self._waiting.append(write)
        if self._writing is None or self._writing.done():
            self._writing = asyncio.create_task(self._write())

    async def _write(self) -> None:
        while self._waiting:
            try:
                await self._waiting.popleft()()
            except Exception as error:
                log.warning("something of a session was not written down", extra={"error": type(error).__name__})
