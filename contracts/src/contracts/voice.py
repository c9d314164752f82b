"""The voice signalling that the page needs before any audio flows; names follow the OpenAI Realtime API."""

from __future__ import annotations

from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field

from contracts.vocabulary import Count, JsonObject, Message, Timestamp

CREDENTIAL_LIFETIME_S = 60
CREDENTIAL_PATTERN = r"^ek_[A-Za-z0-9_-]{20,}$"


class ClientSecretRequested(Message):
    """``POST /v1/realtime/client_secrets``: a credential for one connection, bound to a chat."""

    chat_id: UUID | None = Field(default=None, description="null: the gateway makes one")
    expires_after: JsonObject | None = None
    session: JsonObject = Field(default_factory=dict)


class ClientSecret(Message):
    """The credential (``ek_...``), good for one connection within its lifetime."""

    value: Annotated[str, Field(pattern=CREDENTIAL_PATTERN)]
    expires_at: Count = Field(description="Unix seconds")
    session: JsonObject
    voice: Literal["simulated", "local", "openai", "gemini"]
    url: str | None = Field(
        default=None,
        description="where the provider holds the session: WebSockets there, SDP offers at `{url}/calls`;"
        " null: at /v1/realtime of whoever gave the credential",
    )
    chat_id: UUID


class TimelineEvent(Message):
    """Something that happened in a call, as the page or the gateway saw it."""

    name: str
    at: Timestamp
    turn_id: UUID | None = None


class Timeline(Message):
    """``POST /calls/{id}/timeline``: what the page saw, to join the turn's trace."""

    events: tuple[TimelineEvent, ...] = Field(max_length=1000)
