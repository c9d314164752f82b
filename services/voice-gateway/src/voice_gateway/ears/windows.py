"""What goes to the process that hears first, and what comes back; plain values, since both ends load this."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Sound:
    """More of a session's sound: what its microphone heard and what its speaker played, PCM16 at 24 kHz.

    ``last`` ends the session.
    """

    session: int
    heard: bytes
    played: bytes
    last: bool = False


@dataclass(frozen=True, slots=True)
class Window:
    """32 ms of sound: how likely it holds a voice, whether that is our own coming back, and its PCM16 at 16 kHz."""

    probability: float
    echo: bool
    sound: bytes


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The words of the corpus, most telling first, and the number that the gateway gave them."""

    version: int
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Recognition:
    """A stretch of speech (PCM16, 16 kHz) to be corrected by the vocabulary of this version; the answer is None when it
    is not known, and then it is brought along."""

    sound: bytes
    version: int
    vocabulary: Vocabulary | None = None
