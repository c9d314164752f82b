"""The settings of a session: what a client may change of them, and what the gateway keeps to.

What a client sets and this gateway has no use for (a sampling temperature, a noise filter) does not come back to it;
what it would have to keep to and cannot is an error.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, cast

from pydantic import Field, StringConstraints, ValidationError

from contracts.vocabulary import JsonObject, Message
from voice_gateway.ears.port import Tuning
from voice_gateway.errors import AudioNotHere, EventError
from voice_gateway.mouth.port import Manner

DEFAULT_MODEL = "talkdown"
PROVIDERS_VOICES = frozenset({"alloy", "ash", "ballad", "coral", "echo", "sage", "shimmer", "verse", "marin", "cedar"})
"""Voices that stock clients ask for by default; they get the usual voice of this gateway."""
PAUSES_MS = {"low": 1000, "medium": 600, "auto": 600, "high": 350}
"""The pause that ends a turn when nothing else is known, by the eagerness of ``semantic_vad``."""
MAX_INSTRUCTIONS = 16_384
MAX_TOOLS = 64

Modality = Literal["text", "audio"]


class ServerVad(Message):
    """Turns end after a pause."""

    type: Literal["server_vad"]
    threshold: Annotated[float, Field(ge=0, le=1)] = 0.5
    prefix_padding_ms: Annotated[int, Field(ge=0, le=5000)] = 300
    silence_duration_ms: Annotated[int, Field(ge=100, le=10_000)] = 500
    create_response: bool = True
    interrupt_response: bool = True

    def tuning(self) -> Tuning:
        """What it asks of the ears."""
        return Tuning(self.threshold, self.prefix_padding_ms, self.silence_duration_ms)


class SemanticVad(Message):
    """Turns end when the words are over."""

    type: Literal["semantic_vad"]
    eagerness: Literal["low", "medium", "high", "auto"] = "auto"
    create_response: bool = True
    interrupt_response: bool = True

    def tuning(self) -> Tuning:
        """What it asks of the ears."""
        return Tuning(silence_duration_ms=PAUSES_MS[self.eagerness])


class Pcm(Message):
    """Sound as 16 bits little-endian, mono, 24 kHz; the only format here."""

    type: Literal["audio/pcm"] = "audio/pcm"
    rate: Literal[24000] = 24000


class Transcription(Message):
    """What was said comes back as words; whichever model is named, the ears of this gateway transcribe."""

    model: Annotated[str, StringConstraints(max_length=128)] = DEFAULT_MODEL
    language: Annotated[str, StringConstraints(max_length=16)] | None = None


class AudioInput(Message):
    """How the person is listened to."""

    format: Pcm = Pcm()
    transcription: Transcription | None = Transcription()
    turn_detection: Annotated[ServerVad | SemanticVad, Field(discriminator="type")] | None = ServerVad(
        type="server_vad"
    )


class AudioOutput(Message):
    """How it is spoken to the person; without a voice of its own a session has the gateway's."""

    format: Pcm = Pcm()
    voice: Annotated[str, StringConstraints(min_length=1, max_length=64)] | None = None
    speed: Annotated[float, Field(ge=0.25, le=1.5)] = 1.0


class Audio(Message):
    """Both directions of the sound."""

    input: AudioInput = AudioInput()
    output: AudioOutput = AudioOutput()


class Tool(Message):
    """A function that a client offers; it is kept and shown, and the answers from the notes need none."""

    type: Literal["function"] = "function"
    name: Annotated[str, StringConstraints(min_length=1, max_length=64)]
    description: Annotated[str, StringConstraints(max_length=4096)] | None = None
    parameters: JsonObject | None = None


class SessionConfig(Message):
    """The settings of a session that this gateway keeps to."""

    type: Literal["realtime"] = "realtime"
    model: Annotated[str, StringConstraints(min_length=1, max_length=128)] = DEFAULT_MODEL
    output_modalities: tuple[Modality, ...] = ("text",)
    instructions: Annotated[str, StringConstraints(max_length=MAX_INSTRUCTIONS)] | None = None
    tools: Annotated[tuple[Tool, ...], Field(max_length=MAX_TOOLS)] = ()
    tool_choice: Literal["auto", "none", "required"] = "auto"
    audio: Audio | None = None
    """None where the voice is silent."""

    @property
    def spoken(self) -> bool:
        """Whether answers are spoken."""
        return "audio" in self.output_modalities

    def wire(self) -> JsonObject:
        """As ``session`` of an event."""
        told: JsonObject = {
            "type": self.type,
            "model": self.model,
            "output_modalities": list(self.output_modalities),
        }
        if self.audio is not None:
            told |= {
                "instructions": self.instructions or "",
                "tools": [tool.model_dump(exclude_none=True) for tool in self.tools],
                "tool_choice": self.tool_choice,
                "audio": self.audio.model_dump(),
            }
        return told


