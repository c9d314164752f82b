"""The scanner: at each place the first rule that knows what stands there says how it is read."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import Final

from voice_gateway.mouth.normalising import dates, names, numbers, quantities, signs, words
from voice_gateway.mouth.normalising.rules import Rule

_RULES: Final[tuple[Rule, ...]] = (
    *names.ADDRESSES,
    *words.RULES,
    *dates.RULES,
    *numbers.IN_ORDER,
    *quantities.RULES,
    *numbers.TELEPHONES,
    *names.RULES,
    *numbers.RULES,
    *names.IDENTIFIERS,
)
_LETTER: Final = "[a-zA-ZÀ-ÖØ-öø-ɏḀ-ỿ]"
_WORDS: Final[tuple[Rule, ...]] = (
    (re.compile(rf"{_LETTER}+(?:['’]{_LETTER}+)*(?:(?<=s)['’])?"), lambda match: match[0]),
    (re.compile(r"[0-9]+"), lambda match: numbers.number(match[0])),
)
_LONGEST: Final = 300
"""Characters that one pattern may look at: a text without spaces must not cost the square of its length."""


@dataclass(frozen=True, slots=True)
class Part:
    """How ``[start, end)`` of a text is read: words and marks, never digits or other signs."""

    spoken: str
    start: int
    end: int


def normalised(text: str) -> list[Part]:
    """The parts of ``text`` that are read, in order; white space, emoji and control characters are in none."""
    parts: list[Part] = []
    at = 0
    while at < len(text):
        if text[at].isspace():
            at += 1
            continue
        part = _part(text, at)
        if part.spoken:
            parts.append(part)
        at = part.end
    return parts


def _part(text: str, at: int) -> Part:
    bound = min(len(text), at + _LONGEST)
    # In the middle of a word no rule begins: what is left of it is a word by itself.
    whole = at == 0 or not (text[at - 1].isalnum() and text[at].isalnum())
    for rules in (_RULES, _WORDS, signs.RULES) if whole else (_WORDS, signs.RULES):
        for pattern, read in rules:
            match = pattern.match(text, at, bound)
            if match and match.end() > at and (said := read(match)) is not None:
                return Part(said, at, match.end())
    digit = unicodedata.digit(text[at], None)
    return Part("" if digit is None else numbers.cardinal(digit), at, at + 1)
