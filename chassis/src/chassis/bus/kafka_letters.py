"""Dead letters on Kafka: a topic of one partition, where a letter that was replayed is followed by a mark that says so.

A letter is called after the place of its event, so that one that is written twice, because a process ended before it
could commit, is one letter.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from aiokafka import AIOKafkaConsumer, TopicPartition

from chassis.bus.kafka_cluster import Names, begin, refusals
from chassis.bus.wire import Delivery, Fields

FETCH_MS = 1000


def fields_of_record(record: Any) -> Fields:
    """A record's plain fields."""
    fields: Fields = {name.encode(): value for name, value in record.headers}
    fields[b"key"] = record.key or b""
    fields[b"data"] = record.value or b""
    return fields


def letter_fields(stream: str, group: str, delivery: Delivery, reason: str) -> Fields:
    """An event as a dead letter."""
    place = b"/".join((stream.encode(), b"%d" % delivery.partition, delivery.places[0], delivery.id, group.encode()))
    letter = hashlib.sha256(place).hexdigest()[:32].encode()
    return {
        b"letter": letter,
        b"stream": stream.encode(),
        b"group": group.encode(),
        b"type": delivery.type,
        b"id": delivery.id,
        b"origin_key": delivery.key,
        b"key": letter,
        b"attempts": str(delivery.attempts).encode(),
        b"reason": reason.encode(),
        b"died_at": datetime.now(UTC).isoformat().encode(),
        b"traceparent": delivery.traceparent,
        b"data": delivery.data,
    }


def mark_fields(letter: str) -> Fields:
    """What says that a letter was replayed."""
    return {b"replayed": letter.encode(), b"key": letter.encode(), b"data": b""}


async def read_letters(servers: str, names: Names) -> dict[str, Fields]:
    """The letters that were not replayed, oldest first, read from the beginning of their topic."""
    consumer: Any = AIOKafkaConsumer(
        bootstrap_servers=servers,
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        isolation_level="read_committed",
    )
    place = TopicPartition(names.dead, 0)
    read: list[Fields] = []
    try:
        with refusals():
            await begin(consumer)
            consumer.assign([place])
            end: int = (await consumer.end_offsets([place]))[place]
            while await consumer.position(place) < end:
                fetched = await consumer.getmany(place, timeout_ms=FETCH_MS)
                read += [fields_of_record(record) for record in fetched.get(place, [])]
    finally:
        await consumer.stop()
    return _put_together(read)


@dataclass(slots=True)
class _Letter:
    fields: Fields
    parts: dict[bytes, bytes] = field(default_factory=dict[bytes, bytes])


def _put_together(read: Iterable[Fields]) -> dict[str, Fields]:
    letters: dict[bytes, _Letter] = {}
    replayed: set[bytes] = set()
    for fields in read:
        if (mark := fields.get(b"replayed")) is not None:
            replayed.add(mark)
            continue
        letter = letters.setdefault(fields[b"letter"], _Letter(fields))
        letter.parts[fields.get(b"part", b"")] = fields[b"data"]
    return {
        name.decode(): letter.fields
        | {b"key": letter.fields[b"origin_key"], b"data": b"".join(letter.parts[part] for part in _order(letter))}
        for name, letter in letters.items()
        if name not in replayed
    }


def _order(letter: _Letter) -> list[bytes]:
    return sorted(letter.parts, key=lambda part: int(part.partition(b"/")[0] or 0))
