"""Numbers as they are spoken, written with digits, so that "forty seven", "four seven" and "47" are the same."""

from __future__ import annotations

from typing import Final

_SMALL: Final = """
    zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
    eighteen nineteen
"""
_ROUND: Final = "twenty thirty forty fifty sixty seventy eighty ninety"
_UNITS: Final = {word: str(value) for value, word in enumerate(_SMALL.split())}
_TENS: Final = {word: str(20 + 10 * place) for place, word in enumerate(_ROUND.split())}


def digits_of(word: str) -> str | None:
    """The digits of one word in small letters ("47", "forty", "forty-seven"), or None when it is no number."""
    if word.isdigit():
        return word
    first, _, second = word.partition("-")
    if second:
        return together(_TENS[first], _UNITS[second]) if first in _TENS and second in _UNITS else None
    return _UNITS.get(word) or _TENS.get(word)


def together(first: str, second: str) -> str:
    """Two numbers spoken one after the other: "40", "7" is 47, and "4", "7" is 47 too."""
    if len(first) == 2 and first.endswith("0") and len(second) == 1 and second != "0":
        return first[0] + second
    return first + second
