"""Signs in words, and what is said of letters that this voice has no sounds for."""

from __future__ import annotations

import re
import unicodedata
from re import Match
from typing import Final

from voice_gateway.mouth.normalising.rules import Rule

_SIGNS: Final = {
    "&": "and", "+": "plus", "=": "equals", "==": "equals", "===": "equals", "!=": "is not", "≠": "is not",
    "<=": "at most", ">=": "at least", "≤": "at most", "≥": "at least", "<": "less than", ">": "greater than",
    "→": "to", "->": "to", "=>": "to", "⇒": "to", "←": "from", "<-": "from", "↔": "to and from", "×": "times",
    "÷": "divided by", "±": "plus or minus", "≈": "about", "~": "about", "%": "percent", "@": "at", "°": "degrees",
    "§": "section", "√": "the square root of", "∞": "infinity", "½": "one half", "¼": "one quarter",
    "¾": "three quarters", "⅓": "one third", "⅔": "two thirds", "²": "squared", "³": "cubed", "#": "number",
    "€": "euros", "$": "dollars", "£": "pounds", "¥": "yen", "µ": "micro", "Ω": "ohm", "∑": "the sum of", "∈": "in",
    "∆": "delta", "•": ",", "·": ",", "|": ",", "(": ",", ")": ",", "[": ",", "]": ",", "{": ",", "}": ",",
    "›": ",", "/": "slash", "\\": "backslash", "^": "to the power of", "…": "…", "—": "—", "–": "—", " - ": "—",
    "--": "—", "...": "…", "‐": "", "*": "times",
}  # fmt: skip
_WORDS_ONLY: Final = {"*": r"(?<=[\w\s])\*(?=\s?\w)", "/": r"(?<=\S)/(?=\w)", "^": r"(?<=\w)\^(?=\w)"}
_LETTERS: Final = (
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho sigma sigma tau upsilon "
    "phi chi psi omega"
)
_GREEK: Final = tuple(_LETTERS.split())
_SCRIPTS: Final = {
    "CJK": "Chinese", "HIRAGANA": "Japanese", "KATAKANA": "Japanese", "KATAKANA-HIRAGANA": "Japanese",
    "HANGUL": "Korean", "CYRILLIC": "Cyrillic", "ARABIC": "Arabic", "HEBREW": "Hebrew", "THAI": "Thai",
    "DEVANAGARI": "Hindi", "GREEK": "Greek", "BENGALI": "Bengali", "TAMIL": "Tamil", "ARMENIAN": "Armenian",
    "GEORGIAN": "Georgian", "IDEOGRAPHIC": "Chinese",
}  # fmt: skip
_WIDE: Final = {
    "。": ".",
    "．": ".",
    "！": "!",
    "？": "?",
    "，": ",",
    "、": ",",
    "；": ";",
    "：": ":",
    "،": ",",
    "؟": "?",
}
_STOPS: Final = str.maketrans(_WIDE)


def script_of(character: str) -> str:
    """The script of a letter by the first word of its Unicode name: ``LATIN``, ``CJK``, …; nothing for a sign."""
    return unicodedata.name(character, "").split(" ")[0] if character.isalpha() else ""


def _foreign(match: Match[str]) -> str | None:
    text = match[0]
    scripts = [script for script in map(script_of, text) if script and script != "LATIN"]
    if not scripts:
        return None
    if len(text) == 1 and scripts[0] == "GREEK":
        return _greek(text)
    language = "Japanese" if {"HIRAGANA", "KATAKANA"} & set(scripts) else _SCRIPTS.get(scripts[0], "another script")
    # What ends the text ends the phrase too.
    mark = text.rstrip().translate(_STOPS)[-1:]
    return f"text in {language}, on the page" + (mark if mark in ".!?;:" else "")


def _greek(letter: str) -> str:
    place = ord(unicodedata.normalize("NFD", letter.lower())[0]) - ord("α")
    return _GREEK[place] if 0 <= place < len(_GREEK) else "a Greek letter"


def _sign(match: Match[str]) -> str:
    return _SIGNS[match[0]]


def _mark(match: Match[str]) -> str:
    return match[0].translate(_STOPS)[-1]


_NOT_LATIN: Final = r"[^\W\d_a-zA-ZÀ-ɏḀ-ỿªºµΩ]"
_LONG: Final = "|".join(re.escape(sign) for sign in sorted(_SIGNS, key=len, reverse=True) if sign not in _WORDS_ONLY)
RULES: Final[tuple[Rule, ...]] = (
    (re.compile(rf"{_NOT_LATIN}(?:[^a-zA-Z0-9\n]*{_NOT_LATIN})*[。！？]?"), _foreign),
    (re.compile(r"[.,;:!?。．！？，、；：،؟]+(?![^\W_])|[,;:!?。！？，、；：]"), _mark),
    (re.compile("|".join((_LONG, *_WORDS_ONLY.values()))), _sign),
)
"""Other scripts, marks of punctuation, and signs; whatever is in none of them is not spoken."""
