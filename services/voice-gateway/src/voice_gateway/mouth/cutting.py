"""A phrase in breaths: what is planned at once, with the melody that it has as a whole.

The plan of a breath costs time before its first sound, a tenth of a second for some sixty letters, so the first breath
is short when somebody waits for it. Breaths end where a speaker could take one: after a comma, before "and" or "in";
and within something that is written as one (a number, a path) only when it is longer than a breath.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from voice_gateway.mouth.normalising import Part

_SIZES: Final = {True: (60, 120, 180), False: (180,)}
"""Of breaths in letters as spoken (about 14 a second), when somebody waits for the first and when nobody does."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_SMALL: Final = _words(
    "and or but that which who because if when while is are was were has have had can must will to in on for with from "
    "by at of into than as so then not the a an"
)
_CLAUSE_ENDS: Final = tuple(",;:—….!?")
_SPELT: Final = re.compile(r"[A-Z]{2,}|(?<![^\W\d_])[^\W\d_aeiouyAEIOUY]{3,}(?![^\W\d_])")
_MARK: Final = re.compile(r"[.,;:!?…—]")


@dataclass(frozen=True, slots=True)
class Word:
    """A word as it is spoken, and where what begins with it begins in the written text."""

    spoken: str
    start: int
    inside: bool
    """Whether it belongs to what was written as one with the word before."""

    @property
    def length(self) -> int:
        """Of its sounds and the space behind it, in letters: one that is spelt out has three for each of its own."""
        spelt = sum(len(letters) for letters in _SPELT.findall(self.spoken))
        return len(self.spoken) + 1 + 2 * spelt

    @property
    def pauses(self) -> bool:
        """Whether a speaker pauses after it."""
        return self.spoken.endswith(_CLAUSE_ENDS)


@dataclass(frozen=True, slots=True)
class Breath:
    """A part of a phrase: its words, and where it ends in the written text. ``last`` is the phrase's last one."""

    words: tuple[Word, ...]
    end: int
    last: bool

    @property
    def spoken(self) -> str:
        """Its words in one line."""
        return " ".join(word.spoken for word in self.words)


def breaths(text: str, parts: list[Part], *, hurried: bool) -> Iterator[Breath]:
    """Cut ``text`` whose spoken form is ``parts``; a text without words has none, and the first begins at 0."""
    words = _words_of(parts)
    if words:
        words[0] = Word(words[0].spoken, 0, words[0].inside)
    sizes, number, first = _SIZES[hurried], 0, 0
    while first < len(words):
        after = _cut(words, first, sizes[min(number, len(sizes) - 1)])
        end = len(text) if after == len(words) else words[after].start
        yield Breath(tuple(words[first:after]), end, after == len(words))
        number, first = number + 1, after


def _words_of(parts: list[Part]) -> list[Word]:
    words: list[Word] = []
    for part in parts:
        for number, spoken in enumerate(part.spoken.split()):
            if words and not any(character.isalpha() for character in spoken):
                last = words[-1]
                words[-1] = Word(last.spoken + spoken, last.start, last.inside)
            elif any(character.isalpha() for character in spoken):
                words.append(Word(spoken, part.start if number == 0 else part.end, number > 0))
    return words


def _cut(words: list[Word], first: int, size: int) -> int:
    """Where the breath that begins with ``first`` ends, at best: the number of the word after it."""
    length, best, rank = 0, first + 1, -1
    whole = sum(word.length for word in words[first:])
    if whole <= size * 1.3:
        return len(words)
    for place in range(first, len(words) - 1):
        length += words[place].length
        if length > size and rank >= 0:
            break
        worth = _worth(words, place)
        if length <= size * 0.4:
            worth = min(worth, 0)
        if worth >= rank:
            best, rank = place + 1, worth
        if length > size * 1.4:
            break
    return best


def _worth(words: list[Word], place: int) -> int:
    """How good a place to breathe it is after a word: 2 a mark, 1 before a small word, 0 between words, -1 within."""
    word, following = words[place], words[place + 1]
    if following.inside:
        return -1
    if word.pauses:
        return 2
    small = _MARK.sub("", word.spoken).lower() in _SMALL
    return 1 if following.spoken.lower() in _SMALL and not small else 0
