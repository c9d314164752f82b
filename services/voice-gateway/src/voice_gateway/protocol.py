"""The text part of the OpenAI Realtime protocol: the client's events as they are read, ours as they are written.

The shapes are those of the provider's published event types. A client's unknown fields are ignored and its unknown
event types are an error that it is told of. What we write are plain JSON objects; tests hold each against the
provider's own types.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, cast

from pydantic import Field, StringConstraints, TypeAdapter, ValidationError
from pydantic_core import from_json

from contracts.vocabulary import JsonObject, Message
from voice_gateway.errors import AudioNotHere, EventError

Id = Annotated[str, StringConstraints(min_length=1, max_length=64)]
Metadata = Annotated[
    dict[
        Annotated[str, StringConstraints(max_length=64)],
        Annotated[str, StringConstraints(max_length=512)],
    ],
    Field(max_length=16),
]
DEFAULT_MODEL = "talkdown"
AUDIO_EVENTS = frozenset(
    {
        "input_audio_buffer.append",
        "input_audio_buffer.clear",
        "input_audio_buffer.commit",
        "output_audio_buffer.clear",
        "conversation.item.truncate",
    }
)


class SessionConfig(Message):
    """The settings of a session that this gateway keeps to; what else a client sets does not come back to it."""

    type: Literal["realtime"] = "realtime"
    model: Annotated[str, StringConstraints(min_length=1, max_length=128)] = DEFAULT_MODEL
    output_modalities: tuple[Literal["text", "audio"], ...] = ("text",)

    def wire(self) -> JsonObject:
        """As ``session`` of an event."""
        return {"type": self.type, "model": self.model, "output_modalities": list(self.output_modalities)}


class Content(Message):
    """One part of an item's content; only text is kept."""

    type: Literal["input_text", "output_text", "text", "input_audio", "output_audio", "audio", "input_image"]
    text: str | None = None


class NewItem(Message):
    """A message that a client adds to the conversation."""

    type: Literal["message"]
    role: Literal["user", "assistant", "system"]
    content: Annotated[tuple[Content, ...], Field(min_length=1, max_length=64)]
    id: Id | None = None


class ResponseWanted(Message):
    """What a client says of the response that it wants."""

    conversation: str | None = None
    input: tuple[object, ...] | None = None
    metadata: Metadata | None = None
    output_modalities: tuple[Literal["text", "audio"], ...] | None = None


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


AnyClientEvent = SessionUpdate | ItemCreate | ItemRetrieve | ItemDelete | ResponseCreate | ResponseCancel
_KINDS: Mapping[str, TypeAdapter[AnyClientEvent]] = {
    "session.update": TypeAdapter(SessionUpdate),
    "conversation.item.create": TypeAdapter(ItemCreate),
    "conversation.item.retrieve": TypeAdapter(ItemRetrieve),
    "conversation.item.delete": TypeAdapter(ItemDelete),
    "response.create": TypeAdapter(ResponseCreate),
    "response.cancel": TypeAdapter(ResponseCancel),
}


def read(message: str | bytes) -> AnyClientEvent:
    """The client's event in ``message`` (JSON); :class:`EventError` says what is wrong with it, and with which."""
    try:
        raw: object = from_json(message, allow_inf_nan=False)
    except ValueError as error:
        raise EventError("invalid_json", "An event is one JSON object, and this is not JSON.") from error
    if not isinstance(raw, dict):
        raise EventError("invalid_json", "An event is one JSON object, and this is another JSON value.")
    event = cast(JsonObject, raw)
    event_id = _event_id(event)
    try:
        return _read(event)
    except EventError as error:
        error.event_id = event_id
        raise


def _read(event: JsonObject) -> AnyClientEvent:
    kind: object = event.get("type")
    if not isinstance(kind, str):
        raise EventError("missing_type", "An event names its kind in `type`.", param="type")
    if kind in AUDIO_EVENTS:
        raise AudioNotHere("type")
    adapter = _KINDS.get(kind)
    if adapter is None:
        raise EventError(
            "unknown_event", f"There is no event {kind[:80]!r} here; there are: {', '.join(_KINDS)}.", param="type"
        )
    try:
        return adapter.validate_python(event)
    except ValidationError as error:
        raise _invalid(error, "") from error


def updated(config: SessionConfig, patch: JsonObject, *, model: str | None = None) -> SessionConfig:
    """``config`` with what ``patch`` changes, or an :class:`EventError`; ``model`` wins over both."""
    kept: JsonObject = {name: patch[name] for name in SessionConfig.model_fields if patch.get(name) is not None}
    if kept.get("type", "realtime") == "transcription":
        raise EventError("not_supported", "Sessions that only transcribe are not served here.", param="session.type")
    try:
        new = SessionConfig.model_validate({**config.model_dump(), **kept, **({"model": model} if model else {})})
    except ValidationError as error:
        raise _invalid(error, "session.") from error
    require_text(new.output_modalities, "session.output_modalities")
    return new


def require_text(modalities: Sequence[str] | None, param: str) -> None:
    """Refuse modalities other than text alone; None leaves them as they are."""
    if modalities is not None and "audio" in modalities:
        raise AudioNotHere(param)
    if modalities is not None and list(modalities) != ["text"]:
        raise EventError("invalid_value", 'The one modality of this voice is `["text"]`.', param=param)


def _event_id(event: JsonObject) -> str | None:
    value: object = event.get("event_id")
    return value if isinstance(value, str) and len(value) <= 512 else None


def _invalid(error: ValidationError, prefix: str) -> EventError:
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    where = prefix + ".".join(str(part) for part in first["loc"])
    return EventError("invalid_value", f"`{where[:200]}` cannot be this: {first['msg'][:200]}.", param=where[:200])


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
