"""The settings of one live session, before any provider reads them (L10)."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from contracts.vocabulary import NO_NUL

Seconds = Annotated[float, Field(ge=0, le=60, allow_inf_nan=False)]
Milliseconds = Annotated[int, Field(ge=0, le=10_000)]
Named = Annotated[str, StringConstraints(min_length=1, max_length=128, pattern=r"^[^\x00-\x1f\x7f]+$")]
Language = Annotated[str, StringConstraints(max_length=35, pattern=r"^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*$")]
"""As BCP 47 writes it; 35 characters hold any that is in use (RFC 5646, section 4.4.1)."""
Instruction = Annotated[str, StringConstraints(max_length=16_384), NO_NUL]
Word = Annotated[str, StringConstraints(min_length=1, max_length=200), NO_NUL]
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

    model: Named | None = None
    modality: Modality = "audio"
    voice: Named | None = None
    instructions: Annotated[tuple[Instruction, ...], Field(max_length=20)] = ()
    input_transcription: bool = True
    output_transcription: bool = True
    vad: Vad = Vad()
    reconnect: Reconnect = Reconnect()
    context_compression: bool = False
    resumption: bool = True
    language: Language | None = None
    vocabulary: Annotated[tuple[Word, ...], Field(max_length=1_000)] = ()
    tool_tags: Annotated[tuple[Named, ...], Field(max_length=100)] | None = Field(
        default=None, description="only tools with one of these; null: all"
    )
