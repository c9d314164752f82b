"""The end of tasks."""

from __future__ import annotations

import asyncio
from typing import Any

AGAIN_S = 0.5


async def end(*tasks: asyncio.Task[Any]) -> None:
    """Cancel tasks and wait for their end, insisting where a cancellation was swallowed on its way.

    Before Python 3.12 ``asyncio.wait_for`` swallows one that comes with the result, and a pool of connections waits so.
    """
    left = {task for task in tasks if not task.done()}
    while left:
        for task in left:
            task.cancel()
        _, left = await asyncio.wait(left, timeout=AGAIN_S)
