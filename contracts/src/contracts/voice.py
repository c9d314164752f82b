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
    bridge: bool = Field(default=False, description="for /v1/graph/live, which is held here whoever the provider is")


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


class LiveScenario(Message):
    """Agents that may hold a live session together; ``start`` begins."""

    name: str
    start: str
    agents: tuple[str, ...]


class LeavesInCalls(Message):
    """What goes to a provider from calls that the server holds, answered in one way; ``voice`` takes the others along.

    ``questions`` travel with passages of the notes. Of a cascade it says too that a model writes its answers.
    """

    orchestrator: Literal["cascade", "live"]
    what: Literal["questions", "voice"]
    to: str


class LiveOffer(Message):
    """``GET /v1/graph/live``: what the first frame of a live session may name, the usual first.

    Without an orchestrator no session is held.
    """

    orchestrators: tuple[str, ...] = ()
    providers: tuple[str, ...] = ()
    scenarios: tuple[LiveScenario, ...] = ()
    leaves: tuple[LeavesInCalls, ...] = ()
    problem: str | None = Field(default=None, description="why the scenario of the settings, or the notes, is not used")


class TimelineEvent(Message):
    """Something that happened in a call, as the page or the gateway saw it."""

    name: str
    at: Timestamp
    turn_id: UUID | None = None


class Timeline(Message):
    """``POST /calls/{id}/timeline``: what the page saw, to join the turn's trace."""

    events: tuple[TimelineEvent, ...] = Field(max_length=1000)
