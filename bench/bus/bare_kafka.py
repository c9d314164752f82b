"""The same work as the bus's, straight on aiokafka: what an event costs before anybody makes a promise about it."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Awaitable, Callable, Sequence
from typing import Any
from uuid import uuid4

from contracts.events import TurnRequested, type_of

PARTITIONS = 8
TYPE = type_of(TurnRequested).encode()
TRACEPARENT = b"00-" + b"1" * 32 + b"-" + b"2" * 16 + b"-00"
AT_ONCE = 500
"""Records of a read at most: what Kafka's own consumer takes by default."""


async def publish(producer: Any, topic: str, events: Sequence[TurnRequested]) -> None:
    """The same fields as headers, sent together; waits until the broker has them."""
    sent = [
        await producer.send(
            topic,
            value=event.model_dump_json().encode(),
            key=(key := event.key.encode()),
            partition=zlib.crc32(key) % PARTITIONS,
            headers=[("type", TYPE), ("id", uuid4().hex.encode()), ("traceparent", TRACEPARENT)],
        )
        for event in events
    ]
    await asyncio.gather(*sent)


async def consume(consumer: Any, handler: Callable[[TurnRequested], Awaitable[None]], all_seen: asyncio.Event) -> None:
    """Read, decode, handle and commit until all are seen; what a read brought is committed together."""
    while not all_seen.is_set():
        read = await consumer.getmany(timeout_ms=1000, max_records=AT_ONCE)
        for records in read.values():
            for record in records:
                await handler(TurnRequested.model_validate_json(record.value))
        if read:
            await consumer.commit()
