"""What a live session tells, in words that no provider owns (L1).

Sound is PCM, 16 bits little-endian, mono; on the wire of the bridge it travels as a binary frame and not in JSON.
"""

from __future__ import annotations

from typing import Annotated, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from contracts.vocabulary import JsonObject

OUTPUT_RATE = 24_000
"""Samples a second of the sound that a session gives."""


class _Event(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class AudioDelta(_Event):
    """The next piece of the agent's speech."""

    type: Literal["audio_delta"] = "audio_delta"
    data: bytes = Field(repr=False)
    sample_rate: int = OUTPUT_RATE


class InputTranscript(_Event):
    """What the person said: ``text`` is the next part, or the whole of the turn when ``finished``."""

    type: Literal["input_transcript"] = "input_transcript"
    text: str
    finished: bool = False


class OutputTranscript(_Event):
    """What the agent said: ``text`` is the next part, or the whole of the turn when ``finished``."""

    type: Literal["output_transcript"] = "output_transcript"
    text: str
    finished: bool = False


class SpeechStarted(_Event):
    """The person began to speak: playback falls silent at once."""

    type: Literal["speech_started"] = "speech_started"


class SpeechStopped(_Event):
    """The person fell silent; it may have been no utterance."""

    type: Literal["speech_stopped"] = "speech_stopped"


class SpeechDismissed(_Event):
    """What began as speech was none, or only signalled listening: playback goes on where it fell silent."""

    type: Literal["speech_dismissed"] = "speech_dismissed"


class ResponseStarted(_Event):
    """The model began a response; ``response_id`` is the provider's, or ours where the provider names none."""

    type: Literal["response_started"] = "response_started"
    response_id: str


class ResponseEnded(_Event):
    """A response is generated. ``calls`` are the tool calls it holds: with one it is a dispatch, and no turn ends."""

    type: Literal["response_ended"] = "response_ended"
    response_id: str
    status: Literal["completed", "cancelled", "incomplete", "failed"] = "completed"
    calls: tuple[str, ...] = ()


class ToolCall(_Event):
    """The model wants a tool; ``args`` is None when its arguments were no JSON object."""

    type: Literal["tool_call"] = "tool_call"
    id: str
    name: str
    args: JsonObject | None


class ToolResult(_Event):
    """A tool gave its result; the model has been sent it, unless the connection that asked for it is gone."""

    type: Literal["tool_result"] = "tool_result"
    id: str
    name: str
    result: JsonObject
    failed: bool = False


class TurnStarted(_Event):
    """A turn began; ``turn`` counts from 1. With our own agent it has a place among the chat's turns."""

    type: Literal["turn_started"] = "turn_started"
    turn: int
    turn_id: UUID | None = None
    trace_id: str | None = None


class TurnComplete(_Event):
    """The turn's last response has ended, and no tool is at work."""

    type: Literal["turn_complete"] = "turn_complete"
    turn: int


class Interrupted(_Event):
    """The person spoke while the agent did: what is not yet played is to be thrown away."""

    type: Literal["interrupted"] = "interrupted"


class Usage(_Event):
    """Tokens of one response as the provider counted them; None where it told nothing."""

    type: Literal["usage"] = "usage"
    response_id: str | None = None
    model: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None


class SessionUpdate(_Event):
    """The provider gave a handle by which this session can be resumed, or took the last one back."""

    type: Literal["session_update"] = "session_update"
    resumption_handle: str | None


class GoAway(_Event):
    """The provider will close the connection soon; the session goes on over a new one."""

    type: Literal["go_away"] = "go_away"
    time_left_s: float | None = None


class Reconnecting(_Event):
    """The connection is lost or rolled over, and a new one is being opened."""

    type: Literal["reconnecting"] = "reconnecting"
    attempt: int
    wait_s: float
    reason: Literal["go_away", "drop", "rollover"]


class Reconnected(_Event):
    """A new connection carries the session: resumed where it was, or seeded with its history."""

    type: Literal["reconnected"] = "reconnected"
    resumed: bool


class AgentChanged(_Event):
    """Another agent has the floor."""

    type: Literal["agent_changed"] = "agent_changed"
    agent: str
    previous: str | None = None
    reason: str = ""


class Failure(_Event):
    """Something went wrong; with ``fatal`` the session is over. ``message`` is a plain sentence for the person."""

    type: Literal["error"] = "error"
    code: str
    message: str
    fatal: bool = False


RealtimeEvent = Annotated[
    AudioDelta
    | InputTranscript
    | OutputTranscript
    | SpeechStarted
    | SpeechStopped
    | SpeechDismissed
    | ResponseStarted
    | ResponseEnded
    | ToolCall
    | ToolResult
    | TurnStarted
    | TurnComplete
    | Interrupted
    | Usage
    | SessionUpdate
    | GoAway
    | Reconnecting
    | Reconnected
    | AgentChanged
    | Failure,
    Field(discriminator="type"),
]

event_adapter: TypeAdapter[RealtimeEvent] = TypeAdapter(RealtimeEvent)
