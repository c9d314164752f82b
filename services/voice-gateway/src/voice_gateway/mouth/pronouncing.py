"""From words as they are read to the sounds of a whole phrase: weak forms, and words that sound by their place.

There is no part-of-speech tagger here: "record", "close" or "read" are told apart by the word before, which is right
for the plain sentences of notes and costs nothing.
"""

from __future__ import annotations

import re
from typing import Final

from voice_gateway.mouth.lexicon import Lexicon
from voice_gateway.mouth.symbols import VOWELS

_TOKEN: Final = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*['’]?|[.,;:!?…—]+")
_MARKS: Final = frozenset(".,;:!?…—")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_BEFORE_VERBS: Final = _words(
    "to will would can could shall should may might must cannot can't don't doesn't didn't won't wouldn't couldn't "
    "shouldn't let's i you we they who please do does did not never always then and"
)
_BEFORE_NOUNS: Final = _words(
    "the a an this that these those my your his her its our their no some any each every of in on for with from by at "
    "into per another which whose"
)
_BE_AND_HAVE: Final = _words("is are was were be been being am has have had having it's he's she's they've")
_OPEN_VERBS: Final = _words("the a an this that these those my your his her its our their it them all each")
_MARK_SOUNDS: Final = {"…": "…", "—": "—"}


def sounds_of(spoken: str, lexicon: Lexicon) -> list[tuple[int, str]]:
    """Where each word of ``spoken`` begins, and its sounds with the marks behind it.

    Digits and other signs must have been written out before; a word that has no sounds is left out.
    """
    matches = list(_TOKEN.finditer(spoken))
    tokens = [match[0] for match in matches]
    said: list[tuple[int, str]] = []
    for place, match in enumerate(matches):
        written = match[0]
        if written[0] in _MARKS:
            if said:
                said[-1] = (said[-1][0], said[-1][1] + _MARK_SOUNDS.get(written[0], written[0]))
            continue
        sounds = _word(tokens, place, lexicon)
        if sounds:
            said.append((match.start(), sounds))
    return said


def _word(tokens: list[str], place: int, lexicon: Lexicon) -> str:
    written = tokens[place]
    following = tokens[place + 1] if place + 1 < len(tokens) else ""
    next_word = following if following and following[0] not in _MARKS else ""
    match written.lower():
        case "a" if next_word and written != "A":
            return "ɐ"
        case "a" if next_word and place == 0:
            return "ɐ"
        case "an":
            return "ɐn"
        case "the":
            return "ði" if _opens_with_vowel(next_word, lexicon) else "ðə"
        case "to" if next_word:
            return "tʊ" if _opens_with_vowel(next_word, lexicon) else "tə"
        case "i":
            return "ˌI"
        case "used" if next_word.lower() == "to" and _before(tokens, place) not in _BE_AND_HAVE:
            return "jˈust"
        case _:
            return lexicon.sounds_of(written, _part(tokens, place, next_word))


def _opens_with_vowel(word: str, lexicon: Lexicon) -> bool:
    return bool(word) and lexicon.sounds_of(word, "DEFAULT").lstrip("ˈˌ")[:1] in VOWELS


def _before(tokens: list[str], place: int) -> str:
    before = tokens[place - 1].lower() if place else ""
    return "" if before[:1] in _MARKS else before


def _part(tokens: list[str], place: int, next_word: str) -> str:
    """The part of speech under which the lexicon would have the word, as far as the words around it tell."""
    before = _before(tokens, place)
    word = tokens[place].lower()
    if before in _BE_AND_HAVE:
        return "VBN" if word == "read" else "ADJ"
    if before in _BEFORE_VERBS:
        return "VERB"
    if before in _BEFORE_NOUNS:
        return "NOUN"
    if not before and next_word.lower() in _OPEN_VERBS:
        return "VERB"
    if not next_word and word in ("by", "that", "in", "on", "up"):
        return "None"
    return "DEFAULT"
