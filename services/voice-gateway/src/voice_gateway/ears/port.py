"""What a session needs of ears, whatever they are made of.

Sound is PCM, 16 bits little-endian, mono, 24 kHz, in pieces of any length. Times are whole milliseconds of sound heard
since the listener was opened, as the Realtime protocol counts ``audio_start_ms``.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Literal, Protocol


@dataclass(frozen=True, slots=True)
class Tuning:
    """Server VAD as a session asks for it.

    ``silence_duration_ms`` is the pause that ends a turn when nothing else is known; ``adaptive`` lets the words and
    their melody shorten or lengthen that pause.
    """

    threshold: float = 0.5
    prefix_padding_ms: int = 300
    silence_duration_ms: int = 500
    adaptive: bool = True


@dataclass(frozen=True, slots=True)
class SpeechStarted:
    """Somebody began to speak; ``at_ms`` has the padding taken off."""

    at_ms: int


@dataclass(frozen=True, slots=True)
class Words:
    """All words of the utterance so far; a later one may correct it."""

    text: str


@dataclass(frozen=True, slots=True)
class PerhapsOver:
    """The person may have finished: work may begin on ``text`` as a guess, and is thrown away if they go on."""

    text: str


@dataclass(frozen=True, slots=True)
class Utterance:
    """The speech ended, and it was an utterance. ``text`` is corrected by the vocabulary and never blank.

    ``backchannel`` says that it only signals listening ("mhm"), which is no question.
    """

    text: str
    start_ms: int
    end_ms: int
    backchannel: bool = False


@dataclass(frozen=True, slots=True)
class Dismissed:
    """The sound that began as speech was none: it ended at ``end_ms`` without words, or was our own voice."""

    end_ms: int
    reason: Literal["noise", "echo"]


@dataclass(frozen=True, slots=True)
class Failed:
    """What was said could not be understood because the ears failed; the session goes on."""

    end_ms: int


Heard = SpeechStarted | Words | PerhapsOver | Utterance | Dismissed | Failed
"""``SpeechStarted``, any ``Words`` and ``PerhapsOver``, then one ``Utterance``, ``Dismissed`` or ``Failed``."""


class Listener(Protocol):
    """The ears of one session. Nothing but ``close`` waits, and sound past the bound of what may wait is dropped."""

    def hear(self, pcm: bytes) -> None:
        """The next sound from the person's microphone."""
        ...

    def playing(self, pcm: bytes) -> None:
        """The sound that the person's speaker plays now, so that it is not taken for theirs when it comes back."""
        ...

    def tune(self, tuning: Tuning | None) -> None:
        """How turns are found; None: by hand, with ``commit``."""
        ...

    def commit(self) -> None:
        """What was heard since the last commit is an utterance: ends it, in either way of tuning."""
        ...

    def clear(self) -> None:
        """Forget what was heard since the last commit."""
        ...

    def __aiter__(self) -> AsyncIterator[Heard]:
        """What was heard, as it becomes known; ends with ``close``."""
        ...

    async def close(self) -> None:
        """Hear no more; what is in work is thrown away."""
        ...


class Ears(Protocol):
    """The ears of a process, shared by its sessions; they have a number of places."""

    @property
    def ready(self) -> bool:
        """Whether the models are loaded and warm."""
        ...

    @property
    def full(self) -> bool:
        """Whether all places are taken."""
        ...

    def listen(self, tuning: Tuning | None, words: tuple[str, ...] = ()) -> Listener:
        """Ears for one more session, which listens for ``words`` beside those of the corpus.

        :class:`~voice_gateway.errors.EarsBusy` when all places are taken.
        """
        ...

    def learn(self, words: tuple[str, ...]) -> None:
        """The vocabulary of the corpus, most telling first: names and rare words that are to be heard right."""
        ...
