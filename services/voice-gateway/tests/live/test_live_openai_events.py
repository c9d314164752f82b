"""OpenAI's events in orders that nobody promised: what becomes of them (L1, L4)."""

from __future__ import annotations

import json
from itertools import count
from typing import Any

import pytest
from strict_types import check_event

from voice_gateway.live.clients.openai_errors import FATAL, PASSING, meaning_of, refusal_of
from voice_gateway.live.clients.openai_events import REMEMBERED, Normaliser, Seen
from voice_gateway.live.errors import ConnectionLost, SessionRefused
from voice_gateway.live.events import (
    Failure,
    InputTranscript,
    Interrupted,
    RealtimeEvent,
    ResponseEnded,
    ResponseStarted,
    SpeechStarted,
    ToolCall,
    Usage,
)

NAMES = count(1)


class Wire:
    """A normaliser, fed with events that the provider's own types take."""

    def __init__(self) -> None:
        self.clock = 0.0
        self.told = Normaliser("gpt-realtime-2.1", "gpt-transcribe", lambda: self.clock)

    def feed(self, kind: str, **fields: Any) -> list[RealtimeEvent]:
        event = {"type": kind, "event_id": f"event_{next(NAMES)}", **fields}
        check_event(event)
        return self.again(event)

    def again(self, event: dict[str, Any]) -> list[RealtimeEvent]:
        known = self.told.read(json.dumps(event).encode())
        return [] if known is None else list(self.told.events(known))


def response(name: str, status: str = "in_progress", **fields: Any) -> dict[str, Any]:
    return {"id": name, "object": "realtime.response", "status": status, "output": [], **fields}


def function_call(status: str = "completed", arguments: str = '{"n": 1}') -> dict[str, Any]:
    return {
        "id": "item_call",
        "object": "realtime.item",
        "type": "function_call",
        "name": "look",
        "call_id": "call_1",
        "arguments": arguments,
        "status": status,
    }


@pytest.fixture
def wire() -> Wire:
    return Wire()


@pytest.mark.behaviour("L1")
def test_an_event_that_comes_twice_is_read_once(wire: Wire) -> None:
    event = {"type": "input_audio_buffer.speech_started", "event_id": "same", "audio_start_ms": 0, "item_id": "i"}
    assert wire.again(event) == [SpeechStarted()]
    assert wire.again(event) == []


@pytest.mark.behaviour("L1")
def test_an_end_without_a_beginning_is_both_and_its_beginning_comes_too_late(wire: Wire) -> None:
    assert wire.feed("response.done", response=response("r1", "completed")) == [
        ResponseStarted(response_id="r1"),
        ResponseEnded(response_id="r1"),
    ]
    assert wire.feed("response.created", response=response("r1")) == []
    assert wire.feed("response.done", response=response("r1", "completed")) == []
    assert wire.told.active is None


@pytest.mark.behaviour("L4")
def test_a_call_that_only_the_end_tells_of_is_not_lost_and_not_doubled(wire: Wire) -> None:
    wire.feed("response.created", response=response("r1"))
    done = response("r1", "completed", output=[function_call()])
    call = ToolCall(id="call_1", name="look", args={"n": 1})
    assert wire.feed("response.done", response=done) == [call, ResponseEnded(response_id="r1", calls=("call_1",))]
    late = wire.feed("response.output_item.done", item=function_call(), response_id="r1", output_index=0)
    assert late == [], "the item came after the end that held it"


@pytest.mark.behaviour("L4")
def test_a_call_that_was_cut_off_is_not_run(wire: Wire) -> None:
    wire.feed("response.created", response=response("r1"))
    cut = function_call("incomplete", '{"n"')
    assert wire.feed("response.output_item.done", item=cut, response_id="r1", output_index=0) == []
    done = response("r1", "cancelled", output=[cut], status_details={"type": "cancelled", "reason": "turn_detected"})
    assert wire.feed("response.done", response=done) == [ResponseEnded(response_id="r1", status="cancelled")]


