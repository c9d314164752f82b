"""The same work as the bus's, straight on redis-py: what an event costs before anybody makes a promise about it."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, cast
from uuid import uuid4

from redis.asyncio import Redis

from contracts.events import TurnRequested, type_of

PARTITIONS = 8
STREAMS = [f"bare.turns.{partition}" for partition in range(PARTITIONS)]
TYPE = type_of(TurnRequested)
TRACEPARENT = "00-" + "1" * 32 + "-" + "2" * 16 + "-00"


async def publish(redis: Redis, events: Sequence[TurnRequested]) -> None:
    """The same fields, in one pipeline."""
    async with redis.pipeline(transaction=False) as pipeline:
        for event in events:
            pipeline.xadd(
                STREAMS[zlib.crc32(event.key.encode()) % PARTITIONS],
                {
                    "type": TYPE,
                    "id": uuid4().hex,
                    "key": event.key,
                    "data": event.model_dump_json(),
                    "traceparent": TRACEPARENT,
                },
            )
        await pipeline.execute()


async def consume(
    redis: Redis,
    group: str,
    count: int,
    handler: Callable[[TurnRequested], Awaitable[None]],
    all_seen: asyncio.Event,
) -> None:
    """Read, decode, handle and acknowledge until all are seen; acknowledgements of a read go together."""
    while not all_seen.is_set():
        answer = cast(Any, await redis.xreadgroup(group, "bare", dict.fromkeys(STREAMS, ">"), count=count, block=1000))
        async with redis.pipeline(transaction=False) as pipeline:
            for name, entries in answer:
                places: list[bytes] = []
                for place, fields in entries:
                    await handler(TurnRequested.model_validate_json(fields[b"data"]))
                    places.append(place)
                pipeline.xack(name, group, *places)
            await pipeline.execute()
