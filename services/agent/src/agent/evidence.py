"""What a sentence of an answer rests on, by our own comparison with the passages (T9).

A sentence is supported by a place in the sources when that place holds most of its words, every number, every name,
and the same yes or no. What the sentence itself cites is never looked at.

::

    "The code is ORCHID-47."   against   "Its code is ORCHID-47."        supported
                               against   "Its code is ORCHID-74."        not: a number differs
                               against   "Its code is not ORCHID-47."    not: one of them denies
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from agent.answering import Judgement
from chassis.language import words
from chassis.sentences import sentence_spans
from contracts.frames import Support
from contracts.search import Passage
from contracts.vocabulary import Lines

ENOUGH: Final = 0.6
"""The share of a sentence's words that one place must hold; names and numbers must all be there."""
MOST_SUPPORTS: Final = 3
_NEAR_BEST: Final = 0.85

_NUMBER: Final = re.compile(r"\d")
_NUMBER_WORDS: Final = {
    word: str(number)
    for number, together in enumerate(
        (
            "zero null zéro cero",
            "one eins ein eine un une uno una",
            "two zwei deux dos",
            "three drei trois tres",
            "four vier quatre cuatro",
            "five fünf cinq cinco",
            "six sechs seis",
            "seven sieben sept siete",
            "eight acht huit ocho",
            "nine neun neuf nueve",
            "ten zehn dix diez",
            "eleven elf onze once",
            "twelve zwölf douze doce",
        )
    )
    for word in together.split()
}
# A lone "one" or "ein" is an article as often as a number, so it is never demanded.
_ARTICLES: Final = frozenset(["one", "ein", "eine", "un", "une", "uno", "una", "once"])
_DENIAL: Final = re.compile(
    r"\b(?:not|no|never|none|neither|nor|without|cannot|nobody|nothing|nowhere|\w+n['’]t"
    r"|nicht|kein(?:e[nmrs]?)?|nie|niemals|ohne|weder|nichts|niemand"
    r"|ne|pas|jamais|sans|aucune?|ni|nunca|sin|ning[uú]n[ao]?|nada)\b|[不没沒無无未非勿別别]|ない|ません",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class _Claim:
    """What a place must hold for a sentence to rest on it."""

    terms: frozenset[str]
    numbers: frozenset[str]
    names: frozenset[str]
    denies: bool


def judge(sentence: str, passages: Sequence[Passage], /) -> Judgement:
    """Judge one sentence, citations already taken out: the lines that support it, or that none do."""
    scored: list[tuple[float, Passage, tuple[int, int]]] = []
    claims: dict[str, _Claim] = {}
    for passage in passages:
        claim = claims.setdefault(passage.language, _claim(sentence, passage.language))
        for span in _places(passage):
            score = _held(claim, passage, span)
            if score >= ENOUGH:
                scored.append((score, passage, span))
    if not scored:
        return Judgement("unsupported")
    # Of places that say the same the shortest comes first: one sentence rather than the two that hold it.
    scored.sort(key=lambda each: (-each[0], each[2][1] - each[2][0]))
    best = scored[0][0]
    support: list[Support] = []
    for score, passage, span in scored:
        one = Support(source_id=passage.id, lines=lines_of(passage, span))
        known = any(other.source_id == one.source_id for other in support)
        if score >= _NEAR_BEST * best and not known:
            support.append(one)
    return Judgement("supported", tuple(support[:MOST_SUPPORTS]))


def lines_of(passage: Passage, span: tuple[int, int]) -> Lines:
    """Give the lines of the file that hold a span of the passage's text, by its runs (all its lines without any)."""
    if not passage.runs:
        return passage.lines
    starts = [run[0] for run in passage.runs]
    first = passage.runs[max(bisect_right(starts, span[0]) - 1, 0)][2]
    last = passage.runs[max(bisect_right(starts, max(span[1] - 1, span[0])) - 1, 0)][2]
    return (min(first, last), max(first, last))


def _places(passage: Passage) -> Iterator[tuple[int, int]]:
    """The sentences of a passage, and each with the one that follows it."""
    spans = [sentence.span for sentence in passage.sentences] or sentence_spans(passage.text)
    for number, span in enumerate(spans):
        yield span
        if number + 1 < len(spans):
            yield (span[0], spans[number + 1][1])


def _claim(sentence: str, language: str) -> _Claim:
    terms: set[str] = set()
    numbers: set[str] = set()
    names: set[str] = set()
    for place, word in enumerate(words(sentence, language)):
        raw = sentence[word.start : word.end]
        if _NUMBER.search(raw):
            numbers.add(word.term)
        elif raw.lower() in _NUMBER_WORDS:
            if raw.lower() not in _ARTICLES:
                numbers.add(_NUMBER_WORDS[raw.lower()])
        elif not word.common:
            terms.add(word.term)
            # German writes every noun large, so there a large letter tells nothing.
            if raw[0].isupper() and ((place > 0 and language != "de") or raw[1:].lower() != raw[1:]):
                names.add(word.term)
    return _Claim(frozenset(terms), frozenset(numbers), frozenset(names), bool(_DENIAL.search(sentence)))


def _held(claim: _Claim, passage: Passage, span: tuple[int, int]) -> float:
    """How much of a claim a place holds, from 0 to 1; 0 when a number, a name or the yes or no is another."""
    held, denies = _said(passage.text[span[0] : span[1]], passage.language)
    around = held | _named((*passage.heading, passage.context, passage.title or ""), passage.language)
    if not claim.numbers <= around or not claim.names <= around:
        return 0.0
    if claim.denies != denies:
        return 0.0
    every = claim.terms | claim.numbers
    if not every or not every & held:
        return 0.0
    return (len(every & held) + 0.5 * len((every & around) - held)) / len(every)


# Every sentence of an answer is held against the same few passages, whose words are found once.
@lru_cache(maxsize=4096)
def _said(text: str, language: str) -> tuple[frozenset[str], bool]:
    """The terms of a place, numbers that are words as their digits too, and whether it denies something."""
    held: set[str] = set()
    for word in words(text, language):
        held.add(word.term)
        held.add(_NUMBER_WORDS.get(text[word.start : word.end].lower(), word.term))
    return frozenset(held), bool(_DENIAL.search(text))


@lru_cache(maxsize=1024)
def _named(parts: tuple[str, ...], language: str) -> frozenset[str]:
    """The terms of what stands above a place."""
    return frozenset(word.term for part in parts for word in words(part, language))
