"""A worker that holds as much as it may says so, whatever the keys are: who feeds it waits instead of asking again."""

from __future__ import annotations

import asyncio

import pytest

from chassis.bus.port import Options
from chassis.bus.wire import Delivery
from chassis.bus.worker import Worker

CONCURRENCY = 4


class Letting:
    """Lets every delivery begin once it is told to."""

    def __init__(self) -> None:
        self.go = asyncio.Event()

    async def ours(self, delivery: Delivery) -> bool:
        await self.go.wait()
        return False

    def dropped(self, delivery: Delivery) -> None: ...

    def done(self, delivery: Delivery) -> None: ...

    def again(self, delivery: Delivery, pause_s: float) -> None: ...

    async def bury(self, delivery: Delivery, reason: str) -> None: ...


def delivery(place: int, key: bytes) -> Delivery:
    ids = [b"%d-0" % place]
    return Delivery(partition=0, places=ids, type=b"", id=ids[0], key=key, data=b"", traceparent=b"", only=b"")


@pytest.mark.parametrize("keys", [1, 2 * CONCURRENCY], ids=["one key", "a key each"])
async def test_a_full_worker_has_no_room_until_something_is_let_go(keys: int) -> None:
    settling = Letting()
    worker = Worker("memory", "turns", "g", {}, settling, Options(), concurrency=CONCURRENCY, gave_up=None)
    for place in range(2 * CONCURRENCY):
        assert worker.room.is_set()
        worker.take(delivery(place, b"%d" % (place % keys)))
    assert not worker.has_room
    assert not worker.room.is_set()
    settling.go.set()
    async with asyncio.timeout(10):
        await worker.idle.wait()
    assert worker.room.is_set()
