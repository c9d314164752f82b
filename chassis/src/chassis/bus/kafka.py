"""The bus over Kafka: one topic a stream, the same partitions, the event's plain fields as headers.

::

    publish --> talkdown.documents (key, headers type/id/traceparent/part/only, value: data) --> group --> Worker
                                                          committed: up to the first unsettled one, with a note
    dead letter --> talkdown.dead (headers name the letter);  replay --> event and mark "replayed" in one transaction

An address is ``kafka://host:port,host:port``, with ``/NAME`` behind it where topics and groups are to begin with a name
of their own.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaError

from chassis import conventions
from chassis.bus.errors import BusUnavailable, LetterNotFound
from chassis.bus.kafka_cluster import Cluster, Names, begin, refusals
from chassis.bus.kafka_consumer import KafkaConsumer
from chassis.bus.kafka_letters import letter_fields, mark_fields, read_letters
from chassis.bus.letters import letter_of
from chassis.bus.port import GaveUp, Handlers, Options
from chassis.bus.wire import Delivery, Fields, fields_of, new_id, partition_of, split
from chassis.health import Health
from chassis.redis import Pauses
from chassis.telemetry import PRODUCER, span, traceparent_of
from contracts.corpus import DeadLetter, Replayed
from contracts.events import Event

log = logging.getLogger(__name__)

SYSTEM = "kafka"


class KafkaBus:
    """The bus over one Kafka cluster."""

    def __init__(self, cluster: Cluster, options: Options, producer: Any) -> None:
        self._cluster = cluster
        self._names = cluster.names
        self._options = options
        self._producer = producer
        self._replaying = asyncio.Lock()

    async def publish(self, *events: Event) -> None:
        """See :class:`chassis.bus.port.Bus`."""
        if not events:
            return
        stream = events[0].stream
        attributes: dict[str, str | int] = {
            conventions.MESSAGING_SYSTEM: SYSTEM,
            conventions.MESSAGING_OPERATION_NAME: conventions.SEND,
            conventions.MESSAGING_OPERATION_TYPE: conventions.SEND,
            conventions.MESSAGING_DESTINATION: stream,
            conventions.MESSAGING_BATCH_COUNT: len(events),
        }
        with span(f"{conventions.SEND} {stream}", attributes, kind=PRODUCER) as current:
            traceparent = traceparent_of(current)
            records = [
                (self._names.topic(event.stream), part)
                for event in events
                for part in split(fields_of(event, traceparent), self._options.part_bytes, self._options.largest_bytes)
            ]
            await self._send(self._producer, records)

    async def consume(
        self, stream: str, group: str, handlers: Handlers, *, concurrency: int = 16, gave_up: GaveUp | None = None
    ) -> None:
        """See :class:`chassis.bus.port.Bus`."""

        async def bury(delivery: Delivery, reason: str) -> None:
            await self._bury(stream, group, delivery, reason)

        consumer = KafkaConsumer(
            self._cluster, stream, group, handlers, bury, self._options, concurrency=concurrency, gave_up=gave_up
        )
        await consumer.run()

    async def lag(self, stream: str, group: str) -> int:
        """See :class:`chassis.bus.port.Bus`."""
        return await self._cluster.lag(stream, group)

    async def dead_letters(self, limit: int = 100) -> tuple[DeadLetter, ...]:
        """See :class:`chassis.bus.port.Bus`."""
        letters = await read_letters(self._cluster.servers, self._names)
        return tuple(letter_of(name, fields) for name, fields in list(letters.items())[::-1][:limit])

    async def replay(self, letter: str) -> Replayed:
        """See :class:`chassis.bus.port.Bus`; one transaction, whose producer shuts out any other that replays."""
        async with self._replaying:
            producer: Any = AIOKafkaProducer(
                bootstrap_servers=self._cluster.servers,
                transactional_id=f"{self._names.prefix}-replay",
                acks="all",
            )
            try:
                with refusals():
                    await begin(producer)
                    async with producer.transaction():
                        dead = (await read_letters(self._cluster.servers, self._names)).get(letter)
                        if dead is None:
                            raise LetterNotFound(letter)
                        event_id = new_id()
                        names = (b"type", b"key", b"data", b"traceparent")
                        event = {name: dead[name] for name in names if name in dead}
                        event |= {b"id": event_id.encode(), b"only": dead[b"group"]}
                        topic = self._names.topic(dead[b"stream"].decode())
                        parts = split(event, self._options.part_bytes, self._options.largest_bytes)
                        mark = (self._names.dead, mark_fields(letter))
                        await self._send(producer, [*((topic, part) for part in parts), mark])
            finally:
                await producer.stop()
        return Replayed(id=letter, event_id=event_id)

    async def _bury(self, stream: str, group: str, delivery: Delivery, reason: str) -> None:
        fields = letter_fields(stream, group, delivery, reason)
        parts = split(fields, self._options.part_bytes, self._options.largest_bytes)
        await self._send(self._producer, [(self._names.dead, part) for part in parts])

    async def _send(self, producer: Any, records: list[tuple[str, Fields]]) -> None:
        try:
            async with asyncio.timeout(self._options.publish_within_s):
                sent = [
                    await producer.send(
                        topic,
                        value=fields[b"data"],
                        key=fields[b"key"],
                        partition=0 if topic == self._names.dead else self._partition_of(fields[b"key"]),
                        headers=[(n.decode(), v) for n, v in fields.items() if n not in (b"data", b"key")],
                    )
                    for topic, fields in records
                ]
                await asyncio.gather(*sent)
        except (KafkaError, TimeoutError) as error:
            raise BusUnavailable("The event could not be published: Kafka does not answer.") from error

    def _partition_of(self, key: bytes) -> int:
        return partition_of(key, self._options.partitions)


@asynccontextmanager
async def open_kafka(url: str, options: Options, health: Health | None) -> AsyncGenerator[KafkaBus]:
    """The bus on the brokers of ``kafka://host:port,host:port``; waits for them, and makes the topics."""
    address = urlsplit(url)
    names = Names(address.path.strip("/") or Names().prefix)
    cluster = Cluster(address.netloc, names, options)
    producer: Any = AIOKafkaProducer(bootstrap_servers=cluster.servers, acks="all")
    try:
        await _begin(producer, cluster, health)
        yield KafkaBus(cluster, options, producer)
    finally:
        await producer.stop()
        await cluster.close()


async def _begin(producer: Any, cluster: Cluster, health: Health | None) -> None:
    pauses = Pauses()
    while True:
        try:
            await cluster.open()
            await begin(producer)
        except KafkaError as error:
            log.warning("waiting for Kafka", extra={"error": type(error).__name__})
            if health is not None:
                health.waits("bus", "Kafka does not answer yet")
            await pauses.rest()
            continue
        if health is not None:
            health.arrived("bus")
            health.check("bus", cluster.answers)
        return
