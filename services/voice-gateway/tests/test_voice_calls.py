"""What happened in a call joins the trace of its turn."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from uuid import uuid4

import pytest
from openai import AsyncOpenAI
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from test_voice_credentials import EXAMPLES, Clock
from voice_fakes import Gateway

from chassis import telemetry
from contracts.voice import Timeline, TimelineEvent
from voice_gateway.calls import LIFETIME_S, MAX_CALLS, Calls
from voice_gateway.errors import CallUnknown
from voice_gateway.settings import Settings

NOW = dt.datetime.now(dt.UTC).replace(microsecond=0)


@pytest.fixture
def spans() -> Iterator[InMemorySpanExporter]:
    exporter = InMemorySpanExporter()
    telemetry.setup("voice-gateway", Settings(), SimpleSpanProcessor(exporter))
    yield exporter
    telemetry.setup("voice-gateway", Settings())


def named(exporter: InMemorySpanExporter, name: str) -> list[ReadableSpan]:
    return [span for span in exporter.get_finished_spans() if span.name == name]


def trace_of(span: ReadableSpan) -> str:
    assert span.context is not None
    return f"{span.context.trace_id:032x}"


async def ask(gateway: Gateway, key: str) -> None:
    client = AsyncOpenAI(api_key=key, base_url=f"{gateway.url}/v1", max_retries=0)
    async with client.realtime.connect(model="talkdown") as connection:
        await connection.conversation.item.create(
            item={"type": "message", "role": "user", "content": [{"type": "input_text", "text": "What?"}]}
        )
        await connection.response.create()
        async for event in connection:
            if event.type == "response.done":
                return


@pytest.mark.behaviour("E2")
async def test_what_the_page_saw_of_a_turn_stands_in_the_trace_of_its_question(
    gateway: Gateway, spans: InMemorySpanExporter
) -> None:
    secret = await gateway.mint()
    await ask(gateway, secret.value)
    event = TimelineEvent(name="playback_started", at=NOW, turn_id=gateway.agent.turns[0])
    told = await gateway.http.post(
        f"/calls/{secret.session['id']}/timeline", json=Timeline(events=(event,)).model_dump(mode="json")
    )
    assert told.status_code == 204
    (response,), (timeline,) = named(spans, "voice response"), named(spans, "voice timeline")
    assert trace_of(timeline) == trace_of(response)
    assert gateway.agent.traceparents[0] is not None
    assert gateway.agent.traceparents[0].split("-")[1] == trace_of(response)
    assert [(one.name, one.timestamp) for one in timeline.events] == [
        ("playback_started", int(NOW.timestamp()) * 1_000_000_000)
    ]
    (session,) = named(spans, "voice session")
    assert session.context is not None
    assert [link.context.span_id for link in response.links] == [session.context.span_id]


async def test_the_example_of_the_contract_is_taken(gateway: Gateway, spans: InMemorySpanExporter) -> None:
    secret = await gateway.mint()
    told = Timeline.model_validate_json((EXAMPLES / "voice.timeline.json").read_bytes())
    now = told.model_copy(update={"events": tuple(event.model_copy(update={"at": NOW}) for event in told.events)})
    path = f"/calls/{secret.session['id']}/timeline"
    traceparent = "00-" + "a" * 32 + "-" + "b" * 16 + "-01"
    answer = await gateway.http.post(path, json=now.model_dump(mode="json"), headers={"traceparent": traceparent})
    assert answer.status_code == 204
    (timeline,) = named(spans, "voice timeline")
    assert trace_of(timeline) == "a" * 32


async def test_a_thousand_events_are_all_kept(gateway: Gateway, spans: InMemorySpanExporter) -> None:
    secret = await gateway.mint()
    events = [{"name": f"event {number}", "at": NOW.isoformat()} for number in range(1000)]
    path = f"/calls/{secret.session['id']}/timeline"
    assert (await gateway.http.post(path, json={"events": events})).status_code == 204
    assert sum(len(span.events) for span in named(spans, "voice timeline")) == 1000
    assert (await gateway.http.post(path, json={"events": [*events, events[0]]})).status_code == 400


async def test_a_call_that_was_never_opened_is_refused(gateway: Gateway) -> None:
    refused = await gateway.http.post("/calls/sess_unknown/timeline", json={"events": []})
    assert (refused.status_code, refused.json()["code"]) == (404, "call_unknown")


@pytest.mark.parametrize(
    "event",
    [
        {"name": "", "at": NOW.isoformat()},
        {"name": "x" * 101, "at": NOW.isoformat()},
        {"name": "late", "at": "0001-01-01T00:00:00Z"},
        {"name": "early", "at": "9999-12-31T23:59:59Z"},
        {"name": "nowhere", "at": "2026-01-01T00:00:00"},
    ],
)
async def test_an_odd_event_is_refused_with_a_sentence(gateway: Gateway, event: dict[str, str]) -> None:
    secret = await gateway.mint()
    refused = await gateway.http.post(f"/calls/{secret.session['id']}/timeline", json={"events": [event]})
    assert refused.status_code == 400
    assert len(refused.json()["message"]) > 10


def test_calls_are_forgotten_an_hour_after_their_last_use_and_past_their_number() -> None:
    clock = Clock()
    calls = Calls(clock)
    calls.open("sess_first", uuid4(), None)
    clock.now += LIFETIME_S
    calls.record("sess_first", (), None)
    clock.now += LIFETIME_S + 1
    with pytest.raises(CallUnknown):
        calls.record("sess_first", (), None)
    calls.open("sess_old", uuid4(), None)
    for number in range(MAX_CALLS):
        calls.open(f"sess_{number}", uuid4(), None)
    with pytest.raises(CallUnknown):
        calls.record("sess_old", (), None)