@pytest.mark.behaviour("L4")
@pytest.mark.parametrize("arguments", ["", "no json", "[1]", "null", '{"a": ', "[" * 50_000])
def test_arguments_that_are_no_object_are_told_as_none(wire: Wire, arguments: str) -> None:
    wire.feed("response.created", response=response("r1"))
    item = function_call(arguments=arguments)
    (call,) = wire.feed("response.output_item.done", item=item, response_id="r1", output_index=0)
    assert isinstance(call, ToolCall)
    assert call.args is None


@pytest.mark.behaviour("L1")
def test_a_transcript_after_its_answer_is_still_the_persons(wire: Wire) -> None:
    usage = {"type": "tokens", "input_tokens": 7, "output_tokens": 2, "total_tokens": 9}
    fields: dict[str, Any] = {"item_id": "i1", "content_index": 0, "transcript": "Late words", "usage": usage}
    kind = "conversation.item.input_audio_transcription.completed"
    assert wire.feed(kind, **fields) == [
        InputTranscript(text="Late words", finished=True),
        Usage(model="gpt-transcribe", input_tokens=7, output_tokens=2),
    ]
    assert wire.feed(kind, **fields) == [], "an item has one transcript"


@pytest.mark.behaviour("L1")
def test_speech_interrupts_what_still_sounds_and_nothing_else(wire: Wire) -> None:
    speech = {"audio_start_ms": 0, "item_id": "i"}
    assert wire.feed("input_audio_buffer.speech_started", **speech) == [SpeechStarted()]
    where = {"response_id": "r1", "item_id": "said", "output_index": 0, "content_index": 0}
    wire.feed("response.created", response=response("r1"))
    wire.feed("response.output_audio.delta", delta="AAAA" * 16_000, **where)
    wire.feed("response.done", response=response("r1", "completed"))
    wire.clock = 0.9
    assert wire.feed("input_audio_buffer.speech_started", **speech) == [SpeechStarted(), Interrupted()]
    wire.clock = 1.1
    assert wire.feed("input_audio_buffer.speech_started", **speech) == [SpeechStarted()], "a second of sound is over"


@pytest.mark.behaviour("L1")
def test_every_error_is_nothing_an_end_a_refusal_or_a_plain_sentence() -> None:
    assert meaning_of("response_cancel_not_active") is None
    assert isinstance(meaning_of("session_expired"), ConnectionLost)
    for code in FATAL:
        assert isinstance(meaning_of(code), SessionRefused)
    for code in (*PASSING, "something_new", None):
        meaning = meaning_of(code)
        assert meaning is not None
        assert not isinstance(meaning, SessionRefused | ConnectionLost)
        assert meaning.message.endswith(".")
    assert isinstance(refusal_of(401), SessionRefused)
    assert isinstance(refusal_of(500), ConnectionLost)


@pytest.mark.behaviour("L1")
@pytest.mark.parametrize(
    ("status", "details", "code"),
    [
        ("failed", {"type": "failed", "error": {"code": "server_error", "type": "x"}}, "server_error"),
        ("incomplete", {"type": "incomplete", "reason": "max_output_tokens"}, "max_output_tokens"),
        ("incomplete", {"type": "incomplete", "reason": "content_filter"}, "content_filter"),
    ],
)
def test_a_response_that_fails_says_why_and_ends(wire: Wire, status: str, details: dict[str, Any], code: str) -> None:
    wire.feed("response.created", response=response("r1"))
    failure, ended = wire.feed("response.done", response=response("r1", status, status_details=details))
    assert isinstance(failure, Failure)
    assert (failure.code, failure.fatal) == (code, False)
    assert isinstance(ended, ResponseEnded)
    assert ended.status == status


def test_what_was_seen_is_remembered_within_bounds() -> None:
    seen = Seen()
    for number in range(REMEMBERED + 10):
        assert not seen.again(f"n{number}")
    assert seen.again(f"n{REMEMBERED}")
    assert not seen.again("n0"), "the oldest is forgotten"
    assert not seen.again(""), "a name without letters is none"
    assert not seen.again("")
