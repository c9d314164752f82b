"""Answers without a model of language: whole sentences of the sources, cited, or an honest "not found".

::

    question, passages ─> candidates ─> best sentence ─> does it answer? ──no──> what the notes nearly say
                                                             │yes
                                                             ▼
                                    one or two sentences, each followed by its citation ` [n]`

Nothing is ever put together from two sentences: each is quoted as it stands, so no answer mixes two people of one name.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from agent.ambiguity import same_name
from agent.answerability import Ranked, answer_features, basis_of, chance, fitted, rank
from agent.candidates import Candidate, Question, candidates_of, read_question
from agent.choosing import chosen, is_whole, with_what_follows
from agent.evidence import lines_of
from agent.phrasing import no_notes, nothing_found, several
from agent.quotation import leads_in, led_block, quoted
from contracts.frames import Support
from contracts.search import Passage, SearchResult

MOST_SENTENCES: Final = 2
TOUCHED: Final = 0.5
"""How near in meaning a sentence must come to the question's words when no passage holds any of them."""


@dataclass(frozen=True)
class Quote:
    """A sentence of the answer: its span in the answer's text (citation left out), and what supports it."""

    span: tuple[int, int]
    support: Support
    place: int
    """The 1-based place of its source."""

    @property
    def citation(self) -> str:
        """What follows the quote in the answer."""
        return f" [{self.place}]"

    @property
    def cited_span(self) -> tuple[int, int]:
        """The span with the citation in it."""
        return (self.span[0], self.span[1] + len(self.citation))


@dataclass(frozen=True)
class ExtractiveAnswer:
    """An answer's text with citations ` [n]`, its quotes, and whether it abstains; `confidence` is a chance, 0 to 1."""

    text: str
    quotes: tuple[Quote, ...]
    abstained: bool
    confidence: float


def answer(question: str, found: SearchResult, *, sentences: int = MOST_SENTENCES) -> ExtractiveAnswer:
    """Answer from what was found, with at most `sentences` quoted sentences, or say that it does not hold the answer.

    An abstention is in the question's language and names the nearest passage, when there is one.
    """
    asked = read_question(question, found)
    candidates = candidates_of(asked, found)
    if not candidates:
        return _abstained(asked, found, None, 0.0)
    models = fitted()[basis_of(candidates)]
    every = rank(candidates, models.sentence)
    ranked = [each for each in every if is_whole(each.candidate, every)]
    if not ranked:
        return _abstained(asked, found, every[0].candidate, 0.0)
    score = models.answer(answer_features(asked, ranked, found.passages))
    confidence = chance(score - models.answer.threshold)
    # The models were fitted on questions that share something with the corpus; one that shares nothing is no question
    # of theirs, and "average" would be said of it.
    touched = any(
        each.candidate.features["passage"] or (each.candidate.features["mixed"] or 0.0) >= TOUCHED for each in ranked
    )
    if score < models.answer.threshold or not touched:
        return _abstained(asked, found, ranked[0].candidate, confidence)
    bearers = same_name(asked, ranked, found.passages)
    if bearers:
        named = [said for bearer in bearers for said in _with_its_name(bearer, ranked)]
        return _quoting(found.passages, with_what_follows(named, ranked), confidence, several(asked.language))
    return _quoting(found.passages, chosen(asked, ranked, sentences), confidence)


def _with_its_name(candidate: Candidate, ranked: Sequence[Ranked]) -> list[Candidate]:
    """A sentence about one of several bearers of a name, after the sentence that says whom it speaks of."""
    named = [
        each.candidate
        for each in ranked
        if each.candidate.passage == candidate.passage and each.candidate.text == candidate.leant_on
    ]
    return [*named[:1], candidate]


def _quoting(
    passages: Sequence[Passage], said: Sequence[Candidate], confidence: float, opening: str = ""
) -> ExtractiveAnswer:
    text = opening
    quotes: list[Quote] = []
    for before, candidate in zip([None, *said], said, strict=False):
        passage = passages[candidate.passage]
        led_to = before is not None and leads_in(before) and before.passage == candidate.passage
        if led_to:
            candidate = led_block(candidate, passage.text)
        sentence = quoted(candidate, passage.text, led_to=led_to)
        text += " " if text else ""
        start = len(text)
        text += sentence
        support = Support(source_id=passage.id, lines=lines_of(passage, candidate.span))
        quotes.append(Quote((start, len(text)), support, candidate.passage + 1))
        text += quotes[-1].citation
    return ExtractiveAnswer(text, tuple(quotes), False, confidence)


def _abstained(asked: Question, found: SearchResult, nearest: Candidate | None, confidence: float) -> ExtractiveAnswer:
    passages = found.passages
    if not passages and not found.chunks:
        return ExtractiveAnswer(no_notes(asked.language), (), True, confidence)
    place = nearest.passage if nearest else 0 if passages else None
    text = nothing_found(asked.language, passages[place] if place is not None else None, (place or 0) + 1)
    return ExtractiveAnswer(text, (), True, confidence)
