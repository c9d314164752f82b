"""Which sentences an answer quotes beside the best one, and in which order.

A second sentence is said when it is nearly as good as the best one. When a question asks what to do and a heading asks
the same, what stands under the heading is told from its beginning. A sentence that ends with a colon is never said
without what it leads to, and a list is said to its end.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from agent.answerability import Basis, Ranked, basis_of
from agent.candidates import Candidate, Question
from agent.leaning import follows
from agent.questions import asks_how
from agent.quotation import leads_in

FAR_BEHIND: Final[dict[Basis, float]] = {"near": 3.5, "words": 6.0}
"""A further sentence whose score is this far behind the best one's is left out.

By words alone the scores lie further apart. Of 576 tuning questions that are answered, two in five answers get shorter
by it, and two lose the sentence that held the answer.
"""


LONGEST_LIST: Final = 12
"""In sentences."""
_THESE: Final = re.compile(
    r"\b(?:these|the following|as follows|folgende[ns]?|diese|ces|les suivantes?|estos|estas|los siguientes)\b",
    re.IGNORECASE,
)


def chosen(question: Question, ranked: Sequence[Ranked], most: int) -> list[Candidate]:
    """Give at most `most` sentences in the order in which they are said; the best one is always among them.

    What the best one leads to is said with it, however few they should be.
    """
    best = ranked[0].candidate
    if most > 1 and asks_how(question.text, question.language) and best.heading_asks:
        steps = [each.candidate for each in ranked if each.candidate.passage == best.passage]
        first = sorted(steps, key=lambda step: step.number)[:most]
        return with_what_follows(first if best in first else [best], ranked)
    far_behind = FAR_BEHIND[basis_of([each.candidate for each in ranked])]
    others: list[Candidate] = []
    taken = with_what_follows([best], ranked)
    for each in ranked[1:]:
        if len(taken) >= most or each.score < ranked[0].score - far_behind:
            break
        told = any(each.candidate.text == said.text for said in taken)
        more = with_what_follows([*taken, each.candidate], ranked)
        if not told and len(more) <= most and not _another_thing(each.candidate, best):
            others.append(each.candidate)
            taken = more
    return with_what_follows(in_order([best, *others]), ranked)


def with_what_follows(said: Sequence[Candidate], ranked: Sequence[Ranked]) -> list[Candidate]:
    """Put after each sentence that leads to something what it leads to, a list to its end; each is said once."""
    whole: list[Candidate] = []
    for candidate in said:
        following: Candidate | None = candidate
        listing = False
        while following is not None and following not in whole:
            whole.append(following)
            then = _next(following, ranked)
            listing = then is not None and then.item and len(whole) < LONGEST_LIST and (listing or _lists(following))
            following = then if listing or leads_in(following) else None
    return whole


def is_whole(candidate: Candidate, ranked: Sequence[Ranked]) -> bool:
    """Say whether a sentence can be said: it ends with no colon, or what it leads to is there."""
    following: Candidate | None = candidate
    while following is not None and leads_in(following):
        following = _next(following, ranked)
    return following is not None


def _lists(candidate: Candidate) -> bool:
    """Say whether a sentence leads to a list, should one follow."""
    return not candidate.item and (leads_in(candidate) or bool(_THESE.search(candidate.text)))


def _next(candidate: Candidate, ranked: Sequence[Ranked]) -> Candidate | None:
    place = (candidate.passage, candidate.number + 1)
    return next((each.candidate for each in ranked if (each.candidate.passage, each.candidate.number) == place), None)


def _another_thing(row: Candidate, best: Candidate) -> bool:
    """Say whether a row of the best row's table holds less of the question, and so speaks of another thing."""
    same_table = row.header == best.header != "" and row.passage == best.passage
    return same_table and (row.features["own"] or 0.0) < (best.features["own"] or 0.0)


def in_order(said: Sequence[Candidate]) -> list[Candidate]:
    """Put before the best sentence what comes first in its note, where the best one would be misread without.

    That is the sentence before one that begins with "then", one that leads to it with a colon, and a table's row before
    what is told of the table.
    """
    best = said[0]
    first = [other for other in said[1:] if other.passage == best.passage and _comes_first(other, best)]
    return [*first, best, *(other for other in said[1:] if other not in first)]


def _comes_first(other: Candidate, best: Candidate) -> bool:
    if other.number == best.number - 1 and (follows(best.text, best.language) or leads_in(other)):
        return True
    return bool(other.header) and not best.header and other.number < best.number
