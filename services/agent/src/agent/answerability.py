"""Which sentence answers best, and whether it answers at all: two small linear models over what speaks for a sentence.

::

    candidates ── sentence model ──> the best sentence ── answer model ──> the chance that it answers

Their coefficients are data, `answerability.json`, fitted by `python -m bench.retrieval.train` on questions whose answer
is in the corpus, and on the same questions when it has been taken out. There is a pair for searches that tell
similarities (`near`), and one for those that tell words alone (`words`). Each figure is centred and scaled as it was in
training; one that is missing counts as average.
"""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from typing import Any, Final, Literal

from agent.candidates import Candidate, Features, Question
from contracts.search import Leg, Passage

Basis = Literal["near", "words"]

SENTENCE_FEATURES: Final[dict[Basis, tuple[str, ...]]] = {
    "near": ("covered", "mixed", "near", "share", "kind", "kind_asked", "passage"),
    "words": ("covered", "share", "kind", "kind_asked", "passage", "pairs"),
}
ANSWER_FEATURES: Final[dict[Basis, tuple[str, ...]]] = {
    "near": (
        "best", "lead", "mixed", "most_mixed", "passage_mixed", "passage_lead", "near_lead", "pairs", "names", "kind",
        "vector_lead",
    ),
    "words": ("best", "lead", "mixed", "most_mixed", "passage_mixed", "passage_lead", "pairs", "names", "kind"),
}  # fmt: skip

ASKED_ABOVE: Final = 2.0
"""What the first sentence under a heading that asks the question gains, in the sentence model's own measure.

Set by hand: the questions of the training have no headings above them.
"""


@dataclass(frozen=True)
class Linear:
    """A linear model: for each feature its mean, its scale and its weight."""

    features: Mapping[str, tuple[float, float, float]]
    intercept: float = 0.0
    threshold: float = 0.0

    def __call__(self, values: Features) -> float:
        """Give the score of a set of features; a missing one counts as average."""
        score = self.intercept
        for name, (mean, scale, weight) in self.features.items():
            value = values.get(name)
            if value is not None:
                score += weight * (value - mean) / scale
        return score


@dataclass(frozen=True)
class Models:
    """The sentence model and the answer model of one basis."""

    sentence: Linear
    answer: Linear


@dataclass(frozen=True)
class Ranked:
    """A candidate and its score."""

    score: float
    candidate: Candidate


@lru_cache(maxsize=1)
def fitted() -> dict[Basis, Models]:
    """Read the coefficients that come with the package."""
    data = json.loads(resources.files("agent").joinpath("answerability.json").read_text("utf-8"))
    return {
        basis: Models(_linear(data[basis]["sentence"]), _linear(data[basis]["answer"])) for basis in ("near", "words")
    }


def basis_of(candidates: Sequence[Candidate]) -> Basis:
    """Tell which pair of models fits what the search told."""
    return "near" if any(candidate.features["near"] is not None for candidate in candidates) else "words"


def rank(candidates: Sequence[Candidate], model: Linear) -> list[Ranked]:
    """Order candidates, best first, ties in order of place."""
    scored = [
        Ranked(model(candidate.features) + (ASKED_ABOVE if candidate.asked_above else 0.0), candidate)
        for candidate in candidates
    ]
    return sorted(scored, key=lambda each: (-each.score, each.candidate.passage, each.candidate.span))


def answer_features(question: Question, ranked: Sequence[Ranked], passages: Sequence[Passage]) -> Features:
    """Give what speaks for the best candidate's being an answer, and for its standing out from the others."""
    best = ranked[0].candidate
    others = [
        each.score for each in ranked if each.candidate.passage != best.passage and each.candidate.text != best.text
    ]
    near = [value for each in ranked if (value := each.candidate.features["near"]) is not None]
    best_near = best.features["near"]
    shares = sorted({each.candidate.passage: each.candidate.features["passage"] or 0.0 for each in ranked}.values())
    together: dict[str, float] = {}
    for each in ranked:
        if each.candidate.passage == best.passage:
            for term, degree in each.candidate.mixed.items():
                together[term] = max(degree, together.get(term, 0.0))
    return {
        "best": ranked[0].score,
        "lead": ranked[0].score - max(others) if others else None,
        "mixed": question.weigh(best.mixed),
        "most_mixed": max(question.weigh(each.candidate.mixed) for each in ranked),
        "passage_mixed": question.weigh(together),
        "passage_lead": shares[-1] - statistics.fmean(shares[-4:-1]) if len(shares) > 1 else None,
        "near_lead": (best_near - statistics.fmean(near)) / (statistics.pstdev(near) + 0.05)
        if best_near is not None
        else None,
        "pairs": max(each.candidate.features["pairs"] or 0.0 for each in ranked),
        "names": _names(question, best),
        "kind": best.features["kind"],
        "vector_lead": _lead(passages, "vector"),
    }


def chance(score: float) -> float:
    """Turn the answer model's score into a chance from 0 to 1."""
    return 1 / (1 + math.exp(-max(-60.0, min(60.0, score))))


def _names(question: Question, candidate: Candidate) -> float:
    """The weighted share of the question's names and numbers that the sentence or its surroundings hold."""
    whole = sum(question.weights[name] for name in question.names)
    return (
        sum(question.weights[name] * candidate.held.get(name, 0.0) for name in question.names) / whole if whole else 1.0
    )


def _lead(passages: Sequence[Passage], leg: Leg) -> float | None:
    """By how much a leg's best score is above the mean of the next three; texts that repeat count once."""
    by_text = {passage.text: found.score for passage in passages for found in passage.found if found.leg == leg}
    scores = sorted(by_text.values(), reverse=True)
    return scores[0] - statistics.fmean(scores[1:4]) if len(scores) > 1 else None


def _linear(data: Any) -> Linear:
    features = {
        str(name): (float(mean), float(scale), float(weight))
        for name, (mean, scale, weight) in data["features"].items()
    }
    return Linear(features, float(data["intercept"]), float(data["threshold"]))
