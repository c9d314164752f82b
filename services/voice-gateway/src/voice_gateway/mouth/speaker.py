"""What runs in the mouth's own process: text in, sound out, piece by piece."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from voice_gateway.mouth.cutting import pieces
from voice_gateway.mouth.kokoro import Interrupted, Kokoro, Samples, open_kokoro
from voice_gateway.mouth.lexicon import Lexicon, open_lexicon
from voice_gateway.mouth.normalising import normalised
from voice_gateway.mouth.pronouncing import sounds_of
from voice_gateway.mouth.shaping import shaped
from voice_gateway.mouth.symbols import numbers_of

Job = tuple[str, str, float, bool]
"""What to speak: the text, the voice, the speed, and whether somebody waits for its first sound."""


class Speaker:
    """The model of a mouth's process."""

    def __init__(self, kokoro: Kokoro, lexicon: Lexicon) -> None:
        self._kokoro = kokoro
        self._lexicon = lexicon

    def run(self, payload: Job) -> Iterator[tuple[str, bytes]]:
        """Each piece's part of the text, and its PCM; an empty pair when it was interrupted: ask again."""
        text, voice, speed, hurried = payload
        for piece in pieces(text, normalised(text), hurried=hurried):
            sounds = sounds_of(piece.spoken, self._lexicon)
            mark = piece.spoken[-1:]
            if piece.last and mark.isalpha():
                sounds += "."
            numbers = numbers_of(sounds)
            while (samples := self._sound(numbers, voice, speed)) is None:
                yield "", b""
            yield piece.text, shaped(samples, mark, last=piece.last, speed=speed)

    def interrupt(self) -> None:
        """Give up the piece that is being made."""
        self._kokoro.interrupt()

    def _sound(self, numbers: list[int], voice: str, speed: float) -> Samples | None:
        try:
            return self._kokoro.sound(numbers, voice, speed)
        except Interrupted:
            return None


def make(voices: tuple[str, ...], threads: int) -> Speaker:
    """Load the model with the voices of these files, and speak once so that the first to ask does not wait for it."""
    files = tuple(Path(voice) for voice in voices)
    speaker = Speaker(open_kokoro(files, threads), open_lexicon())
    for _ in speaker.run(("Ready to speak.", files[0].stem, 1.0, True)):
        pass
    return speaker
