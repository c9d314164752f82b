"""A phrase in pieces: Kokoro makes an input's sound whole, so a short first piece is what makes the first sound early.

A piece must be made while the ones before it play. The model takes about half the time that its sound lasts, and about
0.3 s beside, so every piece may be longer than the one before; no longer than :data:`_SIZES` end, since memory grows
with the length of an input. Pieces end where a speaker could take breath: after a comma, before "and" or "in", and
within something that is written as one (a number, a path) only when it is longer than a piece.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from voice_gateway.mouth.normalising import Part

_SIZES: Final = {True: (22, 42, 70, 90), False: (50, 70)}
"""Of pieces in letters as spoken (about 14 a second), when somebody waits for the first and when nobody does."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_SMALL: Final = _words(
    "and or but that which who because if when while is are was were has have had can must will to in on for with from "
    "by at of into than as so then not the a an"
)
_CLAUSE_ENDS: Final = tuple(",;:—….!?")
_MARK: Final = re.compile(r"[.,;:!?…—]")


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a phrase: as it was written, and as it is spoken. ``last`` is the phrase's last one."""

    text: str
    spoken: str
    last: bool


@dataclass(frozen=True, slots=True)
class _Word:
    spoken: str
    start: int
    """Where the piece that begins with it begins in the written text."""
    inside: bool
    """Whether it belongs to what was written as one with the word before."""


def pieces(text: str, parts: list[Part], *, hurried: bool) -> Iterator[Piece]:
    """Cut ``text`` whose spoken form is ``parts``; joined, the texts of the pieces are ``text``."""
    words = _words_of(parts)
    sizes, number, first = _SIZES[hurried], 0, 0
    while first < len(words):
        after = _cut(words, first, sizes[min(number, len(sizes) - 1)])
        start = 0 if first == 0 else words[first].start
        end = len(text) if after == len(words) else words[after].start
        yield Piece(text[start:end], " ".join(word.spoken for word in words[first:after]), after == len(words))
        number, first = number + 1, after


def _words_of(parts: list[Part]) -> list[_Word]:
    words: list[_Word] = []
    for part in parts:
        for number, spoken in enumerate(part.spoken.split()):
            if words and not any(character.isalpha() for character in spoken):
                last = words[-1]
                words[-1] = _Word(last.spoken + spoken, last.start, last.inside)
            elif any(character.isalpha() for character in spoken):
                words.append(_Word(spoken, part.start if number == 0 else part.end, number > 0))
    return words


def _cut(words: list[_Word], first: int, size: int) -> int:
    """Where the piece that begins with ``first`` ends, at best: the number of the word after it."""
    length, best, rank = 0, first + 1, -1
    whole = sum(len(word.spoken) + 1 for word in words[first:])
    if whole <= size * 1.3:
        return len(words)
    for place in range(first, len(words) - 1):
        length += len(words[place].spoken) + 1
        if length > size and rank >= 0:
            break
        worth = _worth(words, place)
        if length <= size * 0.4:
            worth = min(worth, 0)
        if worth >= rank:
            best, rank = place + 1, worth
        if length > size * 2:
            break
    return best


def _worth(words: list[_Word], place: int) -> int:
    """How good a place to breathe it is after a word: 2 a mark, 1 before a small word, 0 between words, -1 within."""
    word, following = words[place], words[place + 1]
    if following.inside:
        return -1
    if word.spoken.endswith(_CLAUSE_ENDS):
        return 2
    small = _MARK.sub("", word.spoken).lower() in _SMALL
    return 1 if following.spoken.lower() in _SMALL and not small else 0
