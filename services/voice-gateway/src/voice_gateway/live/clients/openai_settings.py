"""The settings of a live session in the words of OpenAI's Realtime API (L10).

https://platform.openai.com/docs/api-reference/realtime-client-events/session/update
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from contracts.vocabulary import JsonObject
from voice_gateway.live.config import RealtimeConfig, Vad
from voice_gateway.live.port import Line, ToolSpec

RATE = 24_000
MAX_KEYWORDS = 100
MAX_KEYWORD_LENGTH = 64
TAKES_KEYWORDS = re.compile(r"gpt-(live-)?transcribe")
THRESHOLDS = {"low": 0.7, "high": 0.3}
"""How loud speech has to be, from 0 to 1, to be taken for such; the provider's own is 0.5."""
SILENCES_MS = {"low": 900, "high": 300}
"""How long a silence ends a turn where ``silence_duration_ms`` does not say; the provider's own is 500."""
RETAINED = 0.8
"""The part of the context that is kept when it is full: less often shortened, and so less often read anew."""


def session_of(config: RealtimeConfig, tools: Sequence[ToolSpec], transcription_model: str) -> dict[str, Any]:
    """A whole session, for its beginning."""
    pcm = {"type": "audio/pcm", "rate": RATE}
    session = changes_of(config, tools)
    session["output_modalities"] = [config.modality]
    if config.context_compression:
        session["truncation"] = {"type": "retention_ratio", "retention_ratio": RETAINED}
    session["audio"] = {
        "input": {
            "format": pcm,
            "transcription": transcription_of(config, transcription_model),
            "turn_detection": turn_detection_of(config.vad),
        },
        "output": {"format": pcm, **({"voice": config.voice} if config.voice else {})},
    }
    return session


def changes_of(config: RealtimeConfig, tools: Sequence[ToolSpec]) -> dict[str, Any]:
    """What may change while a session is open."""
    return {
        "type": "realtime",
        "instructions": "\n\n".join(config.instructions),
        "tools": [tool_of(spec) for spec in tools],
        "tool_choice": "auto" if tools else "none",
    }


def tool_of(spec: ToolSpec) -> JsonObject:
    """A tool as the model is told of it."""
    return {"type": "function", "name": spec.name, "description": spec.description, "parameters": spec.parameters}


def transcription_of(config: RealtimeConfig, model: str) -> JsonObject | None:
    """How the person's words are written down, None where they are not."""
    if not config.input_transcription:
        return None
    transcription: JsonObject = {"model": model}
    if config.language is not None:
        transcription["language"] = config.language
    words = [word for word in config.vocabulary if len(word) <= MAX_KEYWORD_LENGTH][:MAX_KEYWORDS]
    if words and TAKES_KEYWORDS.match(model):
        transcription["keywords"] = words
    return transcription


def turn_detection_of(vad: Vad) -> JsonObject | None:
    """How the person's turns are found; None: they mark them by hand."""
    if not vad.enabled:
        return None
    found: JsonObject = {"type": "server_vad", "create_response": True, "interrupt_response": True}
    if vad.start_sensitivity is not None:
        found["threshold"] = THRESHOLDS[vad.start_sensitivity]
    if vad.prefix_padding_ms is not None:
        found["prefix_padding_ms"] = vad.prefix_padding_ms
    if vad.silence_duration_ms is not None:
        found["silence_duration_ms"] = vad.silence_duration_ms
    elif vad.end_sensitivity is not None:
        found["silence_duration_ms"] = SILENCES_MS[vad.end_sensitivity]
    return found


def message_of(line: Line) -> JsonObject:
    """A line of the conversation as an item of it."""
    kind = "input_text" if line.role == "user" else "output_text"
    return {"type": "message", "role": line.role, "content": [{"type": kind, "text": line.text}]}
