"""OpenAI's Realtime events in our own words, one connection's worth of them (L1).

They may come twice, in another order, in kinds that nobody knows yet, or broken; none of it stops a session.
https://platform.openai.com/docs/api-reference/realtime-server-events
"""

from __future__ import annotations

import base64
import binascii
import json
import logging
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal, cast

from contracts.vocabulary import JsonObject
from voice_gateway.live.clients.openai_errors import UNKNOWN, meaning_of
from voice_gateway.live.errors import ConnectionLost, SessionRefused
from voice_gateway.live.events import (
    AudioDelta,
    Failure,
    InputTranscript,
    Interrupted,
    OutputTranscript,
    RealtimeEvent,
    ResponseEnded,
    ResponseStarted,
    SpeechStarted,
    SpeechStopped,
    ToolCall,
    Usage,
)

log = logging.getLogger(__name__)

REMEMBERED = 4_096
BYTES_A_MS = 48
Status = Literal["completed", "cancelled", "incomplete", "failed"]
STATUSES: dict[str, Status] = {
    "completed": "completed",
    "cancelled": "cancelled",
    "incomplete": "incomplete",
    "failed": "failed",
}


class Seen:
    """The last names of a kind, so that a second coming is known as one."""

    def __init__(self) -> None:
        self._order: deque[str] = deque(maxlen=REMEMBERED)
        self._names: set[str] = set()

    def again(self, name: str) -> bool:
        """Whether the name came before; a name without letters never did."""
        if not name:
            return False
        if name in self._names:
            return True
        if len(self._order) == REMEMBERED:
            self._names.discard(self._order[0])
        self._order.append(name)
        self._names.add(name)
        return False


@dataclass
class Spoken:
    """The last sound of the agent: its item, and how much there is of it since when."""

    item_id: str
    content_index: int
    began: float
    bytes: int = 0

    @property
    def ms(self) -> int:
        """How long the sound is, in whole milliseconds."""
        return self.bytes // BYTES_A_MS


