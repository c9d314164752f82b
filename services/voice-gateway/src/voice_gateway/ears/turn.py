"""One turn while it is spoken: its words, whether it seems over, and what it was in the end."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Final, Protocol

from voice_gateway.ears.endpointer import PERHAPS, WINDOW_MS
from voice_gateway.ears.port import Dismissed, Failed, Heard, PerhapsOver, Utterance, Words
from voice_gateway.ears.sentences import is_backchannel, is_invented, is_nothing, likelihood_over
from voice_gateway.ears.transcript import Transcript
from voice_gateway.ears.windows import Window
from voice_gateway.errors import ModelError

_MELODY_BYTES: Final = 8_000 * 32
_WORDS_S: Final = 20.0
_VOICE: Final = 0.5
_LEAST_VOICED_MS: Final = 128
_SURE: Final = 0.85
_SURE_VOICED_MS: Final = 400


class Senses(Protocol):
    """The models that a listener hears with; all of them raise :class:`ModelError`."""

    async def windows(self, heard: bytes, played: bytes) -> tuple[Window, ...]:
        """The windows that more sound (PCM16, 24 kHz) completes."""
        ...

    async def melody(self, sound: bytes) -> float:
        """How likely a turn is over by the end of its sound (PCM16, 16 kHz)."""
        ...

    async def words(self, sound: bytes, guess: bool) -> str:
        """What is said in it (PCM16, 16 kHz), corrected by the vocabulary."""
        ...

    def close(self) -> None:
        """Forget the session."""
        ...


class Turn:
    """One turn of a listener; ``tell`` gets its words as they become known."""

    def __init__(self, senses: Senses, start_ms: int, tell: Callable[[Heard], None]) -> None:
        self._senses = senses
        self._tell = tell
        self._transcript = Transcript(senses.words)
        self._look: asyncio.Task[float] | None = None
        self._looks = 0
        self._guess: asyncio.Task[None] | None = None
        self._shown = ""
        self._voiced_ms = 0
        self._echo_ms = 0
        self._surest = 0.0
        self.start_ms = start_ms

    @property
    def length_ms(self) -> int:
        """Of its sound."""
        return self._transcript.length_ms

    def add(self, window: Window) -> None:
        """The next 32 ms of its sound."""
        voice = 0.0 if window.echo else window.probability
        self._transcript.add(window.sound, voice)
        self._surest = max(self._surest, voice)
        if window.probability >= _VOICE:
            self._echo_ms += WINDOW_MS if window.echo else 0
            self._voiced_ms += 0 if window.echo else WINDOW_MS

    def guess(self) -> None:
        """Tell the words so far, now and then."""
        if (words := self._transcript.guess()) is not None:
            self._guess = asyncio.create_task(self._tell_guess(words), name="words so far")

    def look(self) -> None:
        """The person pauses: find out how likely the turn is over; :meth:`likelihood` has the answer."""
        first = self._looks == 0
        self._looks += 1
        words = self._transcript.words() if first else self._transcript.said()
        self._drop(self._guess)
        self._drop(self._look)
        sound = self._transcript.sound(_MELODY_BYTES)
        self._look = asyncio.create_task(self._likelihood(words, sound), name="is the turn over")

    async def likelihood(self) -> float:
        """The answer of the last look, 0 to 1."""
        assert self._look is not None
        return await self._look

    def go_on(self) -> None:
        """The person speaks on."""
        self._drop(self._look)
        self._looks = 0
        self._transcript.go_on()

    async def outcome(self, end_ms: int) -> Heard:
        """What the turn was, whose voice ended at ``end_ms``."""
        words = await self._final(self._transcript.said())
        if words is None:
            return Failed(end_ms)
        if self._echo_ms > self._voiced_ms:
            return Dismissed(end_ms, "echo")
        if self._is_noise(words):
            return Dismissed(end_ms, "noise")
        return Utterance(words, self.start_ms, end_ms, is_backchannel(words))

    async def outcome_by_hand(self, end_ms: int) -> Heard:
        """What it was, when the person said by hand where it begins and ends: only silence is no utterance then."""
        words = await self._final(self._transcript.words())
        if words is None:
            return Failed(end_ms)
        if is_nothing(words) or (self._surest < _VOICE and is_invented(words)):
            return Dismissed(end_ms, "noise")
        return Utterance(words, self.start_ms, end_ms)

    def close(self) -> None:
        """Throw away what is in work."""
        self._drop(self._guess)
        self._drop(self._look)
        self._transcript.close()

    async def _final(self, words: Awaitable[str | None]) -> str | None:
        try:
            async with asyncio.timeout(_WORDS_S):
                found = await words
                # The recogniser died over it: it is back soon, and the person need not say it again.
                return await self._transcript.words() if found is None else found
        except TimeoutError:
            return None

    async def _likelihood(self, words: Awaitable[str | None], sound: bytes) -> float:
        try:
            async with asyncio.timeout(_WORDS_S):
                text, sounds_over = await asyncio.gather(words, self._melody(sound))
        except TimeoutError:
            return 0.0
        if text is None:
            return sounds_over or 0.0
        self._show(text)
        # Nothing that could go on: a noise is over at once, and who only signals that they listen is not waited for.
        if self._is_noise(text) or is_backchannel(text):
            return 1.0
        likelihood = likelihood_over(PERHAPS if sounds_over is None else sounds_over, text)
        if likelihood >= PERHAPS or self._looks > 1:
            self._tell(PerhapsOver(text))
        return likelihood

    async def _melody(self, sound: bytes) -> float | None:
        try:
            return await self._senses.melody(sound)
        except ModelError:
            return None

    async def _tell_guess(self, words: Awaitable[str | None]) -> None:
        if text := await words:
            self._show(text)

    def _show(self, text: str) -> None:
        if text != self._shown and not is_nothing(text):
            self._shown = text
            self._tell(Words(text))

    def _is_noise(self, text: str) -> bool:
        if is_nothing(text) or self._voiced_ms < _LEAST_VOICED_MS:
            return True
        return is_invented(text) and (self._surest < _SURE or self._voiced_ms < _SURE_VOICED_MS)

    def _drop(self, task: asyncio.Task[Any] | None) -> None:
        if task is not None:
            task.cancel()
