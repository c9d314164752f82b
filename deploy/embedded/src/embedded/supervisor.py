"""Keeps the children running, and stops them in good order: the services, then Valkey, then PostgreSQL."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any, TypeVar

from embedded.children import Child, Watchdog
from embedded.data import DataFolder
from embedded.logs import keep_bounded
from embedded.spawning import Nursery, bury_strangers

T = TypeVar("T")


class Supervisor:
    """Every child of a run. ``changed`` is told whenever one of them started, became ready, or ended."""

    def __init__(self, data: DataFolder, changed: Callable[[], None]) -> None:
        self.children: list[Child] = []
        self._data, self._changed = data, changed
        self._dog = Watchdog()
        self._nursery = Nursery()
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._beside: set[asyncio.Task[Any]] = set()

    async def __aenter__(self) -> Supervisor:
        """Start the watchdog first, so that nothing is ever without it."""
        await self._dog.start()
        await self._nursery.start()
        self.beside(bury_strangers())
        self.beside(keep_bounded((self._data.logs, self._data.path)))
        return self

    async def __aexit__(self, *_: object) -> None:
        """Stop everything, stage by stage; the services of a stage at once."""
        for stage in sorted({child.stage for child in self.children}):
            await asyncio.gather(*(child.stop() for child in self.children if child.stage == stage))
        tasks = (*self._tasks.values(), *self._beside)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._nursery.stop()
        await self._dog.stop()

    def start(self, *children: Child) -> None:
        """Start children and keep them running."""
        for child in children:
            self.children.append(child)
            self._tasks[child.name] = asyncio.create_task(child.keep(self._dog, self._nursery, self._changed))

    def beside(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Do something else for as long as the children run; it is cancelled with them."""
        task = asyncio.create_task(work)
        self._beside.add(task)
        return task

    async def until_ready(self, children: Sequence[Child]) -> None:
        """Wait until all of them were ready once; raises what kept one of them from it."""
        ready = asyncio.gather(*(child.was_ready.wait() for child in children))
        await self._first(ready)

    async def forever(self) -> None:
        """Wait until this is cancelled; raises what ended a child for good."""
        await self._first(asyncio.Event().wait())

    def kill(self) -> None:
        """End every child at once."""
        for child in self.children:
            child.kill()

    def states(self) -> list[dict[str, Any]]:
        """The state of each child, shaped as :class:`contracts.corpus.ServiceState`."""
        return [{"name": child.name, "state": child.state, "detail": child.detail} for child in self.children]

    def processes(self) -> tuple[tuple[str, int, float], ...]:
        """Name, process id and start time of what runs now."""
        return tuple((child.name, child.pid, child.since) for child in self.children if child.pid is not None)

    async def _first(self, wanted: Awaitable[Any]) -> None:
        waiting = asyncio.ensure_future(wanted)
        try:
            await asyncio.wait({waiting, *self._tasks.values()}, return_when=asyncio.FIRST_COMPLETED)
            for task in self._tasks.values():
                if task.done() and not task.cancelled():
                    task.result()
            await waiting
        finally:
            waiting.cancel()
            await asyncio.gather(waiting, return_exceptions=True)
