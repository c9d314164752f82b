"""Two things of one name: the sentences that speak of another one than the best sentence does (T14).

::

    "When does Lee arrive?"    guests.md   "Ada Lee arrives on 3 May."     names: Ada Lee
                               crew.md     "Bob Lee arrives on 9 June."    names: Bob Lee     ─> both, each cited
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from chassis.language import words
from contracts.search import Passage

from agent.answerability import Ranked
from agent.candidates import Candidate, Question

CLOSE: Final = 0.9
"""How much of what the best sentence covers of the question a rival must cover too."""
BEHIND: Final = 2.0
"""How far behind the best sentence's score a rival's may be."""
MOST: Final = 2
"""Sentences in all, the best one among them."""

_NAME: Final = re.compile(r"[^\W\d_a-z][^\W\d_]+(?:[ \-][^\W\d_a-z][^\W\d_]+)+")


def same_name(question: Question, ranked: Sequence[Ranked], passages: Sequence[Passage]) -> list[Candidate]:
    """Give the sentences about others of the same name that answer as well as the best one, best first.

    A name of the question that is part of a longer one (Lee: Ada Lee) is ambiguous when another longer one (Bob Lee)
    answers nearly as well in another place. A question that says the longer name is about that one alone.
    """
    best = ranked[0].candidate
    asked = {question.text[word.start : word.end] for word in words(question.text, question.language)}
    mine = _longer(best, passages, asked, question)
    if not mine:
        return []
    rivals: list[Candidate] = []
    taken = set(mine.values())
    for each in ranked[1:]:
        other = each.candidate
        theirs = _longer(other, passages, asked, question)
        differing = {theirs[name] for name in mine.keys() & theirs.keys()} - taken
        covered = (other.features["covered"] or 0.0) >= CLOSE * (best.features["covered"] or 0.0)
        close = covered and each.score >= ranked[0].score - BEHIND
        if differing and close and other.features["kind"] and len(rivals) + 1 < MOST:
            rivals.append(other)
            taken |= differing
    return rivals


def _longer(candidate: Candidate, passages: Sequence[Passage], asked: set[str], question: Question) -> dict[str, str]:
    """The longer names that a sentence, or else its headings, give to the names of the question."""
    passage = passages[candidate.passage]
    found: dict[str, str] = {}
    for text in (candidate.text, *reversed(passage.heading), passage.title or ""):
        for match in _NAME.finditer(text):
            parts = re.split(r"[ \-]", match[0])
            for part in parts:
                is_asked = part in asked and any(word.term in question.names for word in words(part, passage.language))
                if is_asked and not asked.issuperset(parts):
                    found.setdefault(part, match[0])
    return found
