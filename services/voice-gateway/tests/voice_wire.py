"""What the gateway emits and asks for, as the provider's own types read it, strictly."""

from __future__ import annotations

from typing import Any, cast

from openai.types.realtime import RealtimeSessionCreateRequest
from pydantic import BaseModel
from strict_types import check_event, strict


def check(event: dict[str, Any]) -> BaseModel:
    """The event as the provider's type of its name reads it, strictly."""
    return check_event(event)


def check_session(session: dict[str, Any]) -> BaseModel:
    """The session that is asked of the provider, as its type reads it, strictly."""
    return cast(BaseModel, strict(RealtimeSessionCreateRequest).model_validate(session))
