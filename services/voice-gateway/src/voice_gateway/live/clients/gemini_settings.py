"""The settings of a live session in the words of Gemini's Live API (L10). https://ai.google.dev/api/live"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from voice_gateway.live.config import RealtimeConfig, Vad
from voice_gateway.live.port import Line, ToolSpec

if TYPE_CHECKING:
    from google.genai import types


def session_of(
    config: RealtimeConfig, tools: Sequence[ToolSpec], handle: str | None, *, with_history: bool
) -> types.LiveConnectConfig:
    """A whole session; ``with_history``: the first content is what was said before, and is not answered."""
    from google.genai import types

    transcription = types.AudioTranscriptionConfig()
    return types.LiveConnectConfig(
        response_modalities=[types.Modality(config.modality.upper())],
        system_instruction="\n\n".join(config.instructions) or None,
        speech_config=_speech(config),
        tools=[_tools(tools)] if tools else None,
        input_audio_transcription=_input_transcription(config) if config.input_transcription else None,
        output_audio_transcription=transcription if config.output_transcription else None,
        realtime_input_config=types.RealtimeInputConfig(automatic_activity_detection=_detection(config.vad)),
        session_resumption=types.SessionResumptionConfig(handle=handle) if config.resumption else None,
        context_window_compression=_compression(config),
        history_config=types.HistoryConfig(initial_history_in_client_content=True) if with_history else None,
    )


def history_of(lines: Sequence[Line]) -> list[types.Content]:
    """The lines of a conversation as its contents."""
    from google.genai import types

    roles = {"user": "user", "assistant": "model"}
    return [types.Content(role=roles[line.role], parts=[types.Part(text=line.text)]) for line in lines]


def _speech(config: RealtimeConfig) -> types.SpeechConfig | None:
    from google.genai import types

    if config.voice is None and config.language is None:
        return None
    named = types.PrebuiltVoiceConfig(voice_name=config.voice) if config.voice else None
    return types.SpeechConfig(
        voice_config=types.VoiceConfig(prebuilt_voice_config=named) if named else None, language_code=config.language
    )


def _tools(tools: Sequence[ToolSpec]) -> types.Tool:
    from google.genai import types

    return types.Tool(
        function_declarations=[
            types.FunctionDeclaration(
                name=spec.name, description=spec.description, parameters_json_schema=spec.parameters
            )
            for spec in tools
        ]
    )


def _input_transcription(config: RealtimeConfig) -> types.AudioTranscriptionConfig:
    from google.genai import types

    return types.AudioTranscriptionConfig(
        language_codes=[config.language] if config.language else None,
        custom_vocabulary=list(config.vocabulary) or None,
    )


def _detection(vad: Vad) -> types.AutomaticActivityDetection:
    from google.genai import types

    start, end = vad.start_sensitivity, vad.end_sensitivity
    return types.AutomaticActivityDetection(
        disabled=not vad.enabled,
        start_of_speech_sensitivity=types.StartSensitivity(f"START_SENSITIVITY_{start.upper()}") if start else None,
        end_of_speech_sensitivity=types.EndSensitivity(f"END_SENSITIVITY_{end.upper()}") if end else None,
        prefix_padding_ms=vad.prefix_padding_ms,
        silence_duration_ms=vad.silence_duration_ms,
    )


def _compression(config: RealtimeConfig) -> types.ContextWindowCompressionConfig | None:
    from google.genai import types

    if not config.context_compression:
        return None
    return types.ContextWindowCompressionConfig(sliding_window=types.SlidingWindow())
