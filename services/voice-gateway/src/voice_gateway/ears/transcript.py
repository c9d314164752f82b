"""The words of one turn, made in pieces while it is spoken.

A piece that ended in a pause and is long enough is never listened to again; the one that is being spoken is, at growing
intervals, so that the work stays within about twice the sound's length however long somebody speaks::

    |--- piece 1, done ---|-- piece 2, done --|--- spoken now ---
                        pause               pause      ^ heard so far: again and again, each time a guess
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Generator
from dataclasses import dataclass
from typing import Any, Final

from voice_gateway.ears.endpointer import WINDOW_MS
from voice_gateway.errors import ModelError

WINDOW_BYTES: Final = WINDOW_MS * 16 * 2
_DONE_MS: Final = 6_000
_LONGEST_MS: Final = 15_000
_CUT_WITHIN_MS: Final = 4_000
_FIRST_GUESS_MS: Final = 800
_GUESS_GROWTH: Final = 1.0

Decode = Callable[[bytes, bool], Awaitable[str]]
"""The words of PCM16 at 16 kHz; the flag says that it is only a guess, which gives way to others."""


class Transcript:
    """The sound of one turn and the words of it; words are None when the recogniser failed."""

    def __init__(self, decode: Decode) -> None:
        self._decode = decode
        self._sound = bytearray()
        self._voices: list[float] = []
        self._done: list[_Piece] = []
        self._last: _Piece | None = None
        self._guess: _Piece | None = None

    @property
    def length_ms(self) -> int:
        """Of the sound so far."""
        return len(self._voices) * WINDOW_MS

    def sound(self, last_bytes: int) -> bytes:
        """The end of the turn's sound."""
        return bytes(self._sound[-last_bytes:])

    def add(self, window: bytes, voice: float) -> None:
        """The next 32 ms, and how likely they hold a voice."""
        self._sound += window
        self._voices.append(voice)
        if self.length_ms - self._began_ms >= _LONGEST_MS:
            self._cut()

    def guess(self) -> Awaitable[str | None] | None:
        """What was said so far, if it is time to listen again and nothing of it is being listened to."""
        known_ms = 0
        if self._guess is not None:
            if not self._guess.task.done():
                return None
            known_ms = max(0, self._guess.end_ms - self._began_ms)
        if self.length_ms - self._began_ms < known_ms + max(_FIRST_GUESS_MS, _GUESS_GROWTH * known_ms):
            return None
        self._guess = self._listen(self._began_ms, self.length_ms, guess=True)
        return self._join(self._guess)

    def words(self) -> Awaitable[str | None]:
        """All that was said until now; what failed is tried again, and nothing else is listened to twice."""
        if self._guess is not None:
            self._guess.task.cancel()
        self._done = [self._again(piece) for piece in self._done]
        self._last = self._listen(self._began_ms, self.length_ms)
        return self._join(self._last)

    def said(self) -> Awaitable[str | None]:
        """What :meth:`words` gave last, which still holds when only silence came after it."""
        if self._last is None or self._last.failed or any(piece.failed for piece in self._done):
            return self.words()
        return self._join(self._last)

    def go_on(self) -> None:
        """The person speaks on after the pause in which :meth:`words` was called; a long piece is done with that."""
        if self._last is not None and self._last.end_ms - self._last.start_ms >= _DONE_MS:
            self._done.append(self._last)
        elif self._last is not None:
            self._last.task.cancel()
        self._last = None

    def close(self) -> None:
        """Listen no more."""
        for piece in (*self._done, self._last, self._guess):
            if piece is not None:
                piece.task.cancel()

    @property
    def _began_ms(self) -> int:
        return self._done[-1].end_ms if self._done else 0

    def _cut(self) -> None:
        # Nobody paused for long: cut where a voice was least likely.
        within = _CUT_WITHIN_MS // WINDOW_MS
        first = len(self._voices) - within
        quietest = first + min(range(within), key=lambda place: self._voices[first + place])
        self._done.append(self._listen(self._began_ms, (quietest + 1) * WINDOW_MS))

    def _again(self, piece: _Piece) -> _Piece:
        return self._listen(piece.start_ms, piece.end_ms) if piece.failed else piece

    def _listen(self, start_ms: int, end_ms: int, *, guess: bool = False) -> _Piece:
        start, end = (ms // WINDOW_MS * WINDOW_BYTES for ms in (start_ms, end_ms))
        work = self._try(bytes(self._sound[start:end]), guess=guess)
        return _Piece(start_ms, end_ms, asyncio.create_task(work, name="speech to text"))

    async def _try(self, sound: bytes, *, guess: bool) -> str | None:
        try:
            return await self._decode(sound, guess)
        except ModelError:
            return None

    def _join(self, last: _Piece) -> Awaitable[str | None]:
        return _Joined((*self._done, last))


@dataclass(frozen=True, slots=True)
class _Piece:
    start_ms: int
    end_ms: int
    task: asyncio.Task[str | None]

    @property
    def failed(self) -> bool:
        return self.task.done() and (self.task.cancelled() or self.task.result() is None)


class _Joined:
    """The words of pieces, one after the other; nothing is lost when nobody waits for them after all."""

    def __init__(self, pieces: tuple[_Piece, ...]) -> None:
        self._pieces = pieces

    def __await__(self) -> Generator[Any, None, str | None]:
        return self._words().__await__()

    async def _words(self) -> str | None:
        found: list[str] = []
        for piece in self._pieces:
            words = await asyncio.shield(piece.task)
            if words is None:
                return None
            found.append(words)
        return " ".join(words for words in found if words)
