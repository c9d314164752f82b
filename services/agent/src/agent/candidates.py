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

from agent.evidence import lines_of
from agent.leaning import heading_before, leant_on
from agent.questions import Kind, asked_noun, asking, holds, kind_of
from chassis.language import words
from chassis.rows import cells, header_above, is_header, is_item, line_around
from chassis.sentences import sentence_spans
from contracts.search import Passage, SearchResult, SentenceScore

BEFORE: Final = 0.6
AFTER: Final = 0.4
IN_HEADINGS: Final = 0.6
ASKS: Final = 0.75
"""A heading that holds this share of the question asks it itself; then what stands under it answers."""
MOSTLY: Final = 0.5
"""The share of the question that such a heading must hold without the headings above it."""
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
    noun: str
    """The term of what the answer is: room, in "which room"; nothing when the question does not say it."""
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
    heading_asks: bool
    """The heading above asks the question itself."""
    header: str
    """The header of a table's row; nothing for a sentence."""
    leant_on: str
    """The sentence that names what this one speaks of by a pronoun; nothing when it stands by itself."""
    number: int
    """Its place among the sentences of its passage."""
    item: bool
    """It stands in an item of a list."""
    language: str

    @property
    def asked_above(self) -> bool:
        """Whether it stands first under a heading that asks the question."""
        return self.heading_asks and self.number == 0


def read_question(question: str, found: SearchResult) -> Question:
    """Read a question with what the search knows of its words; without that, every word weighs the same."""
    language = found.language
    noun = asked_noun(question, language)
    asking_words = asking(question, language)
    asked = [word for word in words(question, language) if not asking_words[0] <= word.start < asking_words[1]]
    asked = asked or words(question, language)
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
        noun=next((word.term for word in kept if word.start == noun[0] < noun[1]), ""),
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
        for candidate in _of_passage(question, place, passage, heading_before(passage, found.passages), best, order)
    ]


def _of_passage(
    question: Question, place: int, passage: Passage, above: str, best: float, order: Mapping[str, int]
) -> list[Candidate]:
    language = passage.language
    headings = _terms("\n".join((passage.title or "", *passage.heading, above, passage.context)), language)
    asks = _asks(question, passage, above)
    whole = question.weigh(dict.fromkeys(_terms(passage.text, language) | headings, 1.0))
    sentences = [each for each in _sentences(passage) if _is_text(passage, each)]
    texts = [passage.text[each.span[0] : each.span[1]] for each in sentences]
    headers = [header_above(passage.text, each.span, passage.context) for each in sentences]
    held_by = [_terms(f"{header}\n{text}", language) for header, text in zip(headers, texts, strict=True)]
    found: list[Candidate] = []
    for number, sentence in enumerate(sentences):
        text, header = texts[number], headers[number]
        on = leant_on(texts, number, language)
        held: dict[str, float] = dict.fromkeys(held_by[number + 1] if number + 1 < len(sentences) else (), AFTER)
        held.update(dict.fromkeys(headings, 1.0 if asks else IN_HEADINGS))
        before = {term for near in {number - 1, on} if near is not None and near >= 0 for term in held_by[near]}
        held.update({term: max(BEFORE, held.get(term, 0.0)) for term in before})
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
                heading_asks=asks,
                header=header,
                leant_on=texts[on] if on is not None else "",
                number=number,
                item=_in_list(passage, sentence.span),
                language=language,
                features={
                    "own": question.weigh(dict.fromkeys(held_by[number], 1.0)),
                    "covered": question.weigh(held),
                    "mixed": question.weigh(mixed) if looked_at else None,
                    "passage": whole,
                    "near": sentence.similarity,
                    "share": passage.score / best if best else 0.0,
                    "noun": float(question.noun in held_by[number]) if question.noun else None,
                    "kind": float(kind),
                    "kind_asked": float(kind and question.kind != "thing"),
                    "pairs": _pairs(question, text, language),
                },
            )
        )
    return found


def _sentences(passage: Passage) -> Sequence[SentenceScore]:
    """The sentences of a passage; those in the cells of one row are one."""
    found: list[SentenceScore] = []
    for each in passage.sentences or [SentenceScore(span=span) for span in sentence_spans(passage.text)]:
        line = line_around(passage.text, each.span)
        if len(cells(passage.text[line[0] : line[1]])) > 1 and found and found[-1].span[0] >= line[0]:
            found[-1] = _together(found[-1], each)
        else:
            found.append(each)
    return found


def _together(first: SentenceScore, then: SentenceScore) -> SentenceScore:
    near = [each.similarity for each in (first, then) if each.similarity is not None]
    words_near = (
        tuple(map(max, first.nearest, then.nearest))
        if first.nearest and then.nearest
        else first.nearest or then.nearest
    )
    return SentenceScore(span=(first.span[0], then.span[1]), similarity=max(near) if near else None, nearest=words_near)


def _in_list(passage: Passage, span: tuple[int, int]) -> bool:
    """Say whether a span stands in an item of a list: a marked line, or a paragraph without a blank line beside it.

    The marks of a bulleted list are not in a passage's text, but its lines follow each other.
    """
    if is_item(passage.text, span):
        return True
    text = passage.text
    above, below = text.rfind("\n\n", 0, span[0]), text.find("\n\n", span[0])
    start, end = (above + 2 if above >= 0 else 0), (below if below >= 0 else len(text))
    if text[start:end].rstrip().endswith((":", "：")):
        return False
    first, last = lines_of(passage, (start, end))
    before = text[: max(above, 0)].rpartition("\n\n")[2]
    if before and before not in passage.heading and lines_of(passage, (above - 1, above))[1] + 1 == first:
        return True
    return below >= 0 and lines_of(passage, (below + 2, below + 3))[0] == last + 1


def _is_text(passage: Passage, sentence: SentenceScore) -> bool:
    text = passage.text[sentence.span[0] : sentence.span[1]]
    return (
        text not in passage.heading
        and text != passage.context
        and not is_header(passage.text, sentence.span, passage.context)
    )


def _asks(question: Question, passage: Passage, above: str) -> bool:
    """Say whether a passage's heading asks the question: most of it by itself, the rest with those above it."""
    headings = (passage.title or "", *passage.heading, above)
    last, every = (
        question.weigh(dict.fromkeys(_terms("\n".join(these), passage.language), 1.0))
        for these in ((*passage.heading[-1:], above), headings)
    )
    return every >= ASKS and last >= MOSTLY


def _terms(text: str, language: str) -> set[str]:
    terms = {word.term for word in words(text, language)}
    # To restart is to start again.
    return terms | {f"re{term}" for term in terms} if language == "en" and "again" in terms else terms


def _pairs(question: Question, text: str, language: str) -> float:
    """The share of the question's neighbouring terms that are neighbours in the text too."""
    asked = list(pairwise(question.terms))
    told = set(pairwise([word.term for word in words(text, language) if not word.common]))
    return sum(pair in told for pair in asked) / len(asked) if asked else 0.0


def _rarity(chunks: int, of: int) -> float:
    within = min(chunks, of)
    return math.log(1 + (of - within + 0.5) / (within + 0.5)) / math.log(1 + (of + 0.5) / 0.5)