@dataclass(frozen=True, slots=True)
class Means:
    """What the sessions of a process can do: nothing but text without voices, else these, the usual one first."""

    voices: tuple[str, ...] = ()
    speed: float = 1.0

    @property
    def audible(self) -> bool:
        """Whether there are ears and a mouth."""
        return bool(self.voices)

    def first(self) -> SessionConfig:
        """The settings of a session that asked for none."""
        if not self.audible:
            return SessionConfig()
        output = AudioOutput(voice=self.voices[0], speed=self.speed)
        return SessionConfig(output_modalities=("audio",), audio=Audio(output=output))

    def updated(self, config: SessionConfig, patch: JsonObject, *, model: str | None = None) -> SessionConfig:
        """``config`` with what ``patch`` changes, or an :class:`EventError`; ``model`` wins over both."""
        if patch.get("type", "realtime") == "transcription":
            raise EventError(
                "not_supported", "Sessions that only transcribe are not served here.", param="session.type"
            )
        known = SessionConfig.model_fields.keys() if self.audible else {"type", "model", "output_modalities"}
        kept = {name: patch[name] for name in known if patch.get(name) is not None}
        if isinstance(kept.get("tool_choice"), dict):
            del kept["tool_choice"]  # the name of one of the tools, none of which is ever called here
        before = config.model_dump()
        if isinstance(kept.get("audio"), dict):
            kept["audio"] = _merged(before["audio"] or {}, cast(JsonObject, kept["audio"]))
        if model:
            kept["model"] = model
        try:
            new = SessionConfig.model_validate({**before, **kept})
        except ValidationError as error:
            raise invalid(error, "session.") from error
        self.check_modalities(new.output_modalities, "session.output_modalities")
        return new if new.audio is None else new.model_copy(update={"audio": self._voiced(new.audio)})

    def check_modalities(self, modalities: Sequence[str] | None, param: str) -> None:
        """Refuse what is not exactly one modality that there is; None leaves it as it is."""
        if modalities is None:
            return
        if not self.audible and "audio" in modalities:
            raise AudioNotHere(param)
        allowed = [["text"], ["audio"]] if self.audible else [["text"]]
        if list(modalities) not in allowed:
            names = " or ".join(f'`["{name}"]`' for (name,) in allowed)
            raise EventError("invalid_value", f"The one modality is {names}.", param=param)

    def manner(self, config: SessionConfig, voice: object = None) -> Manner:
        """How a session speaks; ``voice`` is what one response asks for instead."""
        output = config.audio.output if config.audio else AudioOutput()
        named = self._voice(voice, "response.audio.output.voice") if voice is not None else output.voice
        return Manner(named or self.voices[0], output.speed)

    def _voiced(self, audio: Audio) -> Audio:
        voice = self._voice(audio.output.voice, "session.audio.output.voice")
        return audio.model_copy(update={"output": audio.output.model_copy(update={"voice": voice})})

    def _voice(self, named: object, param: str) -> str:
        """The voice that stands for the named one."""
        if isinstance(named, dict):
            named = cast(Mapping[str, object], named).get("id")
        if named is None or (isinstance(named, str) and named in PROVIDERS_VOICES):
            return self.voices[0]
        if not isinstance(named, str) or named not in self.voices:
            raise EventError(
                "invalid_value", f"There is no such voice; there are: {', '.join(self.voices)}.", param=param
            )
        return named


def _merged(before: Mapping[str, Any], patch: Mapping[str, Any]) -> JsonObject:
    """``patch`` laid over ``before``, each of the two directions on its own; turns of another type begin anew."""
    merged: JsonObject = dict(before)
    for direction in ("input", "output"):
        given: object = patch.get(direction)
        if not isinstance(given, dict):
            if given is not None:
                merged[direction] = given
            continue
        old = cast(JsonObject, merged.get(direction) or {})
        new = {**old, **cast(JsonObject, given)}
        turns: object = new.get("turn_detection")
        past: object = old.get("turn_detection")
        if isinstance(turns, dict) and isinstance(past, dict):
            fresh, stale = cast(JsonObject, turns), cast(JsonObject, past)
            if fresh.get("type", stale.get("type")) == stale.get("type"):
                new["turn_detection"] = {**stale, **fresh}
        for name in ("format", "speed", "voice"):
            if new.get(name) is None:
                new.pop(name, None)
        if isinstance(new.get("voice"), dict):
            new["voice"] = cast(JsonObject, new["voice"]).get("id")
        merged[direction] = new
    return merged


def invalid(error: ValidationError, prefix: str) -> EventError:
    """The first fault of a client's event, in words."""
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    where = prefix + ".".join(str(part) for part in first["loc"])
    return EventError("invalid_value", f"`{where[:200]}` cannot be this: {first['msg'][:200]}.", param=where[:200])
