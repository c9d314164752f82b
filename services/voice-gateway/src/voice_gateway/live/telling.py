"""The events of a session on their way to whoever reads them."""

from __future__ import annotations

import asyncio
from collections import deque

from voice_gateway.live.events import RealtimeEvent

ENOUGH = 512
"""Events that may wait unread before the provider is read no further."""


class Telling:
    """Takes events from any task of the session, gives them to one reader in order; only the provider ever waits."""

    def __init__(self) -> None:
        self._events: deque[RealtimeEvent] = deque()
        self._some = asyncio.Event()
        self._room = asyncio.Event()
        self._room.set()
        self._ended = False

    def tell(self, event: RealtimeEvent) -> None:
        """Append an event."""
        if self._ended:
            return
        self._events.append(event)
        self._some.set()
        if len(self._events) >= ENOUGH:
            self._room.clear()

    async def room(self) -> None:
        """Wait until the reader has caught up."""
        await self._room.wait()

    def end(self) -> None:
        """No more events; what was told before is still read."""
        self._ended = True
        self._some.set()
        self._room.set()

    def __aiter__(self) -> Telling:
        return self

    async def __anext__(self) -> RealtimeEvent:
        while not self._events:
            if self._ended:
                raise StopAsyncIteration
            self._some.clear()
            await self._some.wait()
        event = self._events.popleft()
        if len(self._events) < ENOUGH:
            self._room.set()
        return event
