"""The sentences that could answer a question, each with what speaks for it.

Every figure is from 0 to 1 or missing. Words count by how rare they are in the corpus, so that a missing "Kubernetes"
weighs more than a missing "run".

::

    own        the share of the question's words that the sentence holds
    covered    the same, with those just around it for less: before it and in its headings 0.6, after it 0.4
    mixed      the same, with words that come near in meaning for as much as they are near
    passage    the share that the sentence's whole passage and its headings hold
    near       the cosine of the sentence to the question
    share      its passage's score, as a share of the best passage's
    kind       it holds a thing of the kind that was asked for
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from chassis.language import words
from chassis.sentences import sentence_spans
from contracts.search import Passage, SearchResult, SentenceScore

from agent.questions import Kind, holds, kind_of

BEFORE: Final = 0.6
AFTER: Final = 0.4
IN_HEADINGS: Final = 0.6
ASKS: Final = 0.75
"""A heading that holds this share of the question asks it itself; then what stands under it answers."""
_DIGIT: Final = re.compile(r"\d")

Features = Mapping[str, float | None]


@dataclass(frozen=True)
class Question:
    """A question's terms in order, their weights by rarity (from 0 to 1), and which of them are names or numbers."""

    text: str
    language: str
    kind: Kind
    terms: tuple[str, ...]
    weights: Mapping[str, float]
    names: frozenset[str]
    unknown: frozenset[str]

    def weigh(self, held: Mapping[str, float]) -> float:
        """Give the weighted share of the terms that is held, each to a degree from 0 to 1."""
        whole = sum(self.weights.values())
        return sum(weight * held.get(term, 0.0) for term, weight in self.weights.items()) / whole if whole else 0.0


@dataclass(frozen=True)
class Candidate:
    """A sentence of a passage (both by their places), its text as a span, what it holds, and what speaks for it."""

    passage: int
    span: tuple[int, int]
    text: str
    held: Mapping[str, float]
    mixed: Mapping[str, float]
    features: Features
    looked_at: bool
    asked_above: bool


def read_question(question: str, found: SearchResult) -> Question:
    """Read a question with what the search knows of its words; without that, every word weighs the same."""
    language = found.language
    asked = words(question, language)
    kept = [word for word in asked if not word.common] or asked
    counts = {term.term: term.chunks for term in found.terms}
    known = bool(counts) and found.chunks > 0
    names = {
        word.term
        for word in kept
        if _DIGIT.search(question[word.start : word.end])
        or (language != "de" and word.start > 0 and question[word.start].isupper())
    }
    return Question(
        text=question,
        language=language,
        kind=kind_of(question, language),
        terms=tuple(word.term for word in kept),
        weights={word.term: _rarity(counts.get(word.term, 0), found.chunks) if known else 1.0 for word in kept},
        names=frozenset(names),
        unknown=frozenset(term for term in {word.term for word in kept} if known and not counts.get(term, 0)),
    )


def candidates_of(question: Question, found: SearchResult) -> list[Candidate]:
    """Give every sentence of the passages that is neither a heading nor a repeated table header."""
    best = max((passage.score for passage in found.passages), default=0.0)
    order = {term.term: place for place, term in enumerate(found.terms)}
    return [
        candidate
        for place, passage in enumerate(found.passages)
        for candidate in _of_passage(question, place, passage, best, order)
    ]


def _of_passage(
    question: Question, place: int, passage: Passage, best: float, order: Mapping[str, int]
) -> list[Candidate]:
    language = passage.language
    headings = _terms("\n".join((passage.title or "", *passage.heading, passage.context)), language)
    asks = question.weigh(dict.fromkeys(_terms("\n".join(passage.heading[-1:]), language), 1.0)) >= ASKS
    whole = question.weigh(dict.fromkeys(_terms(passage.text, language) | headings, 1.0))
    sentences = [each for each in _sentences(passage) if _is_text(passage, each)]
    held_by = [_terms(passage.text[each.span[0] : each.span[1]], language) for each in sentences]
    found: list[Candidate] = []
    for number, sentence in enumerate(sentences):
        text = passage.text[sentence.span[0] : sentence.span[1]]
        held: dict[str, float] = dict.fromkeys(held_by[number + 1] if number + 1 < len(sentences) else (), AFTER)
        held.update(dict.fromkeys(headings, 1.0 if asks else IN_HEADINGS))
        held.update({term: max(BEFORE, held.get(term, 0.0)) for term in (held_by[number - 1] if number else ())})
        held.update(dict.fromkeys(held_by[number], 1.0))
        held = {term: degree for term, degree in held.items() if term in question.weights}
        looked_at = len(sentence.nearest) == len(order) > 0
        mixed = {
            term: max(held.get(term, 0.0), sentence.nearest[order[term]] if looked_at and term in order else 0.0)
            for term in question.weights
        }
        kind = holds(question.kind, text, language, question.weights.keys())
        found.append(
            Candidate(
                passage=place,
                span=sentence.span,
                text=text,
                held=held,
                mixed=mixed,
                looked_at=looked_at,
                asked_above=asks and number == 0,
                features={
                    "own": question.weigh(dict.fromkeys(held_by[number], 1.0)),
                    "covered": question.weigh(held),
                    "mixed": question.weigh(mixed) if looked_at else None,
                    "passage": whole,
                    "near": sentence.similarity,
                    "share": passage.score / best if best else 0.0,
                    "kind": float(kind),
                    "kind_asked": float(kind and question.kind != "thing"),
                    "pairs": _pairs(question, text, language),
                },
            )
        )
    return found


def _sentences(passage: Passage) -> Sequence[SentenceScore]:
    return passage.sentences or [SentenceScore(span=span) for span in sentence_spans(passage.text)]


def _is_text(passage: Passage, sentence: SentenceScore) -> bool:
    text = passage.text[sentence.span[0] : sentence.span[1]]
    return text not in passage.heading and text != passage.context


def _terms(text: str, language: str) -> set[str]:
    return {word.term for word in words(text, language)}


def _pairs(question: Question, text: str, language: str) -> float:
    """The share of the question's neighbouring terms that are neighbours in the text too."""
    asked = list(pairwise(question.terms))
    told = set(pairwise([word.term for word in words(text, language) if not word.common]))
    return sum(pair in told for pair in asked) / len(asked) if asked else 0.0


def _rarity(chunks: int, of: int) -> float:
    within = min(chunks, of)
    return math.log(1 + (of - within + 0.5) / (within + 0.5)) / math.log(1 + (of + 0.5) / 0.5)
