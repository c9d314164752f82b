"""Kokoro's symbols: the numbers that its published configuration gives to the sounds of English and to the marks.

Sounds are written in its American notation: one letter a diphthong (``A`` as in "day", ``I`` "high", ``W`` "how", ``O``
"so", ``Y`` "boy"), ``T`` the flapped t of "water", ``ᵊ`` a schwa that hardly sounds, ``ᵻ`` the vowel of "roses"; stress
stands before its vowel.
"""

from __future__ import annotations

from typing import Final

LONGEST: Final = 510
"""Symbols in one input of the model, without the padding at both ends."""

_NUMBERS: Final = {
    ";": 1, ":": 2, ",": 3, ".": 4, "!": 5, "?": 6, "—": 9, "…": 10, " ": 16,
    "A": 24, "I": 25, "O": 31, "T": 36, "W": 39, "Y": 41, "ᵊ": 42,
    "b": 44, "d": 46, "f": 48, "h": 50, "i": 51, "j": 52, "k": 53, "l": 54, "m": 55, "n": 56, "p": 58, "s": 61,
    "t": 62, "u": 63, "v": 64, "w": 65, "z": 68, "ɑ": 69, "ɐ": 70, "æ": 72, "ɔ": 76, "ð": 81, "ʤ": 82, "ə": 83,
    "ɛ": 86, "ɜ": 87, "ɡ": 92, "ɪ": 102, "ŋ": 112, "θ": 119, "ɹ": 123, "ʃ": 131, "ʧ": 133, "ʊ": 135, "ʌ": 138,
    "ʒ": 147, "ˈ": 156, "ˌ": 157, "ᵻ": 177,
}  # fmt: skip
# The lexicon writes the flap and the glottal stop in the notation of a later model.
_SAME: Final = str.maketrans({"ɾ": "T", "ʔ": "t"})

VOWELS: Final = frozenset("AIOWYiuɑɐæɔəɛɜɪʊʌᵊᵻ")


def numbers_of(sounds: str) -> list[int]:
    """The model's numbers for ``sounds``; what it has no number for is left out."""
    return [_NUMBERS[symbol] for symbol in sounds.translate(_SAME) if symbol in _NUMBERS]
