"""The provider's own event types, read strictly: a field that they do not name is an error."""

from __future__ import annotations

import functools
import types
import typing
from typing import Any, cast

from openai import BaseModel as ProviderModel
from openai.types.realtime import RealtimeServerEvent, RealtimeSessionCreateRequest
from pydantic import BaseModel, ConfigDict, create_model


@functools.cache
def _strict(kind: Any) -> Any:
    """``kind`` with every model in it deaf to nothing and lenient to nothing."""
    if isinstance(kind, type) and issubclass(kind, ProviderModel):
        fields: dict[str, Any] = {name: (_strict(info.annotation), info) for name, info in kind.model_fields.items()}
        return create_model(
            kind.__name__, __config__=ConfigDict(extra="forbid", strict=True, protected_namespaces=()), **fields
        )
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is typing.Annotated:
        return _strict(arguments[0])
    if origin in (typing.Union, types.UnionType):
        return typing.Union[tuple(_strict(argument) for argument in arguments)]  # noqa: UP007
    if origin in (list, dict):
        container: Any = origin
        return container[tuple(_strict(argument) for argument in arguments)]
    return kind


def _kinds() -> dict[str, Any]:
    union = typing.get_args(RealtimeServerEvent)[0]
    return {typing.get_args(model.model_fields["type"].annotation)[0]: model for model in typing.get_args(union)}


KINDS = _kinds()


def check(event: dict[str, Any]) -> BaseModel:
    """The event as the provider's type of its name reads it, strictly."""
    kind = KINDS.get(event["type"])
    assert kind is not None, f"the provider knows no event {event['type']!r}"
    return cast(BaseModel, _strict(kind).model_validate(event))


def check_session(session: dict[str, Any]) -> BaseModel:
    """The session that is asked of the provider, as its type reads it, strictly."""
    return cast(BaseModel, _strict(RealtimeSessionCreateRequest).model_validate(session))
