"""The bus over Kafka: one topic a stream, the same partitions, the event's plain fields as headers.

::

    publish --> talkdown.documents (key, headers type/id/traceparent/part/only, value: data) --> group --> Worker
                                                                       offsets are committed up to the first unsettled
    dead letter --> talkdown.dead (headers name the letter);  replay --> event and mark "replayed" in one transaction

Where it differs from Redis: how often an event was begun before its process died is not known, so that an event which
ends its process is not found out.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.errors import KafkaError, TopicAlreadyExistsError

from chassis import conventions
from chassis.bus.errors import BusUnavailable, LetterNotFound
from chassis.bus.kafka_consumer import KafkaConsumer, fields_of_record
from chassis.bus.letters import letter_of
from chassis.bus.port import GaveUp, Handlers, Options
from chassis.bus.wire import DEAD, STREAM_PREFIX, Delivery, Fields, fields_of, new_id, partition_of, split
from chassis.health import Health
from chassis.telemetry import PRODUCER, span, traceparent_of
from contracts.corpus import DeadLetter, Replayed
from contracts.events import STREAMS, Event

log = logging.getLogger(__name__)

SYSTEM = "kafka"
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.2, 5.0


class KafkaBus:
    """The bus over one Kafka cluster."""

    def __init__(self, servers: str, service: str, options: Options, producer: Any) -> None:
        self._servers = servers
        self._service = service
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
            records = [
                (topic_of(event.stream), part)
                for event in events
                for part in split(
                    fields_of(event, traceparent_of(current)), self._options.part_bytes, self._options.largest_bytes
                )
            ]
            await self._send(self._producer, records)

    async def consume(
        self, stream: str, group: str, handlers: Handlers, *, concurrency: int = 16, gave_up: GaveUp | None = None
    ) -> None:
        """See :class:`chassis.bus.port.Bus`."""

        async def bury(delivery: Delivery, reason: str) -> None:
            await self._bury(stream, group, delivery, reason)

        consumer = KafkaConsumer(
            self._servers, stream, group, handlers, bury, self._options, concurrency=concurrency, gave_up=gave_up
        )
        await consumer.run()

    async def dead_letters(self, limit: int = 100) -> tuple[DeadLetter, ...]:
        """See :class:`chassis.bus.port.Bus`."""
        letters = await self._letters()
        return tuple(letter_of(name, fields) for name, fields in list(letters.items())[::-1][:limit])

    async def replay(self, letter: str) -> Replayed:
        """See :class:`chassis.bus.port.Bus`; one transaction, whose producer shuts out any other that replays."""
        async with self._replaying:
            producer: Any = AIOKafkaProducer(
                bootstrap_servers=self._servers, transactional_id="talkdown-replay", acks="all"
            )
            try:
                await producer.start()
                async with producer.transaction():
                    dead = (await self._letters()).get(letter)
                    if dead is None:
                        raise LetterNotFound(letter)
                    event_id = new_id()
                    names = (b"type", b"key", b"data", b"traceparent")
                    event = {name: dead[name] for name in names if name in dead}
                    event |= {b"id": event_id.encode(), b"only": dead[b"group"]}
                    topic = topic_of(dead[b"stream"].decode())
                    parts = split(event, self._options.part_bytes, self._options.largest_bytes)
                    mark = {b"replayed": letter.encode(), b"data": b"", b"key": letter.encode()}
                    await self._send(producer, [*((topic, part) for part in parts), (DEAD, mark)])
            except KafkaError as error:
                raise BusUnavailable("Kafka could not replay the letter; try again in a moment.") from error
            finally:
                await producer.stop()
        return Replayed(id=letter, event_id=event_id)

    async def _bury(self, stream: str, group: str, delivery: Delivery, reason: str) -> None:
        letter = secrets.token_hex(16).encode()
        fields = {
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
        parts = split(fields, self._options.part_bytes, self._options.largest_bytes)
        await self._send(self._producer, [(DEAD, part) for part in parts])

    async def _send(self, producer: Any, records: list[tuple[str, Fields]]) -> None:
        try:
            async with asyncio.timeout(self._options.publish_within_s):
                sent = [
                    await producer.send(
                        topic,
                        value=fields[b"data"],
                        key=fields[b"key"],
                        partition=0 if topic == DEAD else partition_of(fields[b"key"], self._options.partitions),
                        headers=[(n.decode(), v) for n, v in fields.items() if n not in (b"data", b"key")],
                    )
                    for topic, fields in records
                ]
                await asyncio.gather(*sent)
        except (KafkaError, TimeoutError) as error:
            raise BusUnavailable("The event could not be published: Kafka does not answer.") from error

    async def _letters(self) -> dict[str, Fields]:
        """The letters that were not replayed, oldest first, read from the beginning of their topic."""
        consumer: Any = AIOKafkaConsumer(
            bootstrap_servers=self._servers, enable_auto_commit=False, isolation_level="read_committed"
        )
        place = TopicPartition(DEAD, 0)
        letters: dict[str, Fields] = {}
        try:
            await consumer.start()
            consumer.assign([place])
            end: int = (await consumer.end_offsets([place]))[place]
            await consumer.seek_to_beginning(place)
            while await consumer.position(place) < end:
                for record in (await consumer.getmany(place, timeout_ms=1000)).get(place, []):
                    _note(letters, fields_of_record(record))
        except KafkaError as error:
            raise BusUnavailable("Kafka does not answer; try again in a moment.") from error
        finally:
            await consumer.stop()
        return letters


def _note(letters: dict[str, Fields], fields: Fields) -> None:
    replayed = fields.get(b"replayed")
    if replayed is not None:
        letters.pop(replayed.decode(), None)
        return
    name = fields[b"letter"].decode()
    known = letters.get(name)
    if known is not None:  # the next part of a large one
        known[b"data"] += fields[b"data"]
    else:
        letters[name] = fields | {b"key": fields[b"origin_key"]}


def topic_of(stream: str) -> str:
    """The topic of a stream."""
    return f"{STREAM_PREFIX}.{stream}"


@asynccontextmanager
async def open_kafka(url: str, service: str, options: Options, health: Health | None) -> AsyncGenerator[KafkaBus]:
    """The bus on the brokers of ``kafka://host:port,host:port``; waits for them, and makes the topics."""
    servers = urlsplit(url).netloc
    producer: Any = AIOKafkaProducer(bootstrap_servers=servers, acks="all", enable_idempotence=True)
    try:
        await _begin(producer, servers, options, health)
        yield KafkaBus(servers, service, options, producer)
    finally:
        await producer.stop()


async def _begin(producer: Any, servers: str, options: Options, health: Health | None) -> None:
    pause = FIRST_PAUSE_S
    while True:
        try:
            await producer.start()
            await _make_topics(servers, options)
        except KafkaError as error:
            log.warning("waiting for Kafka", extra={"error": type(error).__name__})
            if health is not None:
                health.waits("bus", "Kafka does not answer yet")
            await asyncio.sleep(pause)
            pause = min(pause * 2, LONGEST_PAUSE_S)
            continue
        if health is not None:
            health.arrived("bus")
        return


async def _make_topics(servers: str, options: Options) -> None:
    admin: Any = AIOKafkaAdminClient(bootstrap_servers=servers)
    try:
        await admin.start()
        wanted = [(topic_of(stream), options.partitions) for stream in STREAMS] + [(DEAD, 1)]
        for name, partitions in wanted:
            try:
                await admin.create_topics([NewTopic(name, partitions, 1)])
            except TopicAlreadyExistsError:
                continue
    finally:
        await admin.close()
