"""The ears and the mouth that the settings choose, opened for as long as the process lives."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from voice_gateway.ears.port import Ears
from voice_gateway.errors import EarsBusy, MouthSaturated, VoiceUnknown
from voice_gateway.mouth.port import Mouth
from voice_gateway.scripted import ScriptedEars, ScriptedMouth
from voice_gateway.session_config import Means
from voice_gateway.settings import Settings


@dataclass(frozen=True, slots=True)
class Senses:
    """The ears and the mouth of a process."""

    ears: Ears
    mouth: Mouth
    speed: float = 1.0
    voice: str | None = None

    @property
    def means(self) -> Means:
        """What sessions can do with them; the voice that was chosen is the usual one."""
        voices = self.mouth.voices
        first = (self.voice,) if self.voice else ()
        return Means((*first, *(voice for voice in voices if voice not in first)), self.speed)

    def check_room(self) -> None:
        """:class:`~voice_gateway.errors.TooManySessions` when one more session would make those that run stutter."""
        if self.ears.full:
            raise EarsBusy
        if self.mouth.saturated:
            raise MouthSaturated


def shipped_voices() -> list[str]:
    """The names of the voices on this machine."""
    from voice_gateway.mouth.local import SHIPPED

    return sorted(file.stem for file in SHIPPED.glob("*.bin"))


def check(settings: Settings) -> None:
    """Look whether the voice that the settings name is there, before anything is loaded for it."""
    if settings.chosen_voice != "local" or settings.mouth != "local" or not settings.voice_name:
        return
    names = shipped_voices()
    if settings.voice_name not in names:
        raise VoiceUnknown(f"There is no voice {settings.voice_name}: set TALKDOWN_VOICE_NAME to {' or '.join(names)}.")


@asynccontextmanager
async def open_senses(settings: Settings) -> AsyncGenerator[Senses | None]:
    """Open them, and give None where the voice is silent or a provider's. Their models are loaded meanwhile."""
    if settings.chosen_voice != "local":
        yield None
        return
    async with AsyncExitStack() as stack:
        ears = await _ears(settings, stack)
        mouth = await _mouth(settings, stack)
        if settings.voice_name and settings.voice_name not in mouth.voices:
            raise VoiceUnknown(f"TALKDOWN_VOICE_NAME is none of: {', '.join(mouth.voices)}.")
        yield Senses(ears, mouth, settings.voice_speed, settings.voice_name)


async def _ears(settings: Settings, stack: AsyncExitStack) -> Ears:
    if settings.ears == "scripted":
        return ScriptedEars(settings.script, settings.max_voices)
    from voice_gateway.ears.local import open_ears

    return await stack.enter_async_context(open_ears(places=settings.max_voices))


async def _mouth(settings: Settings, stack: AsyncExitStack) -> Mouth:
    if settings.mouth == "scripted":
        return ScriptedMouth(settings.script_delay_s)
    from voice_gateway.mouth.local import open_mouth

    return await stack.enter_async_context(open_mouth())
