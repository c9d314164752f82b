"""What is counted, and how.

**A passage** is a paragraph of a document: a line that is neither blank nor a heading. The one relevant passage of a
question is the paragraph that its answer was taken from. **A retrieved chunk stands for the paragraphs that its lines
cover**, one after the other in the order of the lines: a chunk of three takes three places. A paragraph counts once, at
its best place, so another piece of the same one takes none. **nDCG@10** is 1 / log2(1 + the relevant passage's place),
or 0 from place 11 on.

**An answer contains the gold answer** when one of the quoted sentences does, letter case and white space apart; a
question that is declined counts as not answered. **A question is declined** when the answer says so itself.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from bench.retrieval.questions import Asked

Paragraph = tuple[str, int]
T = TypeVar("T")


@dataclass(frozen=True)
class Place:
    """Where a retrieved chunk stands: its document, its first and its last line."""

    path: str
    first: int
    last: int


@dataclass(frozen=True)
class Answered:
    """An answer as it was given: the sentences it quotes, in order, and whether it declines."""

    quotes: tuple[str, ...]
    declined: bool


def paragraphs_of(folder: Path) -> dict[str, tuple[int, ...]]:
    """Give the lines of each document that are paragraphs."""
    return {
        path.relative_to(folder).as_posix(): tuple(
            number
            for number, line in enumerate(path.read_text("utf-8").splitlines(), start=1)
            if line.strip() and not line.startswith("#")
        )
        for path in sorted(folder.rglob("*.md"))
    }


def ranked_paragraphs(places: Iterable[Place], paragraphs: Mapping[str, Sequence[int]]) -> list[Paragraph]:
    """Turn ranked chunks into ranked paragraphs, each once, those of a chunk in the order of their lines."""
    covered = (
        (place.path, number)
        for place in places
        for number in paragraphs.get(place.path, ())
        if place.first <= number <= place.last
    )
    return list(dict.fromkeys(covered))


def ndcg_at_10(ranking: Sequence[Paragraph], asked: Asked) -> float:
    """Give the gain of one question, from 0 to 1."""
    place = next((place for place, found in enumerate(ranking[:10], 1) if found == (asked.path, asked.line)), None)
    return 1 / math.log2(1 + place) if place else 0.0


def mean(values: Iterable[float]) -> float:
    """Give the mean, 0 of nothing."""
    listed = list(values)
    return sum(listed) / len(listed) if listed else 0.0


def drawn(items: Sequence[T], count: int, seed: int) -> list[T]:
    """Draw `count` of them by a seed, all when there are fewer."""
    return random.Random(seed).sample(list(items), min(count, len(items)))


def contains(answers: Sequence[tuple[Asked, Answered]]) -> tuple[float, float]:
    """Give the share of answers that contain a gold answer in what they quote, and in the first sentence of it."""
    anywhere = mean(any(map(asked.answered_by, given.quotes)) for asked, given in answers)
    first = mean(bool(given.quotes) and asked.answered_by(given.quotes[0]) for asked, given in answers)
    return anywhere, first


def declined(answers: Iterable[Answered]) -> float:
    """Give the share of answers that decline."""
    return mean(given.declined for given in answers)
