"""What both orchestrators take, give, and keep between turns (O3)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol
from uuid import UUID

from contracts.vocabulary import JsonObject
from voice_gateway.live.config import RealtimeConfig
from voice_gateway.live.events import RealtimeEvent
from voice_gateway.live.port import Line

OWNER = "owner"
"""The person of an installation that tells people not apart."""


@dataclass(frozen=True, slots=True)
class Opening:
    """How a session is opened (O7). What is None is the gateway's own choice.

    ``scenario`` is the name of one that the gateway offers, ``agent`` the one that starts where the chat has none yet.
    ``phrases`` are words for the ears beside those of the notes. ``fields`` fill ``{field}`` in the agents' texts.
    ``played_ms`` says how much of the newest response the person has really heard.
    """

    chat_id: UUID
    call_id: str | None = None
    user_id: str = OWNER
    orchestrator: Literal["cascade", "live"] | None = None
    provider: Literal["local", "openai", "gemini"] | None = None
    scenario: str | None = None
    agent: str | None = None
    retrieval: bool = True
    phrases: tuple[str, ...] = ()
    config: RealtimeConfig = field(default_factory=RealtimeConfig)
    fields: Mapping[str, str] = field(default_factory=dict[str, str])
    traceparent: str | None = None
    played_ms: Callable[[], int | None] = lambda: None


@dataclass(frozen=True, slots=True)
class Context:
    """What a turn is answered from. ``memory`` holds recalled lines, the most telling first.

    What of ``metadata`` is text fills ``{field}`` in the instructions, before the session's own fields.
    """

    chat_id: UUID
    user_text: str
    history: tuple[Line, ...] = ()
    metadata: JsonObject = field(default_factory=dict[str, object])
    memory: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Called:
    """One tool call of a turn and what became of it."""

    id: str
    name: str
    args: JsonObject
    result: JsonObject
    failed: bool = False


@dataclass(frozen=True, slots=True)
class Result:
    """How a turn was answered. ``new_agent`` has the floor from now on where ``handoff`` is true.

    ``metadata`` holds the session's ``tokens`` by agent and model; with our own agent the ``turn_id`` and ``trace_id``.
    """

    text: str
    agent: str
    calls: tuple[Called, ...] = ()
    handoff: bool = False
    new_agent: str | None = None
    metadata: JsonObject = field(default_factory=dict[str, object])


@dataclass(frozen=True, slots=True)
class State:
    """What outlives a turn, and a session: kept with the chat. ``pending`` is a handoff that is still to be made."""

    active: str | None = None
    visited: tuple[str, ...] = ()
    pending: str | None = None
    resume_handle: str | None = None


class States(Protocol):
    """Where the state of a chat is kept."""

    async def load(self, chat_id: UUID) -> State:
        """The stored state; a fresh one where there is none, or where it cannot be had."""
        ...

    async def save(self, chat_id: UUID, state: State) -> None:
        """Store it; a failure is logged and stops no session."""
        ...


Ended = Callable[[str, Result, bool], None]
"""A turn is over: what the person said, how it was answered, and whether it was interrupted. It does not wait."""


def no_one(said: str, result: Result, interrupted: bool) -> None:
    """Nobody is told of ended turns."""


Tell = Callable[[RealtimeEvent], None]
"""Takes what the person's client is to know of a turn: its id, the tools called, the agent at work, the tokens."""


class Speak(Protocol):
    """Takes the next chunk that is to be spoken, in order; waits while too much is still unspoken."""

    async def __call__(self, text: str, voice: str | None = None) -> None:
        """Say ``text``, in the ``voice`` of the agent that says it; None is the session's."""
        ...


class Cascade(Protocol):
    """Speech-to-text, agent, text-to-speech: one turn at a time."""

    @property
    def active(self) -> str:
        """The agent that has the floor."""
        ...

    async def process_turn(self, context: Context, speak: Speak, tell: Tell) -> Result:
        """Answer one turn, and speak it chunk by chunk while it is written; cancelling it is an interruption.

        ``tell`` hears of the turn's id as soon as it has one (``turn`` is numbered by who reads), of tools, of tokens,
        and of another agent before its first chunk.
        """
        ...

    def heard(self, text: str) -> None:
        """Of what the newest turn spoke, the person heard ``text``, its chunks joined by a space; told before it is
        cancelled, and when it was interrupted after its end."""
        ...
