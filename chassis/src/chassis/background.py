"""Work that runs beside the requests of a service: consumers, sweepers, watchers.

::

    async with background(health, bus.consume(...), sweep(...)):
        yield state

When the service begins to stop, the work is cancelled at once, while requests still have their time; a consumer
that is cancelled takes nothing new and finishes what it handles. Work that fails ends the service: half a service that
looks whole is worse than one that is started again.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Coroutine
from contextlib import asynccontextmanager
from typing import Any

from chassis.health import Health


@asynccontextmanager
async def background(health: Health, *work: Coroutine[Any, Any, object]) -> AsyncGenerator[None]:
    """Run ``work`` until the service stops, or until the block is left; an error in it is raised from the block."""
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(one) for one in work]
        waiting = group.create_task(_cancel_on(health.stopping, tasks))
        try:
            yield
        finally:
            waiting.cancel()
            for task in tasks:
                task.cancel()


async def _cancel_on(stopping: asyncio.Event, tasks: list[asyncio.Task[object]]) -> None:
    await stopping.wait()
    for task in tasks:
        task.cancel()