@dataclass
class Normaliser:
    """Turns raw messages into events. ``now`` is a clock in seconds, by which sound that still plays is told."""

    model: str
    transcription_model: str
    now: Callable[[], float]
    output_transcription: bool = True
    interrupts: bool = True
    active: str | None = None
    spoken: Spoken | None = None
    _seen: Seen = field(default_factory=Seen)
    _calls: Seen = field(default_factory=Seen)
    _responses: Seen = field(default_factory=Seen)
    _heard: Seen = field(default_factory=Seen)
    _held: dict[str, list[str]] = field(default_factory=dict[str, list[str]])

    def read(self, message: bytes) -> JsonObject | None:
        """The event in a message; None when it is none, or came before."""
        try:
            event = json.loads(message)
        except (ValueError, RecursionError):
            log.warning("the voice provider sent a message that is no JSON", extra={"bytes": len(message)})
            return None
        if not isinstance(event, dict):
            return None
        known = cast(JsonObject, event)
        return None if self._seen.again(_text(known, "event_id")) else known

    def events(self, event: JsonObject) -> Iterator[RealtimeEvent]:
        """Our events of one of the provider's; none for a kind that nobody knows.

        :class:`ConnectionLost` where it says that the connection is at its end.
        """
        response_id = _text(event, "response_id")
        match event.get("type"):
            case "response.created":
                yield from self._created(_object(event, "response"))
            case "response.output_audio.delta" | "response.audio.delta":
                yield from self._sound(event)
            case "response.output_audio_transcript.delta" | "response.audio_transcript.delta":
                yield from self._said(_text(event, "delta"), finished=False)
            case "response.output_audio_transcript.done" | "response.audio_transcript.done":
                yield from self._said(_text(event, "transcript"), finished=True)
            case "response.output_text.delta" | "response.text.delta":
                yield OutputTranscript(text=_text(event, "delta"))
            case "response.output_text.done" | "response.text.done":
                yield OutputTranscript(text=_text(event, "text"), finished=True)
            case "response.output_item.done":
                yield from self._item(response_id, _object(event, "item"))
            case "response.done":
                yield from self._done(_object(event, "response"))
            case "input_audio_buffer.speech_started":
                yield SpeechStarted()
                if self.interrupts and self.sounding:
                    yield Interrupted()
            case "input_audio_buffer.speech_stopped":
                yield SpeechStopped()
            case "conversation.item.input_audio_transcription.delta":
                yield InputTranscript(text=_text(event, "delta"))
            case "conversation.item.input_audio_transcription.completed":
                yield from self._understood(event)
            case "conversation.item.input_audio_transcription.failed":
                if not self._heard.again(_text(event, "item_id")):
                    yield InputTranscript(text="", finished=True)
                    yield Failure(code="transcription_failed", message="What was said could not be written down.")
            case "error":
                yield from self._error(_object(event, "error"))
            case _:
                pass

    @property
    def sounding(self) -> bool:
        """Whether a response is in work, or the last one's sound still plays if it was played as it came."""
        spoken = self.spoken
        return self.active is not None or (spoken is not None and self.now() < spoken.began + spoken.ms / 1000)

    def _created(self, response: JsonObject) -> Iterator[RealtimeEvent]:
        response_id = _text(response, "id")
        if response_id and not self._responses.again(response_id):
            self.active = response_id
            yield ResponseStarted(response_id=response_id)

    def _sound(self, event: JsonObject) -> Iterator[RealtimeEvent]:
        try:
            pcm = binascii.a2b_base64(_text(event, "delta"), strict_mode=True)
        except (binascii.Error, ValueError):
            log.warning("the voice provider sent sound that is no base64")
            return
        item_id = _text(event, "item_id")
        if self.spoken is None or self.spoken.item_id != item_id:
            self.spoken = Spoken(item_id, _number(event, "content_index") or 0, self.now())
        self.spoken.bytes += len(pcm)
        yield AudioDelta(data=pcm)

    def _said(self, text: str, *, finished: bool) -> Iterator[RealtimeEvent]:
        if self.output_transcription:
            yield OutputTranscript(text=text, finished=finished)

    def _item(self, response_id: str, item: JsonObject) -> Iterator[RealtimeEvent]:
        call_id = _text(item, "call_id")
        if item.get("type") != "function_call" or item.get("status") == "incomplete" or self._calls.again(call_id):
            return
        self._held.setdefault(response_id, []).append(call_id)
        yield ToolCall(id=call_id, name=_text(item, "name"), args=_arguments(_text(item, "arguments")))

    def _done(self, response: JsonObject) -> Iterator[RealtimeEvent]:
        response_id = _text(response, "id")
        if not response_id or self._responses.again(f"end of {response_id}"):
            return
        if not self._responses.again(response_id):
            yield ResponseStarted(response_id=response_id)
        status = STATUSES.get(_text(response, "status"), "completed")
        if status == "completed":
            for item in _objects(response, "output"):
                yield from self._item(response_id, item)
        if self.active == response_id:
            self.active = None
        calls = tuple(self._held.pop(response_id, ()))
        usage = _object(response, "usage")
        if usage:
            tokens = _number(usage, "input_tokens"), _number(usage, "output_tokens")
            yield Usage(response_id=response_id, model=self.model, input_tokens=tokens[0], output_tokens=tokens[1])
        yield from self._why(status, _object(response, "status_details"))
        yield ResponseEnded(response_id=response_id, status=status, calls=calls)

    def _why(self, status: Status, details: JsonObject) -> Iterator[RealtimeEvent]:
        if status == "failed":
            yield from self._error(_object(details, "error"))
        elif status == "incomplete":
            yield from self._error({"code": details.get("reason")})

    def _understood(self, event: JsonObject) -> Iterator[RealtimeEvent]:
        if self._heard.again(_text(event, "item_id")):
            return
        yield InputTranscript(text=_text(event, "transcript"), finished=True)
        usage = _object(event, "usage")
        tokens = _number(usage, "input_tokens"), _number(usage, "output_tokens")
        if tokens != (None, None):
            yield Usage(model=self.transcription_model, input_tokens=tokens[0], output_tokens=tokens[1])

    def _error(self, error: JsonObject) -> Iterator[RealtimeEvent]:
        code = error.get("code")
        meaning = meaning_of(code if isinstance(code, str) else None)
        if isinstance(meaning, ConnectionLost):
            raise meaning
        if meaning is not None:
            log.warning("the voice provider reported an error", extra={"code": meaning.code})
            fatal = isinstance(meaning, SessionRefused)
            yield Failure(code=meaning.code, message=meaning.message or UNKNOWN, fatal=fatal)


def _arguments(text: str) -> JsonObject | None:
    try:
        arguments: Any = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return cast(JsonObject, arguments) if isinstance(arguments, dict) else None


def _text(event: JsonObject, name: str) -> str:
    value = event.get(name)
    return value if isinstance(value, str) else ""


def _number(event: JsonObject, name: str) -> int | None:
    value = event.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _object(event: JsonObject, name: str) -> JsonObject:
    value = event.get(name)
    return cast(JsonObject, value) if isinstance(value, dict) else {}


def _objects(event: JsonObject, name: str) -> list[JsonObject]:
    value = event.get(name)
    items = cast("list[object]", value) if isinstance(value, list) else []
    return [cast(JsonObject, item) for item in items if isinstance(item, dict)]


def encoded(pcm: bytes) -> str:
    """Sound as the protocol carries it."""
    return base64.b64encode(pcm).decode("ascii")
