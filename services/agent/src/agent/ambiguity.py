"""Two things of one name: what the notes say of each, when the question does not tell which one it means (T14).

::

    "When does Lee arrive?"    guests.md   "Ada Lee arrives on 3 May."            Ada Lee
                               crew.md     "Bob Lee is a cook."                   Bob Lee
                                           "He arrives on 9 June."                Bob Lee, by what it leans on

Each is named by the sentence that answers, or by the one that it leans on, which is then quoted before it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from agent.answerability import Ranked
from agent.candidates import Candidate, Question
from chassis.language import Word, words
from contracts.search import Passage

CLOSE: Final = 0.9
"""How much of what the best sentence covers of the question one of the same note must cover too."""
BEHIND: Final = 2.0
"""How far behind the best sentence's score one of the same note may be."""
MOST: Final = 2
"""Bearers of one name that are told of."""

_NAME: Final = re.compile(r"[^\W\d_a-z][^\W\d_]+(?:[ \-][^\W\d_a-z][^\W\d_]+)+")


def same_name(question: Question, ranked: Sequence[Ranked], passages: Sequence[Passage]) -> list[Candidate]:
    """Give the best sentence about each bearer of an ambiguous name, best first; nothing when no name is ambiguous.

    A name that stands alone in the question (Lee) is ambiguous when it is the same part of two longer names that the
    sentences speak of (Ada Lee, Bob Lee). A question that says a longer name is about that one alone.
    """
    alone = _alone(question)
    mine = _bearers(ranked[0].candidate, passages, alone, question) if alone else {}
    if not mine:
        return []
    told = [ranked[0].candidate]
    taken = {name: [bearer] for name, bearer in mine.items()}
    for each in ranked[1:]:
        theirs = _bearers(each.candidate, passages, alone, question)
        another = {name: bearer for name, bearer in theirs.items() if name in mine}
        differs = another and all(_differs(name, bearer, taken[name]) for name, bearer in another.items())
        if len(told) < MOST and differs and _answers_too(ranked[0], each, passages):
            told.append(each.candidate)
            for name, bearer in another.items():
                taken[name].append(bearer)
    if len(told) < 2:
        return []
    return [_saying_the_noun(each, ranked, passages, alone, question) for each in told]


def _answers_too(best: Ranked, other: Ranked, passages: Sequence[Passage]) -> bool:
    """Say whether a sentence is to be told of: any of another note, one as good as the best one of the same note."""
    if passages[other.candidate.passage].path != passages[best.candidate.passage].path:
        return passages[other.candidate.passage].score > 0
    covered, wanted = (each.candidate.features["covered"] or 0.0 for each in (other, best))
    close = covered >= CLOSE * wanted and other.score >= best.score - BEHIND
    named = not other.candidate.leant_on and not best.candidate.leant_on
    return close and named and bool(other.candidate.features["kind"])


def _saying_the_noun(
    candidate: Candidate, ranked: Sequence[Ranked], passages: Sequence[Passage], alone: set[str], question: Question
) -> Candidate:
    """The best sentence about the same bearer that holds the room of "which room"; the sentence itself without any."""
    if not question.noun or candidate.features["noun"]:
        return candidate
    mine = _bearers(candidate, passages, alone, question)
    holding = (
        each.candidate
        for each in ranked
        if each.candidate.features["noun"]
        and each.candidate.passage == candidate.passage
        and _bearers(each.candidate, passages, alone, question) == mine
    )
    return next(holding, candidate)


def _alone(question: Question) -> set[str]:
    """The names of the question that are no part of a longer name in it.

    German writes every noun large, so there a large letter tells no name, and nothing is taken for ambiguous.
    """
    if question.language == "de":
        return set()
    found = words(question.text, question.language)
    names = [_is_name(question, word) for word in found]
    return {
        question.text[word.start : word.end]
        for place, word in enumerate(found)
        if names[place] and not any(names[max(place - 1, 0) : place]) and not any(names[place + 1 : place + 2])
    }


def _is_name(question: Question, word: Word) -> bool:
    """Say whether a word is written as a name is; what is all capitals is an abbreviation (UK)."""
    return question.text[word.start : word.end].istitle() and not word.common


def _differs(name: str, bearer: str, others: Sequence[str]) -> bool:
    """Say whether a longer name is another than all of the others, the name at the same end of each."""
    parts = _parts(bearer)
    return all(
        not {*parts} <= {*_parts(other)}
        and not {*_parts(other)} <= {*parts}
        and any(parts[end] == _parts(other)[end] == name for end in (0, -1))
        for other in others
    )


def _bearers(candidate: Candidate, passages: Sequence[Passage], alone: set[str], question: Question) -> dict[str, str]:
    """The longer names that a sentence, what it leans on, or else its headings give to the names of the question."""
    passage = passages[candidate.passage]
    asked = {question.text[word.start : word.end].lower() for word in words(question.text, question.language)}
    for text in (candidate.text, candidate.leant_on, *reversed(passage.heading), passage.title or ""):
        found: dict[str, str] = {}
        common = {text[word.start : word.end] for word in words(text, passage.language) if word.common}
        for match in _NAME.finditer(text):
            parts = [part for part in _parts(match[0]) if part not in common]
            if len(parts) > 1 and not asked.issuperset(part.lower() for part in parts):
                for part in alone.intersection(parts):
                    found.setdefault(part, " ".join(parts))
        if found:
            return found
    return {}


def _parts(name: str) -> list[str]:
    return re.split(r"[ \-]", name)
