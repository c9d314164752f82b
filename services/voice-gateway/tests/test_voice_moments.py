"""A spoken turn is one trace: where its time goes is told in it, by whoever asked the question."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from uuid import UUID

import pytest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from test_voice_speaking import LONG
from voice_fakes import until
from voice_session_fakes import Caller, HandAgent

from chassis import telemetry
from contracts.frames import Accepted
from voice_gateway.moments import Moments
from voice_gateway.settings import Settings

TURN = UUID("7e2b6f0e-8b5a-4a52-9d43-0d8d3b1f6c11")
TRACE = "5" * 32


@pytest.fixture
def spans() -> Iterator[InMemorySpanExporter]:
    exporter = InMemorySpanExporter()
    telemetry.setup("voice-gateway", Settings(), SimpleSpanProcessor(exporter))
    yield exporter
    telemetry.setup("voice-gateway", Settings())


@pytest.fixture(autouse=True)
def settled_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("voice_gateway.moments.SETTLE_S", 0.0)


def named(exporter: InMemorySpanExporter, name: str) -> list[ReadableSpan]:
    return [span for span in exporter.get_finished_spans() if span.name == name]


def trace_of(span: ReadableSpan) -> str:
    assert span.context is not None
    return f"{span.context.trace_id:032x}"


@pytest.mark.behaviour("E2")
async def test_a_question_that_is_answered_here_has_its_moments_in_the_trace_of_its_answer(
    spans: InMemorySpanExporter,
) -> None:
    caller = Caller("What is the code?", agent=HandAgent(LONG))
    caller.remember()
    caller.utter(pause_ms=600)
    await caller.hear_until("response.done")
    await caller.play_out()
    await until(lambda: named(spans, "voice timeline"))
    [timeline], [response] = named(spans, "voice timeline"), named(spans, "voice response")
    assert trace_of(timeline) == trace_of(response)
    names = [event.name for event in timeline.events]
    assert names[:4] == ["speech_ended", "transcribed", "question", "first_delta"]
    assert set(names[4:]) == {"first_phrase", "first_sound_made", "first_sound_played"}
    assert names[-1] == "first_sound_played"
    at = {event.name: event.timestamp for event in timeline.events}
    assert at["transcribed"] - at["speech_ended"] >= 599 * 1_000_000


@pytest.mark.behaviour("E2")
async def test_a_question_that_the_page_asked_has_its_moments_in_the_trace_that_the_page_began(
    spans: InMemorySpanExporter,
) -> None:
    frames = (Accepted(turn_id=TURN, trace_id=TRACE), *LONG)
    caller = Caller("What is the code?", agent=HandAgent(frames))
    caller.remember()
    await caller.as_page()
    caller.utter()
    await caller.hear_until("conversation.item.input_audio_transcription.completed")
    await caller.read_aloud("The code is ORCHID-47.", turn_id=str(TURN))
    await caller.hear_until("response.done")
    await caller.play_out()
    await until(lambda: named(spans, "voice timeline"))
    [timeline] = named(spans, "voice timeline")
    assert trace_of(timeline) == TRACE
    assert [event.name for event in timeline.events][-1] == "first_sound_played"
    await caller.session.leave()


def test_what_belongs_to_no_turn_is_not_told() -> None:
    told: list[object] = []
    moments = Moments(told.append, lambda: dt.datetime(2026, 1, 1, tzinfo=dt.UTC))
    moments.add("question")
    moments.of(TURN)
    moments.flush()
    moments.heard(100)
    moments.add("question")
    moments.flush()
    assert told == []
