"""Gemini's live messages in our own words, one connection's worth of them (L1). https://ai.google.dev/api/live

Gemini names no responses: a response begins with its first output and ends with the turn, with a call of tools, or when
it is interrupted.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Literal

from voice_gateway.live.events import (
    AudioDelta,
    Failure,
    GoAway,
    InputTranscript,
    Interrupted,
    OutputTranscript,
    RealtimeEvent,
    ResponseEnded,
    ResponseStarted,
    SessionUpdate,
    SpeechStarted,
    SpeechStopped,
    ToolCall,
    Usage,
)

if TYPE_CHECKING:
    from google.genai import types

FINE = frozenset({"TURN_COMPLETE_REASON_UNSPECIFIED", "NEED_MORE_INPUT"})
REJECTED = "The voice provider gave no answer to this. Ask in other words."


@dataclass
class Normaliser:
    """Turns messages into events. ``dropping`` keeps silent about a response that nobody wants any more."""

    model: str
    dropping: bool = False
    response: str | None = None
    cancelled: set[str] = field(default_factory=set[str])
    waiting: set[str] = field(default_factory=set[str])
    _names: Iterator[int] = field(default_factory=lambda: count(1))
    _calls: set[str] = field(default_factory=set[str])
    _last: str | None = None
    _heard: str = ""
    _said: str = ""

    def events(self, message: types.LiveServerMessage) -> Iterator[RealtimeEvent]:
        """Our events of one message; what it holds beside that is not looked at."""
        activity = message.voice_activity.voice_activity_type if message.voice_activity else None
        if activity is not None and activity.value in ("ACTIVITY_START", "ACTIVITY_END"):
            yield SpeechStarted() if activity.value == "ACTIVITY_START" else SpeechStopped()
        if message.server_content is not None:
            yield from self._content(message.server_content)
        if message.tool_call is not None:
            yield from self._tools(message.tool_call.function_calls or [])
        if message.tool_call_cancellation is not None:
            self.cancelled.update(message.tool_call_cancellation.ids or ())
        if message.usage_metadata is not None:
            tokens = message.usage_metadata
            yield Usage(
                response_id=self.response or self._last,
                model=self.model,
                input_tokens=tokens.prompt_token_count,
                output_tokens=tokens.response_token_count,
            )
        update = message.session_resumption_update
        if update is not None and update.resumable and update.new_handle:
            yield SessionUpdate(resumption_handle=update.new_handle)
        if message.go_away is not None:
            yield GoAway(time_left_s=seconds(message.go_away.time_left))

    def _content(self, content: types.LiveServerContent) -> Iterator[RealtimeEvent]:
        heard, said = content.input_transcription, content.output_transcription
        if heard is not None:
            yield from self._hear(heard.text or "", finished=bool(heard.finished))
        if content.interrupted:
            yield Interrupted()
            yield from self._end("cancelled")
        for part in (content.model_turn.parts or []) if content.model_turn else []:
            if part.thought:
                continue
            if part.inline_data is not None and part.inline_data.data:
                yield from self._begin()
                yield from self._unless_dropped(AudioDelta(data=part.inline_data.data))
            if part.text:
                yield from self._say(part.text)
        if said is not None and said.text:
            yield from self._say(said.text)
        if content.turn_complete:
            yield from self._hear("", finished=True)
            reason = content.turn_complete_reason
            if reason is not None and reason.value not in FINE:
                yield Failure(code="rejected", message=REJECTED)
                yield from self._begin()
            yield from self._end("completed")

    def _hear(self, text: str, *, finished: bool) -> Iterator[RealtimeEvent]:
        self._heard += text
        if finished:
            whole, self._heard = self._heard, ""
            if whole.strip():
                yield InputTranscript(text=whole, finished=True)
        elif text:
            yield InputTranscript(text=text)

    def _begin(self) -> Iterator[RealtimeEvent]:
        if self.response is None:
            yield from self._hear("", finished=True)
            self.response = f"response-{next(self._names)}"
            yield ResponseStarted(response_id=self.response)

    def _say(self, text: str) -> Iterator[RealtimeEvent]:
        yield from self._begin()
        self._said += text
        yield from self._unless_dropped(OutputTranscript(text=text))

    def _unless_dropped(self, event: RealtimeEvent) -> Iterator[RealtimeEvent]:
        if not self.dropping:
            yield event

    def _end(self, status: Literal["completed", "cancelled"], calls: tuple[str, ...] = ()) -> Iterator[RealtimeEvent]:
        response, self._last, self.response = self.response, self.response or self._last, None
        said, self._said = self._said, ""
        dropped, self.dropping = self.dropping, False
        if response is None:
            return
        if said.strip() and status == "completed" and not dropped:
            yield OutputTranscript(text=said, finished=True)
        yield ResponseEnded(response_id=response, status="cancelled" if dropped else status, calls=calls)

    def _tools(self, calls: list[types.FunctionCall]) -> Iterator[RealtimeEvent]:
        yield from self._begin()
        ids: list[str] = []
        for call in calls:
            call_id = call.id or f"call-{next(self._names)}"
            if call_id in self._calls:
                continue
            self._calls.add(call_id)
            self.waiting.add(call_id)
            ids.append(call_id)
            yield ToolCall(id=call_id, name=call.name or "", args=call.args or {})
        yield from self._end("completed", tuple(ids))


def seconds(duration: str | None) -> float | None:
    """``"9.5s"`` as seconds, None where it is no duration."""
    if duration is None or not duration.endswith("s"):
        return None
    try:
        value = float(duration[:-1])
    except ValueError:
        return None
    return value if math.isfinite(value) and value >= 0 else None
