"""Tasks end, whatever they do with a cancellation."""

from __future__ import annotations

import asyncio

from chassis.tasks import end


async def swallowing(times: int) -> None:
    """Swallow so many cancellations, as ``asyncio.wait_for`` does when the result is there at the same time."""
    while True:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            if not times:
                raise
            times -= 1


async def test_tasks_that_swallow_a_cancellation_are_cancelled_again() -> None:
    tasks = [asyncio.create_task(swallowing(times)) for times in (0, 1, 2)]
    await asyncio.sleep(0)
    async with asyncio.timeout(10):
        await end(*tasks)
    assert all(task.cancelled() for task in tasks)


async def test_what_has_ended_stays_as_it_ended() -> None:
    task = asyncio.create_task(asyncio.sleep(0, "done"))
    await task
    await end(task)
    assert task.result() == "done"
    await end()
