"""What a provider of live sessions is to the rest of the gateway (L1)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from contracts.vocabulary import JsonObject
from voice_gateway.live.config import RealtimeConfig
from voice_gateway.live.events import RealtimeEvent

Activity = Literal["start", "end", "cancel"]
"""A turn that is marked by hand begins, ends, or is forgotten."""


@dataclass(frozen=True, slots=True)
class Capabilities:
    """How a provider differs from the others, as data.

    ``input_rate`` and ``output_rate`` are samples a second of mono PCM16. ``session_s`` is the longest life of one
    connection in seconds, None without a limit. ``answers_tools`` says that the provider begins the response after a
    tool turn by itself, once every call has its result. ``changes_agent`` says that instructions and tools can change
    within a connection, ``changes_voice`` that the voice can too; otherwise a handoff opens a new one.
    ``orchestrates`` says that it runs its tools and changes its agents by itself, and only tells of them.
    """

    provider: Literal["openai", "gemini", "local"]
    input_rate: int
    output_rate: int
    images: bool = False
    resumption: bool = False
    truncation: bool = False
    answers_tools: bool = False
    changes_agent: bool = False
    changes_voice: bool = False
    orchestrates: bool = False
    session_s: float | None = None


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as a model is told of it; ``parameters`` is a JSON Schema of an object."""

    name: str
    description: str
    parameters: JsonObject


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a conversation, for a session that is to know what was said before it."""

    role: Literal["user", "assistant"]
    text: str


class ToolError(Exception):
    """Why a tool gives no result, in a plain sentence that the model is told as it stands."""


class Toolbox(Protocol):
    """The tools of an agent, already bound to the person and the chat of the session."""

    def specs(self, tags: Sequence[str] | None = None) -> Sequence[ToolSpec]:
        """The tools that carry one of ``tags``; all of them with None."""
        ...

    async def call(self, name: str, args: JsonObject) -> JsonObject:
        """Run one tool; :class:`ToolError` where it can say why it has no result, anything else where it cannot."""
        ...


class TranscriptStore(Protocol):
    """Where the complete lines of a session's turns are kept (L5)."""

    async def store(self, turn: int, line: Line) -> None:
        """Keep one line of turn ``turn``; a failure is logged and stops no session."""
        ...


@dataclass(frozen=True, slots=True)
class Part:
    """What an agent brings with it when it takes the floor. ``voice`` None keeps the voice of the agent before it."""

    agent: str
    instructions: tuple[str, ...]
    tools: Toolbox
    voice: str | None = None
    shares_context: bool = True
    reason: str = ""


class RealtimeClient(Protocol):
    """One session with a provider: one connection at a time, opened anew after each ``close``.

    Only one task sends at a time. A connection that ends raises :class:`~voice_gateway.live.errors.ConnectionLost` from
    ``receive``; what the provider refuses for good (a key, a model) raises
    :class:`~voice_gateway.live.errors.SessionRefused` from ``connect``.
    """

    capabilities: Capabilities

    async def connect(self, config: RealtimeConfig, tools: Sequence[ToolSpec], resume_handle: str | None) -> None:
        """Open a connection whose instructions are ``config.instructions``; with a handle go on with that session."""
        ...

    async def update(self, config: RealtimeConfig, tools: Sequence[ToolSpec]) -> None:
        """Change instructions, voice and tools of the open connection; only where ``changes_agent``."""
        ...

    async def send_audio(self, pcm: bytes) -> None:
        """Sound of the person, at the ``input_rate``."""
        ...

    async def send_text(self, text: str) -> None:
        """A turn of the person in writing, which is to be answered."""
        ...

    async def send_image(self, data: bytes, mime_type: str) -> None:
        """A picture; only where ``images``."""
        ...

    async def send_activity(self, kind: Activity) -> None:
        """The person begins or ends a turn by hand, or thinks better of it; only where ``vad.enabled`` is off."""
        ...

    async def send_tool_result(self, call_id: str, name: str, result: JsonObject) -> None:
        """The result of a tool call. It starts no response where ``answers_tools`` is off."""
        ...

    async def respond(self) -> None:
        """Ask for the response that follows a tool turn; nothing where ``answers_tools``."""
        ...

    async def interrupt(self, played_ms: int | None = None) -> None:
        """Stop the response in work, if there is one; ``played_ms`` of its sound were played where that is known."""
        ...

    async def reseed(self, lines: Sequence[Line]) -> None:
        """Tell a fresh connection what was said before, without an answer to it."""
        ...

    def receive(self) -> AsyncIterator[RealtimeEvent]:
        """The events of the open connection, until it is lost or closed."""
        ...

    async def close(self) -> None:
        """Close the connection, within 2 s; may be called more than once."""
        ...
