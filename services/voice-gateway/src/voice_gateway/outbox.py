"""The events on their way to one client: numbered, in order, and bounded by what the client leaves unread.

Putting an event in never waits, so that an answer is not held up by its reader; a client that leaves more unread than
it may has its session closed. Taking a client's event in waits until half of that room is free again.
"""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import AsyncIterator
from dataclasses import dataclass

from contracts.vocabulary import JsonObject

LAST_WORDS_S = 5.0
"""How long a client that is being sent away may take to read what was said to it."""


@dataclass(frozen=True, slots=True)
class Close:
    """Why a session ends: a WebSocket close code (RFC 6455) and a sentence of at most 123 bytes."""

    code: int
    reason: str


NORMAL = Close(1000, "The session was closed.")
GOING_AWAY = Close(1001, "Talkdown is shutting down; connect again once it is back.")
TOO_SLOW = Close(1008, "Too many events were left unread.")


class Outbox:
    """Events for one client, as JSON; at most ``limit`` bytes wait. Iterating ends when it is closed and empty."""

    def __init__(self, session: str, limit: int) -> None:
        self._session, self._limit = session, limit
        self._waiting: deque[str] = deque()
        self._bytes = 0
        self._numbered = 0
        self._changed = asyncio.Event()
        self._room = asyncio.Event()
        self._room.set()
        self.closed = asyncio.Event()
        self.close_with: Close | None = None
        self._branches: set[Outbox] = set()

    @property
    def unread(self) -> int:
        """How many events wait to be taken by the client's side."""
        return len(self._waiting)

    def put(self, event: JsonObject) -> None:
        """Send ``event`` with an ``event_id`` of its own; after the close nothing more is sent."""
        if self.close_with is not None:
            return
        self._numbered += 1
        text = json.dumps({"event_id": f"event_{self._session}_{self._numbered}", **event}, ensure_ascii=False)
        self._append(text)
        for branch in list(self._branches):
            branch._append(text)
            if branch.close_with is not None:
                self._branches.discard(branch)

    def branch(self, first: JsonObject) -> Outbox:
        """For one more reader: ``first``, and from now on all that is put here; its slowness is its own affair."""
        branch = Outbox(self._session, self._limit)
        branch.put(first)
        if self.close_with is not None:
            branch.close(self.close_with)
        else:
            self._branches.add(branch)
        return branch

    def _append(self, text: str) -> None:
        if self.close_with is not None:
            return
        self._waiting.append(text)
        self._bytes += len(text.encode())
        if self._bytes > self._limit:
            self._waiting.clear()
            self._bytes = 0
            self.close(TOO_SLOW)
        elif self._bytes > self._limit // 2:
            self._room.clear()
        self._changed.set()

    def close(self, why: Close) -> None:
        """Send what waits, and nothing after it; the first reason is the one that counts."""
        self.close_with = self.close_with or why
        self.closed.set()
        self._room.set()
        self._changed.set()
        for branch in self._branches:
            branch.close(why)
        self._branches.clear()

    async def room(self) -> None:
        """Wait until the client has read enough for more to be worth making."""
        await self._room.wait()

    async def __aiter__(self) -> AsyncIterator[str]:
        """Each event as it comes, until the close."""
        while True:
            while self._waiting:
                text = self._waiting.popleft()
                yield text
                self._bytes = max(0, self._bytes - len(text.encode()))
                if self._bytes <= self._limit // 2:
                    self._room.set()
            if self.close_with is not None:
                return
            self._changed.clear()
            await self._changed.wait()
