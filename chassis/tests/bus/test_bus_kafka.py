"""What is Kafka's own: topics, trimming, lost parts, letters, a broker that is killed (E1)."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from bus_carrier import QUICK, Carrier, asked, eventually, into, nothing_left, stop
from kafka_broker import Broker

from chassis.bus import BusError, Reject, open_bus
from chassis.bus.kafka_cluster import Cluster, Names
from chassis.bus.kafka_letters import fields_of_record, letter_fields, read_letters
from chassis.bus.wire import Delivery, partition_of
from chassis.health import Health
from contracts.documents import DocumentVersion
from contracts.events import RefreshSealed, TurnRequested
from embedded.launch import start, start_on_free_port

pytestmark = pytest.mark.behaviour("E1")


def place_of(url: str) -> tuple[str, Names]:
    address = urlsplit(url)
    return address.netloc, Names(address.path.strip("/"))


@asynccontextmanager
async def started(client: Any) -> AsyncGenerator[Any]:
    await client.start()
    try:
        yield client
    finally:
        await (client.close() if isinstance(client, AIOKafkaAdminClient) else client.stop())


async def records(url: str, topic: str, partitions: int = QUICK.partitions) -> list[Any]:
    """Everything that stands in a topic."""
    servers, _ = place_of(url)
    reader: Any = AIOKafkaConsumer(bootstrap_servers=servers, auto_offset_reset="earliest", enable_auto_commit=False)
    async with started(reader):
        places = [TopicPartition(topic, partition) for partition in range(partitions)]
        reader.assign(places)
        ends, found = await reader.end_offsets(places), list[Any]()
        while any([await reader.position(place) < ends[place] for place in places]):
            for fetched in (await reader.getmany(timeout_ms=100)).values():
                found += fetched
        return found


async def test_the_fields_on_the_wire_are_plain(kafka_carrier: Carrier) -> None:
    await (await kafka_carrier.bus()).publish(event := asked())
    _, names = place_of(kafka_carrier.url)
    (record,) = await records(kafka_carrier.url, names.topic("turns"))
    fields = fields_of_record(record)
    assert fields[b"type"] == b"turn.requested.v1"
    assert record.key == str(event.chat_id).encode()
    assert record.partition == partition_of(record.key, QUICK.partitions)
    assert TurnRequested.model_validate_json(record.value) == event
    assert len(fields[b"id"]) == 32


async def test_an_event_that_lost_a_part_is_a_dead_letter_and_never_half_an_event(kafka_carrier: Carrier) -> None:
    bus = await kafka_carrier.bus(replace(QUICK, part_bytes=1000, parts_within_s=0.2))
    servers, names = place_of(kafka_carrier.url)
    got: list[RefreshSealed] = []

    async def keep(event: RefreshSealed) -> None:
        got.append(event)

    paths = tuple(DocumentVersion(path=f"{number}.md", revision=number) for number in range(100))
    event = RefreshSealed(refresh_id=uuid4(), started_at=datetime.now(UTC), documents=paths)
    headers = [("type", b"refresh.sealed.v1"), ("id", b"1" * 32), ("part", b"1/2")]
    async with started(AIOKafkaProducer(bootstrap_servers=servers)) as producer:
        await producer.send_and_wait(names.topic("documents"), b"{", key=b"half", headers=headers)
    kafka_carrier.consume(bus, "retriever", {RefreshSealed: keep}, stream="documents")

    async def died() -> bool:
        return bool(await bus.dead_letters())

    await eventually(died)
    (letter,) = await bus.dead_letters()
    assert "part" in letter.reason
    assert got == []
    await bus.publish(event)
    await eventually(lambda: got == [event])


async def test_a_letter_that_was_written_twice_is_one(kafka_carrier: Carrier) -> None:
    bus = await kafka_carrier.bus()
    servers, names = place_of(kafka_carrier.url)
    event = Delivery(3, [b"7"], b"turn.requested.v1", b"0" * 32, b"key", b'{"a":1}', b"", b"")
    fields = letter_fields("turns", "workers", event, "Twice.")
    async with started(AIOKafkaProducer(bootstrap_servers=servers)) as producer:
        for _ in range(2):
            headers = [(name.decode(), value) for name, value in fields.items() if name not in (b"key", b"data")]
            await producer.send_and_wait(names.dead, fields[b"data"], key=fields[b"key"], headers=headers)
    (letter,) = await bus.dead_letters()
    assert (letter.reason, letter.data) == ("Twice.", {"a": 1})
    assert len(await read_letters(servers, names)) == 1


async def test_a_group_that_has_handled_a_replayed_event_is_not_behind(kafka_carrier: Carrier) -> None:
    bus, healed = await kafka_carrier.bus(), list[TurnRequested]()

    async def refuses(event: TurnRequested) -> None:
        raise Reject("Not now.")

    failing = kafka_carrier.consume(bus, "workers", {TurnRequested: refuses})
    await bus.publish(event := asked())

    async def died() -> bool:
        return bool(await bus.dead_letters())

    await eventually(died)
    await stop(failing)
    (letter,) = await bus.dead_letters()
    await bus.replay(letter.id)
    kafka_carrier.consume(bus, "workers", {TurnRequested: into(healed)})
    await eventually(lambda: healed == [event])
    await eventually(nothing_left(bus))  # the end of the replay's transaction takes an offset too


async def test_topics_keep_what_is_unread_whatever_its_age_and_are_trimmed_by_the_consumers(
    kafka_carrier: Carrier,
) -> None:
    options = replace(QUICK, keep_s=0.0, trim_every_s=0.05)
    bus, got = await kafka_carrier.bus(options), list[TurnRequested]()
    servers, names = place_of(kafka_carrier.url)
    chat = uuid4()
    partition = partition_of(str(chat).encode(), QUICK.partitions)
    kafka_carrier.consume(bus, "workers", {TurnRequested: into(got)})
    await bus.publish(*(asked(chat) for _ in range(50)))
    cluster = Cluster(servers, names, options)
    await cluster.open()
    try:

        async def trimmed() -> bool:
            return (await cluster.first_offsets("turns", [partition]))[partition] == 50

        await eventually(trimmed)
    finally:
        await cluster.close()
    assert len(got) == 50
    limits = {"retention.ms": "", "retention.bytes": ""}
    async with started(AIOKafkaAdminClient(bootstrap_servers=servers)) as admin:
        topic = ConfigResource(ConfigResourceType.TOPIC, names.topic("turns"), limits)
        (answer,) = await admin.describe_configs([topic])
    assert {name: value for name, value, *_ in answer.resources[0][4]} == dict.fromkeys(limits, "-1")


async def test_topics_that_were_deleted_are_made_again_and_consumers_go_on(kafka_carrier: Carrier) -> None:
    bus, got = await kafka_carrier.bus(replace(QUICK, publish_within_s=20.0, trim_every_s=0.2)), set[object]()
    servers, names = place_of(kafka_carrier.url)

    async def keep(event: TurnRequested) -> None:
        got.add(event.turn_id)

    async def all_of_a_batch_arrive() -> bool:
        await bus.publish(*(events := [asked() for _ in range(20)]))
        try:
            await eventually(lambda: got >= {event.turn_id for event in events}, within_s=2.0)
        except TimeoutError:  # what is published before a reader knows that its topic is another one may be lost
            return False
        return True

    kafka_carrier.consume(bus, "workers", {TurnRequested: keep})
    await eventually(all_of_a_batch_arrive)
    async with started(AIOKafkaAdminClient(bootstrap_servers=servers)) as admin:
        await admin.delete_topics([names.topic(stream) for stream in ("turns", "documents")] + [names.dead])
    await eventually(all_of_a_batch_arrive)
    assert await bus.dead_letters() == ()


async def test_another_number_of_partitions_than_the_topic_has_stops_the_start(kafka_carrier: Carrier) -> None:
    await kafka_carrier.bus()
    with pytest.raises(BusError, match="has 8 partitions, and 4 are set: set TALKDOWN_BUS_PARTITIONS=8"):
        await kafka_carrier.bus(replace(QUICK, partitions=4))


async def test_a_broker_that_is_killed_and_comes_back_has_what_was_published_and_is_waited_for(
    kafka_server: object, tmp_path: Path
) -> None:
    broker, health, got = Broker(tmp_path), Health("test"), list[TurnRequested]()
    process, port = await asyncio.to_thread(start_on_free_port, broker.launch)
    before, after = [asked() for _ in range(20)], asked()
    try:
        async with open_bus(broker.url(port), service="test", options=QUICK) as bus:
            await bus.publish(*before)
            consuming = asyncio.create_task(bus.consume("turns", "workers", {TurnRequested: into(got)}))
            await eventually(lambda: len(got) == 20)
            process.send_signal(signal.SIGKILL)
            process.wait()

            async def open_and_publish() -> None:
                url = broker.url(port)
                async with open_bus(url, service="test", options=QUICK, health=health) as late:
                    await late.publish(after)

            opening = asyncio.create_task(open_and_publish())
            await eventually(lambda: bool(health.waiting))
            process = await asyncio.to_thread(start, broker.launch(port))
            await opening
            await eventually(lambda: after in got)
            await eventually(nothing_left(bus))
            assert len(got) == 21
            await stop(consuming)
    finally:
        process.kill()
        process.wait()
