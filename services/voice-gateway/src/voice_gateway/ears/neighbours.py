"""Correct an English word by the one beside it: "the amber vow of" was "the amber valve", which the notes speak of.

A recogniser that is sure of "amber" may still write what sounds like the next word. Titles, headings and names tell
which words stand together in these notes; what stands in such a place and sounds like the word that belongs there
becomes that word.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from itertools import pairwise
from typing import Final, Protocol

from voice_gateway.ears.phonetics import likeness

_WORD: Final = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_TOGETHER: Final = re.compile(r"[ \-]+")
_SHORTEST: Final = 4
"""Letters of a word that tells what stands beside it, and of that word."""
_LIKE_ONE, _LIKE_MORE = 0.86, 0.78
"""How alike one word, and how alike two that the recogniser made of one, have to be."""
_MOST: Final = 2


class Sounding(Protocol):
    """The dictionary that this needs."""

    def sounds(self, word: str) -> str:
        """Of a word in small letters."""
        ...

    def is_common(self, word: str) -> bool:
        """Whether it is an everyday word, in whatever form."""
        ...


class Neighbours:
    """The words that stand together in a vocabulary; calling it gives the corrected text."""

    def __init__(self, phrases: Iterable[str], lexicon: Sounding) -> None:
        self._lexicon = lexicon
        self._after: dict[str, set[str]] = defaultdict(set)
        self._before: dict[str, set[str]] = defaultdict(set)
        for phrase in phrases:
            words = [word.lower() for word in _WORD.findall(phrase)]
            for first, second in pairwise(words):
                if min(len(first), len(second)) >= _SHORTEST and lexicon.is_common(first) and lexicon.is_common(second):
                    self._after[first].add(second)
                    self._before[second].add(first)

    def __call__(self, text: str) -> str:
        """The text, with the words that belong beside others in the place of what sounds like them."""
        words = list(_WORD.finditer(text))
        found: list[tuple[int, int, str]] = []
        for place, match in enumerate(words):
            known = match[0].lower()
            after = self._meant(text, words, place + 1, 1, self._after.get(known))
            before = self._meant(text, words, place - 1, -1, self._before.get(known))
            for span in filter(None, (before, after)):
                if not found or span[0] >= found[-1][1]:
                    found.append(span)
        made, copied = list[str](), 0
        for start, end, word in found:
            made += (text[copied:start], word.capitalize() if text[start].isupper() else word)
            copied = end
        return "".join((*made, text[copied:]))

    def _meant(
        self, text: str, words: list[re.Match[str]], place: int, step: int, expected: set[str] | None
    ) -> tuple[int, int, str] | None:
        """Where words begin and end that sound like an expected one, from ``place`` on in a direction, and that one."""
        best: tuple[float, tuple[int, int, str]] | None = None
        for count in range(1, _MOST + 1) if expected else ():
            last = place + step * (count - 1)
            if not 0 <= last < len(words):
                break
            low, high = sorted((place, last))
            reach = range(min(low, place - step), max(high, place - step))
            if not all(_TOGETHER.fullmatch(text[words[at].end() : words[at + 1].start()]) for at in reach):
                break
            span = [words[at][0].lower() for at in range(low, high + 1)]
            if any(_same(span[0 if step > 0 else -1], word) for word in expected or ()):
                return None
            spoken = "".join(self._lexicon.sounds(word) for word in span)
            for word in expected or ():
                like = likeness(spoken, self._lexicon.sounds(word))
                if like >= (_LIKE_ONE if count == 1 else _LIKE_MORE) and (best is None or like > best[0]):
                    best = like, (words[low].start(), words[high].end(), word)
        return best[1] if best else None


def _same(word: str, other: str) -> bool:
    """Whether two words differ at most in their ending."""
    stem = min(len(word), len(other))
    return word[: max(stem - 1, 3)] == other[: max(stem - 1, 3)] and abs(len(word) - len(other)) <= 3
