"""The trace page: what comes in by OTLP is kept within bounds and shown so that everybody can read it."""

from __future__ import annotations

import gzip
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import httpx2
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, ScopeSpans, Status
from opentelemetry.proto.trace.v1.trace_pb2 import Span as WireSpan
from starlette.types import ASGIApp, Receive, Scope, Send

from embedded.traces.app import app
from embedded.traces.store import Span, TraceStore

TRACE, OTHER = bytes.fromhex("0af7651916cd43dd8448eb211c80319c"), bytes.fromhex("1bf7651916cd43dd8448eb211c80319c")
PROTOBUF = {"content-type": "application/x-protobuf"}


def wire(number: int, parent: int | None, name: str, start: int, end: int) -> WireSpan:
    return WireSpan(
        trace_id=TRACE,
        span_id=number.to_bytes(8, "big"),
        parent_span_id=parent.to_bytes(8, "big") if parent else b"",
        name=name,
        kind=WireSpan.SPAN_KIND_SERVER,
        start_time_unix_nano=start,
        end_time_unix_nano=end,
    )


def export(*spans: WireSpan, service: str = "agent") -> bytes:
    resource = Resource(attributes=[KeyValue(key="service.name", value=AnyValue(string_value=service))])
    of_service = ResourceSpans(resource=resource, scope_spans=[ScopeSpans(spans=spans)])
    return ExportTraceServiceRequest(resource_spans=[of_service]).SerializeToString()


@pytest.fixture
async def client() -> AsyncIterator[httpx2.AsyncClient]:
    application = app(TraceStore(), lambda: [{"name": "agent", "state": "ready", "detail": None}])
    async with (
        application.router.lifespan_context(application) as state,
        httpx2.AsyncClient(
            transport=httpx2.ASGITransport(_with_state(application, state)), base_url="http://127.0.0.1"
        ) as client,
    ):
        yield client


def _with_state(application: ASGIApp, state: object) -> Any:
    # What a server does with the lifespan's state, and httpx2 does not.
    async def wrapped(scope: Scope, receive: Receive, send: Send) -> None:
        scope["state"] = state
        await application(scope, receive, send)

    return wrapped


async def test_a_trace_is_shown_with_its_services_its_attributes_and_its_links(client: httpx2.AsyncClient) -> None:
    child = wire(2, 1, "chat <model>", 1_500_000_000, 1_700_000_000)
    child.attributes.append(KeyValue(key="gen_ai.usage.input_tokens", value=AnyValue(int_value=12)))
    child.links.append(WireSpan.Link(trace_id=OTHER, span_id=b"\1" * 8))
    child.status.CopyFrom(Status(code=Status.STATUS_CODE_ERROR, message="refused"))
    for body in (export(child), export(wire(1, None, "POST /api/turns", 10**9, 2 * 10**9), service="web")):
        assert (await client.post("/v1/traces", content=body, headers=PROTOBUF)).status_code == 200
    page = (await client.get(f"/trace/{TRACE.hex()}")).text
    assert "chat &lt;model&gt;" in page
    assert "gen_ai.usage.input_tokens" in page
    assert "refused" in page
    assert f"/trace/{OTHER.hex()}" in page
    assert "200 ms" in page
    assert "<script" not in page
    assert "style=" not in page
    said = (await client.get(f"/api/traces/{TRACE.hex()}")).json()
    assert said["services"] == ["web", "agent"]
    assert [(span["name"], span["service"], span["parent_id"]) for span in said["spans"]] == [
        ("POST /api/turns", "web", None),
        ("chat <model>", "agent", "0000000000000001"),
    ]
    assert "POST /api/turns" in (await client.get("/")).text


async def test_the_pages_policy_allows_nothing_but_their_own_style(client: httpx2.AsyncClient) -> None:
    for path in ("/", f"/trace/{TRACE.hex()}", "/api/traces"):
        policy = (await client.get(path)).headers["content-security-policy"]
        assert policy.startswith("default-src 'none'")
        assert "unsafe" not in policy


async def test_a_trace_that_is_not_here_yet_asks_again(client: httpx2.AsyncClient) -> None:
    page = await client.get("/trace/<b>")
    assert page.status_code == 404
    assert 'http-equiv="refresh"' in page.text
    assert "<b>" not in page.text


@pytest.mark.parametrize(("seconds_ago", "again"), [(0, True), (60, False)])
async def test_a_trace_that_may_still_grow_is_asked_for_again(
    client: httpx2.AsyncClient, seconds_ago: int, again: bool
) -> None:
    end = time.time_ns() - seconds_ago * 10**9
    await client.post("/v1/traces", content=export(wire(1, None, "save", end - 10**6, end)), headers=PROTOBUF)
    page = (await client.get(f"/trace/{TRACE.hex()}")).text
    assert ('http-equiv="refresh"' in page) is again


async def test_a_foreign_name_is_not_served(client: httpx2.AsyncClient) -> None:
    assert (await client.get("/", headers={"host": "evil.example"})).status_code == 400


