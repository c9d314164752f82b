"""What the tests of the bus share: an adapter as a kit, events, and waiting for a condition."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any
from uuid import UUID, uuid4

from chassis.bus import Bus, GaveUp, Handlers, Options, open_bus
from chassis.bus.memory import MemoryBus
from contracts.events import TurnRequested

ADAPTERS = ["memory", "redis", "kafka"]

QUICK = Options(lease_s=0.6, grace_s=5.0, first_pause_s=0.02, pause_growth=1.5, attempts=3)
"""Short times, so that a suite of failures is over soon."""


def asked(chat: UUID | None = None) -> TurnRequested:
    """An event of a chat."""
    return TurnRequested(turn_id=uuid4(), chat_id=chat or uuid4())


async def eventually(holds: Callable[[], Any] | Callable[[], Awaitable[Any]], within_s: float = 60.0) -> None:
    """Wait until a condition holds; fail when it does not in time."""
    async with asyncio.timeout(within_s):
        while True:
            answer = holds()
            if asyncio.iscoroutine(answer):
                answer = await answer
            if answer:
                return
            await asyncio.sleep(0.01)


class Carrier:
    """One adapter under test: opens buses on the same carrier, as separate processes would, and runs consumers."""

    def __init__(self, name: str, url: str) -> None:
        self.name = name
        self._url = url
        self._stack = AsyncExitStack()
        self._memory: MemoryBus | None = None
        self._consumers: list[asyncio.Task[None]] = []

    async def bus(self, options: Options = QUICK) -> Bus:
        """A bus of its own connections."""
        if self.name == "memory":
            self._memory = self._memory or MemoryBus(options)
            return self._memory
        return await self._stack.enter_async_context(open_bus(self._url, service="test", options=options))

    def consume(
        self,
        bus: Bus,
        group: str,
        handlers: Handlers,
        *,
        stream: str = "turns",
        concurrency: int = 16,
        gave_up: GaveUp | None = None,
    ) -> asyncio.Task[None]:
        """Run a consumer in the background."""
        work = bus.consume(stream, group, handlers, concurrency=concurrency, gave_up=gave_up)
        task = asyncio.create_task(work)
        self._consumers.append(task)
        return task

    async def close(self) -> None:
        """Stop every consumer and close every bus."""
        for task in self._consumers:
            task.cancel()
        await asyncio.gather(*self._consumers, return_exceptions=True)
        await self._stack.aclose()


async def stop(task: asyncio.Task[None]) -> None:
    """Stop a consumer and wait for its end."""
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
