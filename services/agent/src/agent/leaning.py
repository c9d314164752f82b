"""Sentences that lean on the one before them: that begin with a pronoun or a connective.

::

    "Marcus Lee stays from 2 to 16 October."
    "His room is the Tern Room."                  leans on the one before, so it speaks of Marcus Lee
    "Then enter the code."                        leans too: what is to be done first stands before it
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from contracts.search import Passage

FARTHEST: Final = 4
"""How many sentences back what a sentence leans on may stand."""

_FOLLOWS: Final = {
    "en": r"(?:then|next|after (?:that|this)|afterwards?|finally|otherwise|if (?:it|they|that|this) (?:does|do|is))",
    "de": r"(?:dann|danach|anschließend|zuletzt|sonst)",
    "zh": r"(?:然后|接着|随后|之后|最后|否则)",
}
_POINTS: Final = {
    "en": r"(?:he|she|it|they|his|her|hers|its|their|theirs|this|these|that|those|both|such)",
    "de": r"(?:er|sie|es|sein(?:e[nmrs]?)?|ihr(?:e[nmrs]?)?|dies(?:e[nmrs]?)?|jene[nmrs]?|beide[nmrs]?)",
    "zh": r"(?:他|她|它|这|那|其)",
}
_BEFORE: Final = r"[\s\"'“„«(*_]*"


def _starts(patterns: Mapping[str, str]) -> dict[str, re.Pattern[str]]:
    ends = {language: "" if language == "zh" else r"\b" for language in patterns}
    return {
        language: re.compile(_BEFORE + pattern + ends[language], re.IGNORECASE)
        for language, pattern in patterns.items()
    }


_FOLLOWS_RE: Final = _starts(_FOLLOWS)
_POINTS_RE: Final = _starts(_POINTS)


def follows(sentence: str, language: str) -> bool:
    """Say whether a sentence begins with a word such as "then": what it tells comes after what stands before it."""
    pattern = _FOLLOWS_RE.get(language)
    return bool(pattern and pattern.match(sentence))


def leans(sentence: str, language: str) -> bool:
    """Say whether a sentence begins with a word that points back; never in a language whose words are not known."""
    pattern = _POINTS_RE.get(language)
    return follows(sentence, language) or bool(pattern and pattern.match(sentence))


def leant_on(sentences: Sequence[str], number: int, language: str) -> int | None:
    """Give the place of the sentence that one leans on, in the end: the nearest before it that stands by itself."""
    at = number
    while at > 0 and number - at < FARTHEST and leans(sentences[at], language):
        at -= 1
    return at if at != number and not leans(sentences[at], language) else None


_HEADING_POINTS: Final = {
    "en": re.compile(r"\b(?:it|them|this|these|that|those)\b", re.IGNORECASE),
    "de": re.compile(r"\b(?:es|ihn|sie|ihm|ihr|ihnen|dies\w*)\b"),
}


def heading_before(passage: Passage, passages: Sequence[Passage]) -> str:
    """Give the heading that a passage's own one leans on, as "Starting it again" does on the section before it.

    Nothing when its heading points at nothing, or when the section before was not found with it.
    """
    points = _HEADING_POINTS.get(passage.language)
    if not passage.heading or points is None or not points.search(passage.heading[-1]):
        return ""
    *parents, own = passage.heading
    beside = {each.ordinal: each.heading for each in passages if each.path == passage.path}
    at = passage.ordinal - 1
    while beside.get(at) == passage.heading:
        at -= 1
    before = beside.get(at, ())
    return before[-1] if before and before[-1] != own and list(before[:-1]) == parents else ""
