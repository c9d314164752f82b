"""The settings of one live session, before any provider reads them (L10)."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

Seconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Milliseconds = Annotated[int, Field(ge=0, le=10_000)]
Modality = Literal["audio", "text"]
Sensitivity = Literal["low", "high"]


class _Settings(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Vad(_Settings):
    """How the person's turns are found. With ``enabled`` off they mark them themselves (push to talk)."""

    enabled: bool = True
    start_sensitivity: Sensitivity | None = None
    end_sensitivity: Sensitivity | None = None
    prefix_padding_ms: Milliseconds | None = None
    silence_duration_ms: Milliseconds | None = None


class Reconnect(_Settings):
    """Attempt n waits ``min(base_delay_s * 2 ** (n - 1), max_delay_s)``; with no attempts the first drop is fatal."""

    base_delay_s: Seconds = 0.5
    max_delay_s: Seconds = 10.0
    max_attempts: Annotated[int, Field(ge=0, le=100)] = 5


class RealtimeConfig(_Settings):
    """One session. ``modality`` is the one kind of output; None is a provider's own default everywhere."""

    model: str | None = None
    modality: Modality = "audio"
    voice: str | None = None
    instructions: tuple[str, ...] = ()
    input_transcription: bool = True
    output_transcription: bool = True
    vad: Vad = Vad()
    reconnect: Reconnect = Reconnect()
    context_compression: bool = False
    resumption: bool = True
    language: str | None = None
    vocabulary: tuple[str, ...] = ()
    tool_tags: tuple[str, ...] | None = Field(default=None, description="only tools with one of these; null: all")
