"""A provider's own types, read strictly: a field that they do not name is an error."""

from __future__ import annotations

import functools
import types
import typing
from typing import Any, cast

from openai import BaseModel as ProviderModel
from openai.types.realtime import RealtimeClientEvent, RealtimeServerEvent
from pydantic import BaseModel, ConfigDict, create_model


@functools.cache
def strict(kind: Any) -> Any:
    """``kind`` with every model in it deaf to nothing and lenient to nothing."""
    known: Any = kind
    if isinstance(kind, type) and issubclass(kind, ProviderModel):
        fields: dict[str, Any] = {name: (strict(info.annotation), info) for name, info in kind.model_fields.items()}
        return create_model(
            kind.__name__, __config__=ConfigDict(extra="forbid", strict=True, protected_namespaces=()), **fields
        )
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is typing.Annotated:
        return strict(arguments[0])
    if origin in (typing.Union, types.UnionType):
        return typing.Union[tuple(strict(argument) for argument in arguments)]  # noqa: UP007
    if origin in (list, dict):
        container: Any = origin
        return container[tuple(strict(argument) for argument in arguments)]
    return known


def _kinds(union: Any) -> dict[str, Any]:
    models = typing.get_args(typing.get_args(union)[0])
    return {typing.get_args(model.model_fields["type"].annotation)[0]: model for model in models}


SERVER_EVENTS = _kinds(RealtimeServerEvent)
CLIENT_EVENTS = _kinds(RealtimeClientEvent)


def check_event(event: dict[str, Any], kinds: dict[str, Any] = SERVER_EVENTS) -> BaseModel:
    """The event as the provider's type of its name reads it, strictly; ``AssertionError`` or ``ValidationError``."""
    kind = kinds.get(event["type"])
    assert kind is not None, f"the provider knows no event {event['type']!r}"
    return cast(BaseModel, strict(kind).model_validate(event))
