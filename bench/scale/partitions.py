"""Events a second of one partition: one key, one consumer, each event handled before the next of its key."""

from __future__ import annotations

import asyncio
import time
from typing import Any
from uuid import uuid4

from chassis.bus import Options, open_bus
from chassis.settings import ServiceSettings
from contracts.events import TurnRequested

EVENTS = 5000
BATCH = 50


async def _carried(url: str, partitions: int, keys: int) -> dict[str, float]:
    settings = ServiceSettings(bus_partitions=partitions)
    chats = [uuid4() for _ in range(keys)]
    seen, all_seen = 0, asyncio.Event()

    async def handle(event: TurnRequested) -> None:
        nonlocal seen
        del event
        seen += 1
        if seen == EVENTS:
            all_seen.set()

    async with open_bus(url, service="bench", options=Options.of(settings)) as bus:
        began = time.monotonic()
        for at in range(0, EVENTS, BATCH):
            some = [TurnRequested(turn_id=uuid4(), chat_id=chats[(at + i) % keys]) for i in range(BATCH)]
            await bus.publish(*some)
        published = time.monotonic() - began
        began, cpu = time.monotonic(), time.process_time()
        consuming = asyncio.create_task(bus.consume("turns", f"bench-{partitions}", {TurnRequested: handle}))
        try:
            async with asyncio.timeout(120):
                await all_seen.wait()
        finally:
            consuming.cancel()
            await asyncio.gather(consuming, return_exceptions=True)
        took = time.monotonic() - began
    return {
        "published_per_s": EVENTS / published,
        "events_per_s": EVENTS / took,
        "consumer_us": (time.process_time() - cpu) / EVENTS * 1e6,
    }


def units(url: str) -> dict[str, Any]:
    """One partition with one key, and eight with a hundred keys."""
    return {
        "one_partition": asyncio.run(_carried(url, 1, 1)),
        "eight_partitions": asyncio.run(_carried(url, 8, 100)),
    }
