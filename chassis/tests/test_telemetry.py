"""Traces and logs: connected over HTTP and bus, without content, harmless when the collector is gone (E2, T15)."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from importlib.metadata import version
from itertools import pairwise
from uuid import uuid4

import httpx2
import pytest
from fastapi import FastAPI
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode
from otlp_collector import collecting

from chassis import conventions, telemetry
from chassis.bus import open_bus
from chassis.http import ServiceClient
from chassis.server import service
from chassis.settings import ServiceSettings
from contracts.events import TurnRequested
from contracts.health import Live


@pytest.fixture(autouse=True)
def quiet_after() -> Iterator[None]:
    yield
    telemetry.finish()
    telemetry.setup("test", ServiceSettings(log_level="warning"))


@pytest.fixture
def spans() -> InMemorySpanExporter:
    exporter = InMemorySpanExporter()
    telemetry.setup("sample", ServiceSettings(), SimpleSpanProcessor(exporter))
    return exporter


def named(spans: InMemorySpanExporter) -> dict[str, ReadableSpan]:
    return {span.name: span for span in spans.get_finished_spans()}


@pytest.mark.behaviour("E2")
async def test_one_trace_goes_over_http_and_the_bus(spans: InMemorySpanExporter) -> None:
    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncGenerator[dict[str, object]]:
        yield {}

    handled = asyncio.Event()

    async def handle(event: TurnRequested) -> None:
        with telemetry.span("answer"):
            handled.set()

    async with open_bus("memory://", service="sample") as bus:
        app = service("sample", lifespan, ServiceSettings())

        async def publish() -> Live:
            await bus.publish(TurnRequested(turn_id=uuid4(), chat_id=uuid4()))
            return Live(service="sample")

        app.add_api_route("/turns/{name}", publish, methods=["POST"])
        consuming = asyncio.create_task(bus.consume("turns", "agents", {TurnRequested: handle}))
        async with (
            app.router.lifespan_context(app),
            httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url="http://agent:80") as raw,
        ):
            with telemetry.span("question") as question:
                trace = question.get_span_context().trace_id
                assert telemetry.trace_id() == f"{trace:032x}"
                await ServiceClient(raw, "agent").post("/turns/one", Live)
            async with asyncio.timeout(60):
                await handled.wait()
        consuming.cancel()
        await asyncio.gather(consuming, return_exceptions=True)
    finished = named(spans)
    chain = ["question", "POST agent", "POST /turns/{name}", "send turns", "process turns", "answer"]
    assert set(finished) == set(chain)
    for parent, child in pairwise(chain):
        above, below = finished[parent].context, finished[child].parent
        assert above is not None
        assert below is not None
        assert (below.trace_id, below.span_id) == (trace, above.span_id)
    attributes = finished["process turns"].attributes
    assert attributes is not None
    assert attributes[conventions.MESSAGING_SYSTEM] == "memory"
    assert attributes[conventions.MESSAGING_DESTINATION] == "turns"
    assert attributes[conventions.MESSAGING_GROUP] == "agents"


def test_of_an_error_a_span_knows_the_type_alone(spans: InMemorySpanExporter) -> None:
    with pytest.raises(ValueError, match="secret"), telemetry.span("embed"):
        raise ValueError("a secret")
    span = named(spans)["embed"]
    assert span.status.status_code is StatusCode.ERROR
    assert span.attributes == {conventions.ERROR_TYPE: "ValueError"}
    assert span.events == ()
    assert "secret" not in span.to_json()


def test_a_traceparent_that_is_none_begins_a_new_trace(spans: InMemorySpanExporter) -> None:
    good = "00-" + "a" * 32 + "-" + "b" * 16 + "-01"
    bad = ["", "00", "00-" + "0" * 32 + "-" + "b" * 16 + "-01", good.upper(), "é" * 55, good + good]
    for wrong in bad:
        with telemetry.span("question", parent=wrong):
            assert telemetry.trace_id() not in (None, "a" * 32)
    with telemetry.span("question", parent=good, links=[good, "nonsense"]):
        assert telemetry.trace_id() == "a" * 32
        assert (telemetry.inject() or "").startswith("00-" + "a" * 32)
    assert len(spans.get_finished_spans()[-1].links) == 1


def test_without_a_collector_spans_have_ids_all_the_same() -> None:
    telemetry.setup("sample", ServiceSettings())
    assert telemetry.inject() is None
    with telemetry.span("outer"):
        outer = telemetry.trace_id()
        with telemetry.span("inner"):
            assert telemetry.trace_id() == outer is not None


def test_spans_reach_a_collector_and_say_from_which_replica() -> None:
    with collecting() as collector:
        for _ in range(2):
            telemetry.setup("sample", ServiceSettings(otlp_endpoint=collector.url))
            with telemetry.span("question"):
                pass
            telemetry.finish()
    assert collector.spans == ["question"] * 2
    assert {resource["service.name"] for resource in collector.resources} == {"sample"}
    assert {resource["service.namespace"] for resource in collector.resources} == {"talkdown"}
    assert {resource["service.version"] for resource in collector.resources} == {version("talkdown-chassis")}
    assert len({resource["service.instance.id"] for resource in collector.resources}) == 2


def test_a_collector_that_is_gone_is_told_once_and_stops_nothing(
    unused_tcp_port: int, caplog: pytest.LogCaptureFixture
) -> None:
    telemetry.setup("sample", ServiceSettings(otlp_endpoint=f"http://127.0.0.1:{unused_tcp_port}"))
    with caplog.at_level(logging.WARNING):
        for _ in range(5000):
            with telemetry.span("question"):
                pass
        telemetry.finish()
    assert [record.message for record in caplog.records].count(
        "the collector takes no traces; they are dropped until it does"
    ) == 1


@pytest.mark.behaviour("T15", "E3")
def test_a_log_line_is_json_with_its_trace_and_without_the_text_of_errors(capsys: pytest.CaptureFixture[str]) -> None:
    telemetry.setup("sample", ServiceSettings())
    with telemetry.span("question"):
        trace = telemetry.trace_id()
        logging.getLogger("agent").info("turn accepted", extra={"question": "why?", "files": 3})
        try:
            raise ValueError("a secret document")
        except ValueError:
            logging.getLogger("agent").exception("the turn failed")
    first, second = (json.loads(row) for row in capsys.readouterr().out.splitlines())
    assert {key: first[key] for key in ("level", "service", "logger", "message", "trace_id", "question", "files")} == {
        "level": "info",
        "service": "sample",
        "logger": "agent",
        "message": "turn accepted",
        "trace_id": trace,
        "question": "why?",
        "files": 3,
    }
    assert second["error"] == "ValueError"
    assert second["at"][0].startswith("test_telemetry.py:")
    assert "secret" not in json.dumps(second)


@pytest.mark.behaviour("E3")
def test_what_a_websocket_library_logs_of_its_handshakes_stays_out_of_the_most_detailed_log(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """An address may hold a credential, and these libraries write addresses down below a warning."""
    telemetry.setup("sample", ServiceSettings(log_level="debug"))
    logging.getLogger("agent").debug("a detail")
    for library in ("websockets.client", "websockets.server", "uvicorn.error"):
        logging.getLogger(library).debug("> GET /v1/graph/live?token=ek_secret HTTP/1.1")
        logging.getLogger(library).info('("127.0.0.1", 1) - "WebSocket /v1/graph/live?token=ek_secret" [accepted]')
    told = capsys.readouterr().out
    assert "a detail" in told
    assert "ek_secret" not in told
