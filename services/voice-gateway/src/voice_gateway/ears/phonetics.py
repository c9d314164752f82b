"""How alike two words sound, roughly enough that a name written down by ear finds the name that was meant.

A word becomes a string of sounds, by its entry in a lexicon where it has one and by English spelling otherwise; two
strings are compared by their edit distance, in which sounds that are taken for each other cost little.
"""

from __future__ import annotations

import re
from typing import Final

_VOWELS: Final = frozenset("aeiou@")
_CLASSES: Final = ("pb", "td", "kg", "fv", "szSZ", "CJSZ", "TDfv", "TDtd", "mnN", "lr", "wv", "yJ")
_LIGHT: Final = frozenset("hwy")
_DIGIT_COST: Final = 3.0
_DARK: Final = frozenset((("l", "u"), ("u", "l"), ("l", "o"), ("o", "l")))
"""An l behind a vowel is heard as one: "valve" as "vow of"."""

_ALIKE: Final = {"p": "pb", "t": "tdTD", "k": "kg", "f": "fv", "s": "szSZCJ", "m": "mnN", "l": "l", "r": "r"}
CONSONANTS: Final = "".join(_ALIKE)
"""The letters of a skeleton."""
_COARSE: Final = str.maketrans(
    dict.fromkeys("aeiou@hwy", "") | {sound: shown for shown, group in _ALIKE.items() for sound in group}
)

_IPA: Final = str.maketrans(
    {
        "ɑ": "a", "æ": "a", "ʌ": "a", "ɐ": "a", "a": "a", "A": "e", "I": "ai", "W": "au", "O": "o", "Q": "o", "Y": "oi",
        "ə": "@", "ᵊ": "@", "ɜ": "@", "ᵻ": "i", "ɪ": "i", "ʊ": "u", "ɛ": "e", "ɔ": "o", "ɒ": "o", "ɹ": "r",
        "ʃ": "S", "ʒ": "Z", "ʤ": "J", "ʧ": "C", "θ": "T", "ð": "D", "ŋ": "N", "ɡ": "g", "ɾ": "t", "T": "t", "ʔ": "t",
        "j": "y", "ˈ": None, "ˌ": None, "ː": None,
    }
)  # fmt: skip
_SPELLINGS: Final = tuple(
    (re.compile(written), sounds)
    for written, sounds in (
        (r"'", ""), (r"^(?:kn|gn|pn)", "n"), (r"^wr", "r"), (r"^x", "z"), (r"^ps", "s"), (r"mb$", "m"),
        (r"(?<=[a-z]{2})e$", ""), (r"(?<=[a-z]{2})es$", "s"),
        (r"dt$", "t"), (r"tsch", "C"),
        (r"sch", "S"), (r"tch|ch(?![rl])", "C"), (r"chr", "kr"), (r"chl", "kl"), (r"sh", "S"), (r"ph", "f"),
        (r"th", "T"), (r"dge|dg(?=[iy])", "J"), (r"ght", "t"), (r"(?<=[aeiou])gh", ""), (r"gh", "g"), (r"wh", "w"),
        (r"ck", "k"), (r"qu", "kw"), (r"x", "ks"), (r"[ct]ion", "S@n"), (r"sion", "Z@n"), (r"sc(?=[eiy])", "s"),
        (r"c(?=[eiy])", "s"), (r"c", "k"), (r"g(?=[ey])", "J"), (r"j", "J"), (r"q", "k"), (r"ng(?![aeiou])", "N"),
        (r"ee|ea|ie", "i"), (r"oo", "u"), (r"ou", "u"), (r"ow|oa|au|aw", "o"), (r"ai|ay|ei|ey", "e"), (r"eu|ew", "u"),
        (r"(?<=[aeiou])y(?=[aeiou])", "Y"), (r"^y", "Y"), (r"y", "i"), (r"Y", "y"), (r"(?<=[aeiou])h(?![aeiou])", ""),
        (r"([a-zSZCJTDN@])\1+", r"\1"), (r"[^a-zSZCJTDN@]", ""),
    )
)  # fmt: skip


def sounds_of_ipa(phonemes: str) -> str:
    """The sounds of a lexicon's entry."""
    return "".join(sound for sound in phonemes.translate(_IPA) if sound.isalpha() or sound == "@")


def sounds_of_spelling(word: str) -> str:
    """The sounds of a word of letters, as an English reader would try it first; digits stand for themselves."""
    return "".join(part if part.isdigit() else _read(part) for part in re.findall(r"\d+|\D+", word.lower()))


def likeness(one: str, other: str) -> float:
    """Of two strings of sounds, 1 when they are the same and 0 when they have nothing in common."""
    longest = max(len(one), len(other))
    return max(0.0, 1 - _distance(one, other) / longest) if longest else 1.0


def skeleton(sounds: str) -> str:
    """The consonants, those that are taken for each other alike; words that sound alike mostly share it."""
    return sounds.translate(_COARSE)


def _read(letters: str) -> str:
    for written, sounds in _SPELLINGS:
        letters = written.sub(sounds, letters)
    return letters


def _distance(one: str, other: str) -> float:
    above = [0.0]
    for sound in other:
        above.append(above[-1] + _alone(sound))
    for first in one:
        row = [above[0] + _alone(first)]
        for place, second in enumerate(other):
            row.append(
                min(
                    above[place] + _instead(first, second),
                    above[place + 1] + _alone(first),
                    row[-1] + _alone(second),
                )
            )
        above = row
    return above[-1]


def _alone(sound: str) -> float:
    if sound.isdigit():
        return _DIGIT_COST
    if sound in _VOWELS:
        return 0.6
    return 0.5 if sound in _LIGHT else 1.0


def _instead(one: str, other: str) -> float:
    if one == other:
        return 0.0
    if one.isdigit() or other.isdigit():
        return _DIGIT_COST
    if (one, other) in _DARK:
        return 0.4
    if one in _VOWELS and other in _VOWELS:
        return 0.2 if "@" in (one, other) else 0.35
    return 0.4 if any(one in group and other in group for group in _CLASSES) else 1.0
