"""The rounds of the bench: the bare clients and the bus, on either server, publishing and consuming the same events."""

from __future__ import annotations

import asyncio
import gc
import statistics
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from typing import Any, TypedDict
from urllib.parse import urlsplit
from uuid import uuid4

import bare_kafka
import bare_redis
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from redis.asyncio import Redis

from chassis import telemetry
from chassis.bus import Options, open_bus
from chassis.settings import ServiceSettings
from contracts.events import TurnRequested

EVENTS, BATCH, ROUNDS = 4000, 20, 5
RATE, FOR_S, WARM_S = 500, 10.0, 25.0

Batches = Sequence[Sequence[TurnRequested]]
Publish = Callable[[TurnRequested], Awaitable[None]]
Cost = tuple[float, float]
"""Microseconds of CPU an event, published and handled: as they come, and from a backlog."""


class Told(TypedDict):
    """What was measured on one server."""

    cpu_us_per_event: dict[str, dict[str, float]]
    ratio: float
    ratio_recorded: float
    ratio_backlog: float
    latency_ms: dict[str, float]
    latency_bare_ms: dict[str, float]


class Nowhere(SpanExporter):
    """Takes spans and drops them."""

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Drop a batch."""
        return SpanExportResult.SUCCESS


def batches() -> Batches:
    """Events of as many chats, in the batches that they are published in."""
    return [[TurnRequested(turn_id=uuid4(), chat_id=uuid4()) for _ in range(BATCH)] for _ in range(EVENTS // BATCH)]


async def cpu_us(work: Callable[[], Awaitable[object]]) -> float:
    """Microseconds of CPU an event that a piece of work costs this process."""
    gc.collect()
    begun = time.process_time()
    await work()
    return (time.process_time() - begun) / EVENTS * 1e6


class Counter:
    """A handler that counts, and says when it has seen everything."""

    def __init__(self) -> None:
        self.seen = 0
        self.joined = asyncio.Event()
        self.all_seen = asyncio.Event()

    async def __call__(self, event: TurnRequested) -> None:
        """Count an event."""
        self.seen += 1
        self.joined.set()
        if self.seen == EVENTS:
            self.all_seen.set()


async def live_and_backlog(
    publish: Callable[[Sequence[TurnRequested]], Awaitable[None]],
    handled_all: Callable[[Counter], Awaitable[object]],
) -> Cost:
    """One round: published while a group that has joined handles them; then published, and handled after that."""
    costs: list[float] = []
    for live in (True, False):
        work, count = batches(), Counter()

        async def send(work: Batches = work) -> None:
            for events in work:
                await publish(events)

        if live:
            handling = asyncio.create_task(_of(handled_all(count)))
            await publish(work[0][:1])
            await count.joined.wait()
            count.seen = 0

            async def both(send: Callable[[], Awaitable[None]] = send, count: Counter = count) -> None:
                await send()
                await count.all_seen.wait()

            costs.append(await cpu_us(both))
            await handling
        else:
            costs.append(await cpu_us(send))
            costs.append(await cpu_us(lambda count=count: _of(handled_all(count))))
        assert count.seen == EVENTS
    return costs[0], costs[1] + costs[2]


async def _of(work: Awaitable[object]) -> None:
    await work


async def bare_redis_round(url: str) -> Cost:
    """Bare redis-py."""
    redis = Redis.from_url(url)
    for name in bare_redis.STREAMS:
        await redis.xgroup_create(name, "bench", id="0", mkstream=True)
    try:
        return await live_and_backlog(
            lambda events: bare_redis.publish(redis, events),
            lambda count: bare_redis.consume(redis, "bench", 32 // bare_redis.PARTITIONS, count, count.all_seen),
        )
    finally:
        await redis.aclose()


@asynccontextmanager
async def _bare_topic(url: str) -> AsyncGenerator[tuple[Any, str]]:
    servers, topic = urlsplit(url).netloc, f"bare-{uuid4().hex}"
    admin: Any = AIOKafkaAdminClient(bootstrap_servers=servers)
    await admin.start()
    await admin.create_topics([NewTopic(topic, bare_kafka.PARTITIONS, 1)])
    await admin.close()
    producer: Any = AIOKafkaProducer(bootstrap_servers=servers, acks="all")
    await producer.start()
    await producer.partitions_for(topic)
    try:
        yield producer, topic
    finally:
        await producer.stop()


def _bare_consumer(url: str, topic: str) -> Any:
    servers = urlsplit(url).netloc
    return AIOKafkaConsumer(
        topic, bootstrap_servers=servers, group_id=topic, auto_offset_reset="earliest", enable_auto_commit=False
    )


async def bare_kafka_round(url: str) -> Cost:
    """Bare aiokafka, on a topic of its own."""
    async with _bare_topic(url) as (producer, topic):

        async def take(count: Counter) -> None:
            consumer: Any = _bare_consumer(url, topic)
            await consumer.start()
            await bare_kafka.consume(consumer, count, count.all_seen)
            await consumer.stop()

        return await live_and_backlog(lambda events: bare_kafka.publish(producer, topic, events), take)


async def bus_round(url: str) -> Cost:
    """The bus; counted until everything is acknowledged."""
    async with open_bus(url, service="bench") as bus:

        async def take(count: Counter) -> None:
            consuming = asyncio.create_task(bus.consume("turns", "bench", {TurnRequested: count}))
            await count.all_seen.wait()
            consuming.cancel()
            await asyncio.gather(consuming, return_exceptions=True)

        cost = await live_and_backlog(lambda events: bus.publish(*events), take)
        assert await bus.lag("turns", "bench") == 0
    return cost


Open = Callable[[Callable[[TurnRequested], Awaitable[None]]], AbstractAsyncContextManager[Publish]]
"""Starts to consume with a handler, and gives what publishes; both end with the context."""


@asynccontextmanager
async def _bus(url: str, handle: Callable[[TurnRequested], Awaitable[None]]) -> AsyncGenerator[Publish]:
    patient = Options(publish_within_s=60.0)  # slow is a figure, not an error
    async with open_bus(url, service="bench", options=patient) as bus:
        consuming = asyncio.create_task(bus.consume("turns", "latency", {TurnRequested: handle}))
        try:
            yield bus.publish
        finally:
            consuming.cancel()
            await asyncio.gather(consuming, return_exceptions=True)


@asynccontextmanager
async def _bare_redis(url: str, handle: Callable[[TurnRequested], Awaitable[None]]) -> AsyncGenerator[Publish]:
    async with Redis.from_url(url) as redis:
        for name in bare_redis.STREAMS:
            await redis.xgroup_create(name, "bench", id="0", mkstream=True)
        consuming = asyncio.create_task(
            bare_redis.consume(redis, "bench", 32 // bare_redis.PARTITIONS, handle, asyncio.Event())
        )
        try:
            yield lambda event: bare_redis.publish(redis, [event])
        finally:
            consuming.cancel()
            await asyncio.gather(consuming, return_exceptions=True)


@asynccontextmanager
async def _bare_kafka(url: str, handle: Callable[[TurnRequested], Awaitable[None]]) -> AsyncGenerator[Publish]:
    async with _bare_topic(url) as (producer, topic):
        consumer: Any = _bare_consumer(url, topic)
        await consumer.start()
        consuming = asyncio.create_task(bare_kafka.consume(consumer, handle, asyncio.Event()))
        try:
            yield lambda event: bare_kafka.publish(producer, topic, [event])
        finally:
            consuming.cancel()
            await asyncio.gather(consuming, return_exceptions=True)
            await consumer.stop()


async def latency_ms(opened: Open) -> dict[str, float]:
    """From the beginning of a publish to the handler's, at :data:`RATE` a second, in milliseconds."""
    taken: list[float] = []
    begun: dict[object, float] = {}
    none_open = asyncio.Event()

    async def handle(event: TurnRequested) -> None:
        taken.append((time.perf_counter() - begun.pop(event.turn_id)) * 1000)
        if not begun:
            none_open.set()

    async with opened(handle) as publish:

        async def send() -> None:
            event = TurnRequested(turn_id=uuid4(), chat_id=uuid4())
            begun[event.turn_id] = time.perf_counter()
            none_open.clear()
            await publish(event)

        await send()
        await none_open.wait()
        publishing: set[asyncio.Task[None]] = set()
        start = time.perf_counter()
        for number in range(int(RATE * (WARM_S + FOR_S))):
            await asyncio.sleep(max(0.0, start + number / RATE - time.perf_counter()))
            publishing.add(task := asyncio.create_task(send()))
            task.add_done_callback(publishing.discard)
        await asyncio.gather(*publishing)
        await none_open.wait()
    late = sorted(taken[-int(RATE * FOR_S) :])
    return {"p50": round(late[len(late) // 2], 2), "p99": round(late[int(len(late) * 0.99)], 2)}


def _record(recording: bool) -> None:
    telemetry.finish()
    settings = ServiceSettings(log_level="error")
    telemetry.setup("bench", settings, *([BatchSpanProcessor(Nowhere())] if recording else []))


async def _emptied(server: str, url: str) -> str:
    """The address of a bus that has nothing on it."""
    if server == "kafka":
        return f"{url}/bench-{uuid4().hex[:12]}"
    async with Redis.from_url(url) as redis:
        await redis.flushdb()
    return url


async def measure(urls: Mapping[str, str]) -> dict[str, Told]:
    """All rounds, as the result that is written down."""
    bare = {"redis": bare_redis_round, "kafka": bare_kafka_round}
    costs: dict[str, dict[str, list[Cost]]] = {server: {} for server in urls}
    for number in range(ROUNDS + 1):
        for server, url in urls.items():
            for way in ("bare", "bus", "recorded"):
                _record(way == "recorded")
                empty = await _emptied(server, url)
                cost = await (bare[server](empty) if way == "bare" else bus_round(empty))
                if number > 0:  # the first warms up
                    costs[server].setdefault(way, []).append(cost)
    _record(False)
    plain = {"redis": _bare_redis, "kafka": _bare_kafka}
    told: dict[str, Told] = {}
    for server, url in urls.items():
        ways: dict[str, Callable[..., AbstractAsyncContextManager[Publish]]] = {"bare": plain[server], "bus": _bus}
        late: dict[str, dict[str, float]] = {}
        for name, opened in ways.items():
            late[name] = await latency_ms(partial(opened, await _emptied(server, url)))
        told[server] = _told(costs[server], late)
    return told


def _told(costs: Mapping[str, Sequence[Cost]], late: Mapping[str, dict[str, float]]) -> Told:
    cpu = {
        way: {
            "as_they_come": round(statistics.median(live for live, _ in rounds), 1),
            "backlog": round(statistics.median(backlog for _, backlog in rounds), 1),
        }
        for way, rounds in costs.items()
    }
    return {
        "cpu_us_per_event": cpu,
        "ratio": round(cpu["bus"]["as_they_come"] / cpu["bare"]["as_they_come"], 3),
        "ratio_recorded": round(cpu["recorded"]["as_they_come"] / cpu["bare"]["as_they_come"], 3),
        "ratio_backlog": round(cpu["bus"]["backlog"] / cpu["bare"]["backlog"], 3),
        "latency_ms": late["bus"],
        "latency_bare_ms": late["bare"],
    }
