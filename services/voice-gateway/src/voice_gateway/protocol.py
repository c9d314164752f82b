"""The OpenAI Realtime protocol: the client's events as they are read, ours as they are written.

The shapes are those of the provider's published event types. A client's unknown fields are ignored and its unknown
event types are an error that it is told of. What we write are plain JSON objects; tests hold each against the
provider's own types.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, cast

from pydantic import Field, StringConstraints, TypeAdapter, ValidationError
from pydantic_core import from_json

from contracts.vocabulary import JsonObject, Message
from voice_gateway.errors import AudioNotHere, EventError
from voice_gateway.session_config import invalid

Id = Annotated[str, StringConstraints(min_length=1, max_length=64)]
Metadata = Annotated[
    dict[
        Annotated[str, StringConstraints(max_length=64)],
        Annotated[str, StringConstraints(max_length=512)],
    ],
    Field(max_length=16),
]
AUDIO_EVENTS = frozenset(
    {
        "input_audio_buffer.append",
        "input_audio_buffer.clear",
        "input_audio_buffer.commit",
        "output_audio_buffer.clear",
        "conversation.item.truncate",
    }
)


class Content(Message):
    """One part of an item's content; ``audio`` is base64."""

    type: Literal["input_text", "output_text", "text", "input_audio", "output_audio", "audio", "input_image"]
    text: str | None = None
    audio: str | None = None
    transcript: str | None = None


class NewItem(Message):
    """A message that a client adds to the conversation."""

    type: Literal["message"]
    role: Literal["user", "assistant", "system"]
    content: Annotated[tuple[Content, ...], Field(min_length=1, max_length=64)]
    id: Id | None = None


class WantedOutput(Message):
    """How a response is to be spoken."""

    voice: str | JsonObject | None = None


class WantedAudio(Message):
    """The sound of a response."""

    output: WantedOutput = WantedOutput()


class ResponseWanted(Message):
    """What a client says of the response that it wants."""

    conversation: str | None = None
    input: tuple[object, ...] | None = None
    metadata: Metadata | None = None
    output_modalities: tuple[Literal["text", "audio"], ...] | None = None
    audio: WantedAudio | None = None


class ClientEvent(Message):
    """Anything a client says; ``event_id`` is its own name for it, and comes back in an error."""

    event_id: Annotated[str, StringConstraints(max_length=512)] | None = None


class SessionUpdate(ClientEvent):
    """``session.update``: the raw settings, read by :func:`updated`."""

    type: Literal["session.update"]
    session: JsonObject


class ItemCreate(ClientEvent):
    """``conversation.item.create``: at the end, behind ``previous_item_id``, or first when that is ``root``."""

    type: Literal["conversation.item.create"]
    item: NewItem
    previous_item_id: Id | None = None


def sound_in(event: ClientEvent) -> int:
    """The bytes of an event that are the sound of its item."""
    return sum(len(part.audio or "") for part in event.item.content) if isinstance(event, ItemCreate) else 0


class ItemRetrieve(ClientEvent):
    """``conversation.item.retrieve``."""

    type: Literal["conversation.item.retrieve"]
    item_id: Id


class ItemDelete(ClientEvent):
    """``conversation.item.delete``."""

    type: Literal["conversation.item.delete"]
    item_id: Id


class ResponseCreate(ClientEvent):
    """``response.create``: ask the agent about the last item."""

    type: Literal["response.create"]
    response: ResponseWanted | None = None


class ResponseCancel(ClientEvent):
    """``response.cancel``: of the named response, or of the one that is active."""

    type: Literal["response.cancel"]
    response_id: Id | None = None


class AudioAppend(ClientEvent):
    """``input_audio_buffer.append``: the next sound from the microphone, in base64."""

    type: Literal["input_audio_buffer.append"]
    audio: str


class AudioCommit(ClientEvent):
    """``input_audio_buffer.commit``: what was heard is an utterance."""

    type: Literal["input_audio_buffer.commit"]


class AudioClear(ClientEvent):
    """``input_audio_buffer.clear``: forget what was heard."""

    type: Literal["input_audio_buffer.clear"]


class OutputClear(ClientEvent):
    """``output_audio_buffer.clear``: be silent at once."""

    type: Literal["output_audio_buffer.clear"]


class ItemTruncate(ClientEvent):
    """``conversation.item.truncate``: of a spoken item only so much was heard."""

    type: Literal["conversation.item.truncate"]
    item_id: Id
    content_index: Annotated[int, Field(ge=0)]
    audio_end_ms: Annotated[int, Field(ge=0)]


