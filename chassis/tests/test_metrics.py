"""Metrics: sent where a collector of theirs is named, bounded, without content, and harmless when it is gone."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from typing import Any
from uuid import UUID, uuid4

import httpx2
import pytest
from fastapi import FastAPI
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from otlp_collector import collecting

from chassis import metrics, telemetry
from chassis.bus import Options, Reject, open_bus
from chassis.lag import watch_lag
from chassis.server import service
from chassis.settings import ServiceSettings
from contracts.events import TurnRequested
from contracts.health import Live

SAMPLES = metrics.histogram("talkdown.test.samples", "s", "Of this test.", (1, 2))
OPEN = metrics.level("talkdown.test.open", "{sample}", "Of this test.")
SEEN = metrics.gauge("talkdown.test.seen", "{sample}", "Of this test.")


@pytest.fixture(autouse=True)
def quiet_after() -> Iterator[None]:
    yield
    telemetry.finish()
    telemetry.setup("test", ServiceSettings(log_level="warning"))


@pytest.fixture
def reader() -> InMemoryMetricReader:
    reader = InMemoryMetricReader()
    telemetry.setup("sample", ServiceSettings(), SimpleSpanProcessor(InMemorySpanExporter()), readers=[reader])
    return reader


def test_what_is_measured_reaches_the_collector_of_metrics_with_the_replica_it_came_from() -> None:
    with collecting() as collector:
        telemetry.setup("sample", ServiceSettings(otlp_metrics_endpoint=collector.url))
        for value in (0.5, 1.5, -1):
            SAMPLES.record(value, {"talkdown.turn.status": "completed"})
        OPEN.add(2)
        OPEN.add(-1)
        SEEN.set(7)
        telemetry.finish()
    (samples,) = collector.metrics["talkdown.test.samples"].histogram.data_points
    assert (samples.count, samples.sum, list(samples.bucket_counts)) == (3, 2.0, [2, 1, 0])
    assert collector.metrics["talkdown.test.samples"].unit == "s"
    assert collector.metrics["talkdown.test.open"].sum.data_points[0].as_int == 1
    assert collector.metrics["talkdown.test.seen"].gauge.data_points[0].as_int == 7
    assert [resource["service.name"] for resource in collector.resources] == ["sample"]
    assert collector.resources[0]["service.instance.id"]


def test_without_a_collector_of_metrics_nothing_is_measured() -> None:
    with collecting() as collector:
        telemetry.setup("sample", ServiceSettings(otlp_endpoint=collector.url))
        SAMPLES.record(1)
        assert not metrics.measuring()
        telemetry.finish()
    assert collector.metrics == {}


def test_a_slow_value_leads_to_its_trace(reader: InMemoryMetricReader) -> None:
    with telemetry.span("question") as question:
        SAMPLES.record(1.5)
    (point,) = metrics.reading(reader)["talkdown.test.samples"]
    assert [exemplar.trace_id for exemplar in point.exemplars] == [question.get_span_context().trace_id]


def test_a_collector_that_takes_no_metrics_is_told_once_and_stops_nothing(caplog: pytest.LogCaptureFixture) -> None:
    with collecting(takes_metrics=False) as collector, caplog.at_level(logging.WARNING):
        settings = ServiceSettings(
            otlp_endpoint=collector.url, otlp_metrics_endpoint=collector.url, otlp_metrics_interval_s=0.1
        )
        telemetry.setup("sample", settings)
        with telemetry.span("question"):
            SAMPLES.record(1)
        telemetry.finish()
    assert [record.message for record in caplog.records] == [
        "the collector takes no metrics; they are dropped until it does"
    ]
    assert collector.spans == ["question"]


def test_a_collector_of_metrics_that_is_gone_is_told_once(
    unused_tcp_port: int, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        telemetry.setup("sample", ServiceSettings(otlp_metrics_endpoint=f"http://127.0.0.1:{unused_tcp_port}"))
        SAMPLES.record(1)
        telemetry.finish()
    assert [record.message for record in caplog.records] == [
        "the collector takes no metrics; they are dropped until it does"
    ]


def test_nothing_open_is_told_as_nothing(reader: InMemoryMetricReader) -> None:
    (point,) = metrics.reading(reader)["talkdown.test.open"]
    assert point.value == 0


def test_a_name_is_given_once() -> None:
    with pytest.raises(ValueError, match=r"talkdown\.test\.samples already"):
        metrics.counter("talkdown.test.samples", "{sample}", "Of this test.")


async def test_requests_are_timed_by_route_and_never_by_path(reader: InMemoryMetricReader) -> None:
    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncGenerator[dict[str, object]]:
        yield {}

    app = service("sample", lifespan, ServiceSettings())

    async def one(name: str) -> Live:
        return Live(service=name)

    app.add_api_route("/turns/{name}", one, methods=["POST"])
    async with (
        app.router.lifespan_context(app),
        httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url="http://agent:80") as client,
    ):
        for name in ("one", "two"):
            await client.post(f"/turns/{name}")
        for number in range(3):
            await client.request(f"ODD{number}", f"/secret/{number}")
        await client.get("/health/live")
    counted = {
        frozenset(point.attributes.items()): point.count for point in _points(reader, "http.server.request.duration")
    }
    known = {"http.request.method": "POST", "http.route": "/turns/{name}", "http.response.status_code": 200}
    unknown = {"http.request.method": "_OTHER", "http.response.status_code": 404}
    assert counted == {frozenset(known.items()): 2, frozenset(unknown.items()): 3}


async def test_events_are_timed_and_dead_letters_are_counted(reader: InMemoryMetricReader) -> None:
    handled = asyncio.Event()

    async def handle(event: TurnRequested) -> None:
        if event.turn_id.int == 0:
            raise Reject("It is none.")
        handled.set()

    async with open_bus("memory://", service="sample", options=Options(partitions=1)) as bus:
        consuming = asyncio.create_task(bus.consume("turns", "agents", {TurnRequested: handle}))
        chat = uuid4()
        await bus.publish(TurnRequested(turn_id=UUID(int=0), chat_id=chat))
        await bus.publish(TurnRequested(turn_id=uuid4(), chat_id=chat))
        async with asyncio.timeout(60):
            await handled.wait()
            while len(_points(reader, "messaging.process.duration")) < 2:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        consuming.cancel()
        await asyncio.gather(consuming, return_exceptions=True)
    of_group = {
        "messaging.system": "memory",
        "messaging.operation.name": "process",
        "messaging.destination.name": "turns",
        "messaging.consumer.group.name": "agents",
    }
    timed = [(dict(point.attributes), point.count) for point in _points(reader, "messaging.process.duration")]
    assert sorted(timed, key=str) == sorted([(of_group, 1), ({**of_group, "error.type": "Reject"}, 1)], key=str)
    (letters,) = _points(reader, "talkdown.bus.dead_letters")
    assert (dict(letters.attributes), letters.value) == (of_group, 1)


async def test_how_far_a_group_is_behind_is_looked_at_again_and_again(reader: InMemoryMetricReader) -> None:
    free = asyncio.Event()

    async def handle(_: TurnRequested) -> None:
        await free.wait()

    async with open_bus("memory://", service="sample", options=Options(partitions=1)) as bus:
        consuming = asyncio.create_task(bus.consume("turns", "agents", {TurnRequested: handle}))
        watching = asyncio.create_task(watch_lag(bus, "turns", "agents", every_s=0.01))
        await bus.publish(*(TurnRequested(turn_id=uuid4(), chat_id=uuid4()) for _ in range(3)))
        async with asyncio.timeout(60):
            while (behind := _lag(reader)) != 3:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
            free.set()
            while (behind := _lag(reader)) != 0:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        assert behind == 0
        for task in (consuming, watching):
            task.cancel()
        await asyncio.gather(consuming, watching, return_exceptions=True)
    assert dict(_points(reader, "talkdown.bus.lag")[0].attributes) == {
        "messaging.destination.name": "turns",
        "messaging.consumer.group.name": "agents",
    }


def _lag(reader: InMemoryMetricReader) -> int | None:
    points = _points(reader, "talkdown.bus.lag")
    return points[0].value if points else None


def _points(reader: InMemoryMetricReader, name: str) -> list[Any]:
    return metrics.reading(reader).get(name, [])