@pytest.mark.parametrize(
    ("body", "headers", "status"),
    [
        (b"\xff\xff\xff", PROTOBUF, 400),
        (b"{}", {"content-type": "application/json"}, 415),
        (b"no gzip", {**PROTOBUF, "content-encoding": "gzip"}, 400),
        (gzip.compress(b"\0" * (17 * 1024 * 1024)), {**PROTOBUF, "content-encoding": "gzip"}, 400),
        (b"\0" * (17 * 1024 * 1024), PROTOBUF, 413),
        (b"", PROTOBUF, 200),
    ],
)
async def test_what_is_no_export_is_refused(
    client: httpx2.AsyncClient, body: bytes, headers: dict[str, str], status: int
) -> None:
    assert (await client.post("/v1/traces", content=body, headers=headers)).status_code == status


async def test_a_compressed_export_is_read(client: httpx2.AsyncClient) -> None:
    body = gzip.compress(export(wire(1, None, "save", 1, 2)))
    await client.post("/v1/traces", content=body, headers={**PROTOBUF, "content-encoding": "gzip"})
    assert (await client.get(f"/api/traces/{TRACE.hex()}")).json()["name"] == "save"


async def test_the_state_of_the_children_is_told(client: httpx2.AsyncClient) -> None:
    assert (await client.get("/services")).json() == {"services": [{"name": "agent", "state": "ready", "detail": None}]}


def span(trace: int, number: int, parent: int | None = None, size: int = 100) -> Span:
    return Span(f"{trace:032x}", f"{number:016x}", f"{parent:016x}" if parent else None, f"s{number}", "internal", "a",
                number, number + 1, {}, size=size)  # fmt: skip


def test_the_oldest_traces_make_room() -> None:
    store = TraceStore(max_traces=10, max_bytes=1000)
    store.add(span(trace, 1, size=300) for trace in range(5))
    assert [int(trace.trace_id, 16) for trace in store.latest()] == [4, 3, 2]
    store.add([span(2, 2, size=300)])
    assert [int(trace.trace_id, 16) for trace in store.latest()] == [2, 4]


def test_requests_that_only_read_do_not_push_out_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("embedded.traces.store.MAX_READS", 2)
    store = TraceStore(max_traces=4)
    store.add([span(1, 1)])
    store.add(replace(span(trace, 1), name="GET /api/corpus") for trace in range(2, 9))
    assert [int(trace.trace_id, 16) for trace in store.latest()] == [8, 7, 6, 1]
    assert [int(trace.trace_id, 16) for trace in store.latest(reads=False)] == [1]


def test_a_span_that_arrives_twice_counts_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("embedded.traces.store.MAX_SPANS_OF_A_TRACE", 2)
    store = TraceStore()
    store.add([span(1, 1), span(1, 1), span(1, 2), span(1, 3)])
    trace = store.get(f"{1:032x}")
    assert trace is not None
    assert (len(trace.spans), trace.left_out, trace.size) == (2, 1, 200)


def test_spans_that_are_each_others_parents_are_all_shown_once() -> None:
    store = TraceStore()
    store.add([span(1, 1, parent=2), span(1, 2, parent=1), span(1, 3, parent=9)])
    trace = store.get(f"{1:032x}")
    assert trace is not None
    assert sorted(row.name for row, _ in trace.rows()) == ["s1", "s2", "s3"]


def test_the_id_in_a_path_does_not_hide_what_was_asked() -> None:
    asked = {"http.request.method": "GET", "url.path": "/turns/9ce7a50a-89f6-4d35-848d-095012b79e6a/frames"}
    assert replace(span(1, 1), kind="server", attributes=asked).title == "GET /turns/…/frames"


async def test_answers_and_saves_come_first_and_requests_are_named_as_they_were_asked(
    client: httpx2.AsyncClient,
) -> None:
    asked = [
        ("GET", "GET", "/page/app.js"),
        ("POST /v1/realtime/{path:path}", "POST", "/v1/realtime/client_secrets"),
        ("POST /api/turns", "POST", "/api/turns"),
        ("ingest folder", None, None),
    ]
    for number, (name, method, path) in enumerate(asked, 1):
        one = wire(1, None, name, number * 10**9, number * 10**9 + 1)
        one.trace_id = number.to_bytes(16, "big")
        for key, value in (("http.request.method", method), ("url.path", path)):
            if value:
                one.attributes.append(KeyValue(key=key, value=AnyValue(string_value=value)))
        await client.post("/v1/traces", content=export(one), headers=PROTOBUF)
    page = (await client.get("/")).text
    in_order = ["Answers and saves", "ingest folder", "POST /api/turns", "Other requests", "/client_secrets"]
    places = [page.index(words) for words in in_order]
    assert places == sorted(places)
    assert "app.js" not in page
    assert "path:path" not in page
    assert "GET /page/app.js" in (await client.get("/?all")).text
