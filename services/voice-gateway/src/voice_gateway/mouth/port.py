"""What a session needs of a mouth, whatever it is made of.

Sound is PCM, 16 bits little-endian, mono, 24 kHz.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Manner:
    """How it is spoken: the name of the voice, and the speed as a ratio of its usual one."""

    voice: str
    speed: float = 1.0


@dataclass(frozen=True, slots=True)
class Spoken:
    """A piece of speech: the part of the given text that it speaks, and its sound. Joined, the parts are the text."""

    text: str
    pcm: bytes


class Mouth(Protocol):
    """The mouth of a process, shared by its sessions."""

    @property
    def ready(self) -> bool:
        """Whether the model is loaded and warm."""
        ...

    @property
    def voices(self) -> tuple[str, ...]:
        """The names that a :class:`Manner` may hold, the usual one first."""
        ...

    @property
    def saturated(self) -> bool:
        """Whether one more session would make those that run stutter."""
        ...

    def speak(self, text: str, manner: Manner) -> AsyncGenerator[Spoken]:
        """Speak ``text``, a few words at a time so that the first sound comes early; closing it stops the work.

        Text is as a person reads it (no Markdown, no citation marks); numbers, units, names of files and the like are
        spelled out here. Raises :class:`~voice_gateway.errors.MouthBusy` when too much waits, and
        :class:`~voice_gateway.errors.MouthFailed` when the speech could not be made.
        """
        ...

    def prepare(self, text: str, manner: Manner) -> None:
        """``text`` will perhaps be spoken soon: make its sound when nothing else waits, for the next ``speak`` of it.

        What was prepared and not spoken is forgotten after a few seconds, or for something newer.
        """
        ...

    def forget(self, text: str, manner: Manner) -> None:
        """What was prepared of ``text`` is not wanted any more; nothing happens when it is being spoken."""
        ...