AnyClientEvent = (
    SessionUpdate
    | ItemCreate
    | ItemRetrieve
    | ItemDelete
    | ItemTruncate
    | ResponseCreate
    | ResponseCancel
    | AudioAppend
    | AudioCommit
    | AudioClear
    | OutputClear
)
_KINDS: Mapping[str, TypeAdapter[AnyClientEvent]] = {
    "session.update": TypeAdapter(SessionUpdate),
    "conversation.item.create": TypeAdapter(ItemCreate),
    "conversation.item.retrieve": TypeAdapter(ItemRetrieve),
    "conversation.item.delete": TypeAdapter(ItemDelete),
    "conversation.item.truncate": TypeAdapter(ItemTruncate),
    "response.create": TypeAdapter(ResponseCreate),
    "response.cancel": TypeAdapter(ResponseCancel),
    "input_audio_buffer.append": TypeAdapter(AudioAppend),
    "input_audio_buffer.commit": TypeAdapter(AudioCommit),
    "input_audio_buffer.clear": TypeAdapter(AudioClear),
    "output_audio_buffer.clear": TypeAdapter(OutputClear),
}


def read(message: str | bytes, *, audible: bool) -> AnyClientEvent:
    """The client's event in ``message`` (JSON); :class:`EventError` says what is wrong with it, and with which.

    Without being ``audible`` a session takes no events about sound.
    """
    try:
        raw: object = from_json(message, allow_inf_nan=False)
    except ValueError as error:
        raise EventError("invalid_json", "An event is one JSON object, and this is not JSON.") from error
    if not isinstance(raw, dict):
        raise EventError("invalid_json", "An event is one JSON object, and this is another JSON value.")
    event = cast(JsonObject, raw)
    event_id = _event_id(event)
    try:
        return _read(event, audible)
    except EventError as error:
        error.event_id = event_id
        raise


def _read(event: JsonObject, audible: bool) -> AnyClientEvent:
    kind: object = event.get("type")
    if not isinstance(kind, str):
        raise EventError("missing_type", "An event names its kind in `type`.", param="type")
    if kind in AUDIO_EVENTS and not audible:
        raise AudioNotHere("type")
    adapter = _KINDS.get(kind)
    if adapter is None:
        raise EventError(
            "unknown_event", f"There is no event {kind[:80]!r} here; there are: {', '.join(_KINDS)}.", param="type"
        )
    try:
        return adapter.validate_python(event)
    except ValidationError as error:
        raise invalid(error, "") from error


def _event_id(event: JsonObject) -> str | None:
    value: object = event.get("event_id")
    return value if isinstance(value, str) and len(value) <= 512 else None


def failure(error: EventError) -> JsonObject:
    """An ``error`` event: the client's mistake, in words."""
    return _error("invalid_request_error", error.reason, error.message, error.param, error.event_id)


def refusal(code: str, message: str) -> JsonObject:
    """An ``error`` event that a connection ends with."""
    return _error("invalid_request_error", code, message, None, None)


def fault(event_id: str | None = None) -> JsonObject:
    """An ``error`` event: a mistake of ours; the session goes on."""
    return _error("server_error", "internal", "Something unexpected went wrong here; send it again.", None, event_id)


def _error(kind: str, code: str, message: str, param: str | None, event_id: str | None) -> JsonObject:
    detail = {"type": kind, "code": code, "message": message, "param": param, "event_id": event_id}
    return {"type": "error", "error": detail}


def item_event(name: Literal["added", "done"], item: JsonObject, previous: str | None) -> JsonObject:
    """``conversation.item.added`` or ``.done``."""
    return {"type": f"conversation.item.{name}", "previous_item_id": previous, "item": item}


def of_response(kind: str, response_id: str, **fields: Any) -> JsonObject:
    """An event of one response's only output item and its only content part."""
    return {"type": kind, "response_id": response_id, "output_index": 0, **fields}


def of_input(kind: str, item_id: str, **fields: Any) -> JsonObject:
    """An event of the input buffer that speaks of the item that it becomes."""
    return {"type": f"input_audio_buffer.{kind}", "item_id": item_id, **fields}


def transcription(kind: Literal["delta", "completed", "failed"], item_id: str, **fields: Any) -> JsonObject:
    """An event about the transcript of the first part of what the person said."""
    return {
        "type": f"conversation.item.input_audio_transcription.{kind}",
        "item_id": item_id,
        "content_index": 0,
        **fields,
    }
