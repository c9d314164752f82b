"""A breath as the model takes it: its numbers, and where a stretch of its plan may end without cutting a word."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from itertools import accumulate
from typing import Final

import numpy as np
from numpy.typing import NDArray

from voice_gateway.mouth.cutting import Breath
from voice_gateway.mouth.lexicon import Lexicon
from voice_gateway.mouth.pronouncing import sounds_of
from voice_gateway.mouth.symbols import LONGEST, numbers_of

_SPACE: Final = numbers_of(" ")
_BEFORE: Final = 3
"""Frames of the padding before the first sound that are sounded."""
_BEHIND: Final = 4
"""Frames behind the last sound in which it dies away."""


@dataclass(frozen=True, slots=True)
class End:
    """A place where a stretch may end: its frame, how many words are spoken by then, and whether there is a pause."""

    frame: int
    words: int
    pauses: bool


@dataclass(frozen=True, slots=True)
class Score:
    """The numbers of a breath, and of each word that has any: which it is, and the place of its last number."""

    numbers: tuple[int, ...]
    words: tuple[tuple[int, int], ...]

    def begins(self, lengths: NDArray[np.int64]) -> int:
        """The first frame to be sounded, of a plan with these ``lengths``."""
        return max(0, int(lengths[0]) - _BEFORE)

    def ends(self, breath: Breath, lengths: NDArray[np.int64]) -> list[End]:
        """Where stretches may end, the last being the end of the breath."""
        after = [0, *accumulate(int(length) for length in lengths)]
        found = [
            # Half of what is between two words belongs to each; the first of the lengths is the padding's.
            End((after[last + 2] + after[last + 3]) // 2, word + 1, breath.words[word].pauses)
            for word, last in self.words[:-1]
        ]
        marks = sum(1 for _ in _marks_behind(self.numbers))
        spoken = after[len(self.numbers) + 1 - marks]
        return [*found, End(min(after[-1], spoken + _BEHIND), len(breath.words), pauses=True)]


def score_of(breath: Breath, lexicon: Lexicon) -> Score:
    """What the model is given of a breath; at most as much as it takes."""
    starts = [0, *accumulate(len(word.spoken) + 1 for word in breath.words)]
    numbers: list[int] = []
    words: list[tuple[int, int]] = []
    said = sounds_of(breath.spoken, lexicon)
    for place, (start, sounds) in enumerate(said):
        if place == len(said) - 1 and breath.last and sounds[-1].isalpha():
            sounds += "."
        its = numbers_of(sounds)[: max(0, LONGEST - len(numbers) - 1)]
        if not its:
            continue
        numbers += [*(_SPACE if numbers else ()), *its]
        word = bisect_right(starts, start) - 1
        # What is one word as written may be two in the lexicon.
        words = [*(words[:-1] if words and words[-1][0] == word else words), (word, len(numbers) - 1)]
    return Score(tuple(numbers), tuple(words))


def _marks_behind(numbers: tuple[int, ...]) -> list[int]:
    marks = set(numbers_of(".,;:!?…—"))
    behind: list[int] = []
    for number in reversed(numbers):
        if number not in marks:
            break
        behind.append(number)
    return behind
