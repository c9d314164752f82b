"""What passes over the bridge: the frame that opens a session, what a client says after it, what it is told.

::

    client --> {...}                                               first: how the session is to be
    client <-- {"type": "ready", ...}                              both rates, the session, what it can do
    client --> sound, PCM 16 bits mono 16 kHz, a binary frame      client <-- sound, PCM 16 bits mono 24 kHz
    client --> text, activity_start, _end, _cancel, interrupt, played, close
    client <-- every other event of a live session, as its fields are
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Literal, cast

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, TypeAdapter, ValidationError
from pydantic_core import from_json

from contracts.turns import MAX_QUESTION_LENGTH
from contracts.vocabulary import NO_NUL, JsonObject
from voice_gateway.live.config import RealtimeConfig
from voice_gateway.live.errors import InvalidConfig
from voice_gateway.live.events import Failure, RealtimeEvent
from voice_gateway.live.port import Capabilities

INPUT_RATE = 16_000
"""Samples a second of the sound that a client sends."""
MAX_FRAME_BYTES = 1_048_576
MAX_PHRASES = 1_000
MAX_PHRASE = 200

Name = Annotated[str, StringConstraints(min_length=1, max_length=64, pattern=r"^[\w.-]+$")]
Phrase = Annotated[str, StringConstraints(min_length=1, max_length=MAX_PHRASE), NO_NUL]
Ms = Annotated[int, Field(ge=0, le=86_400_000)]


class NotAnObject(ValueError):
    """The first frame is no JSON object."""


class BadMessage(Exception):
    """A client's message that is not understood; the session goes on. ``code`` and sentence are told."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code, self.message = code, message


class _Message(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Wanted(_Message):
    """The session that a client wants; whatever it leaves out is as the settings say.

    ``phrases`` are words to listen for, beside those of the notes. ``config`` holds what it changes of a session's
    :class:`~voice_gateway.live.config.RealtimeConfig`.
    """

    orchestrator: Literal["cascade", "live"] | None = None
    provider: Literal["local", "openai", "gemini"] | None = None
    scenario: Name | None = None
    agent: Name | None = None
    retrieval: bool = True
    phrases: Annotated[tuple[Phrase, ...], Field(max_length=MAX_PHRASES)] = ()
    config: RealtimeConfig = RealtimeConfig()


OWN_FIELDS = frozenset(Wanted.model_fields) - {"config"}


class Text(_Message):
    """A turn of the person in writing."""

    type: Literal["text"]
    text: str


class Activity(_Message):
    """The person begins a turn by hand, ends it, or thinks better of it."""

    type: Literal["activity_start", "activity_end", "activity_cancel"]


class Interrupt(_Message):
    """The person wants silence; ``played_ms`` of the response that speaks were played."""

    type: Literal["interrupt"]
    played_ms: Ms | None = None


class Played(_Message):
    """So much of a response was really played."""

    type: Literal["played"]
    response_id: Annotated[str, StringConstraints(max_length=512)]
    ms: Ms


class End(_Message):
    """The person is done: what is being said is said to its end."""

    type: Literal["close"]


Said = Text | Activity | Interrupt | Played | End
_said: TypeAdapter[Said] = TypeAdapter(Annotated[Said, Field(discriminator="type")])
KINDS = ("text", "activity_start", "activity_end", "activity_cancel", "interrupt", "played", "close")


def wanted(frame: str | bytes) -> Wanted:
    """The session that the first frame asks for.

    :class:`NotAnObject` when it is no JSON object, :class:`InvalidConfig` when a field of it is wrong.
    """
    if isinstance(frame, bytes):
        raise NotAnObject
    told = _object(frame)
    if told is None:
        raise NotAnObject
    own = {name: value for name, value in told.items() if name in OWN_FIELDS}
    rest = {name: value for name, value in told.items() if name not in OWN_FIELDS}
    if unknown := sorted(set(rest) - set(RealtimeConfig.model_fields)):
        known = ", ".join(sorted({*OWN_FIELDS, *RealtimeConfig.model_fields}))
        raise InvalidConfig(f"There is no setting `{unknown[0][:80]}`; there are: {known}.")
    try:
        return Wanted.model_validate({**own, "config": rest})
    except ValidationError as error:
        raise InvalidConfig(_first(error).replace("`config.", "`", 1)) from error


def read(frame: str) -> Said:
    """What a client says; :class:`BadMessage` says what is wrong with it."""
    told = _object(frame)
    if told is None:
        raise BadMessage("invalid_json", "A message is one JSON object; sound comes in binary frames.")
    kind = told.get("type")
    if kind not in KINDS:
        raise BadMessage("unknown_message", f"There is no message {str(kind)[:80]!r}; there are: {', '.join(KINDS)}.")
    try:
        said = _said.validate_python(told)
    except ValidationError as error:
        raise BadMessage("invalid_message", _first(error, below=1)) from error
    if isinstance(said, Text):
        _check(said.text)
    return said


def _check(text: str) -> None:
    if "\0" in text:
        raise BadMessage("invalid_message", "`text` holds the character NUL; leave it out.")
    if not text.strip():
        raise BadMessage("blank_question", "The question is blank; ask it in words.")
    if len(text) > MAX_QUESTION_LENGTH:
        raise BadMessage(
            "question_too_long",
            f"A question has at most {MAX_QUESTION_LENGTH:,} characters, and this one has {len(text):,}.",
        )


def _object(frame: str) -> JsonObject | None:
    try:
        told: object = from_json(frame, allow_inf_nan=False)
    except ValueError:
        return None
    return cast(JsonObject, told) if isinstance(told, dict) else None


def _first(error: ValidationError, below: int = 0) -> str:
    """The first mistake; its place is named from ``below`` on (a union's begins with the kind of message)."""
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    places = [str(part) for part in first["loc"][below:]]
    return f"`{'.'.join(places)[:200]}` cannot be this: {first['msg'].removeprefix('Value error, ')[:200]}."


def ready(about: Mapping[str, object], capabilities: Capabilities) -> str:
    """``ready``: what the session is, and what it can do."""
    can = {
        "images": capabilities.images,
        "resumption": capabilities.resumption,
        "truncation": capabilities.truncation,
        "changes_agent": capabilities.changes_agent,
    }
    return json.dumps({"type": "ready", **about, "capabilities": can}, ensure_ascii=False)


def written(event: RealtimeEvent) -> str:
    """An event as JSON; sound is no event here."""
    return event.model_dump_json()


def error(code: str, message: str, *, fatal: bool = False) -> Failure:
    """An ``error`` event."""
    return Failure(code=code, message=message, fatal=fatal)
