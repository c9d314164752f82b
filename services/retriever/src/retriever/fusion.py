"""Fusing what the legs found: reciprocal ranks, weighted by what each leg knows of the query's language."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from contracts.search import Found, Leg

K: Final = 10
"""The constant of reciprocal rank fusion (Cormack et al. 2009 use 60); 10 was measured best over chunks."""

_ENGLISH_ONLY: Final = ("local/all-MiniLM-L6-v2",)
VECTOR_WEIGHT: Final = 0.7
"""Of a vector leg that knows the language; the lexical leg has 1. Measured best from 0.3 to 1 on English."""

Key = TypeVar("Key", str, int)


@dataclass(frozen=True)
class Hit(Generic[Key]):
    """A chunk that was found: its fused score, and by which legs."""

    key: Key
    score: float
    found: tuple[Found, ...]


def leg_weights(language: str, fingerprint: str) -> dict[Leg, float]:
    """Weigh the legs for a query's language, given the embedding's fingerprint.

    The shipped model reads English alone: in other languages it puts chance before what the words found.
    """
    english_only = fingerprint.startswith(_ENGLISH_ONLY)
    return {"lexical": 1.0, "vector": 0.0 if english_only and language != "en" else VECTOR_WEIGHT}


def fuse(legs: Mapping[Leg, Sequence[tuple[Key, float]]], weights: Mapping[Leg, float]) -> list[Hit[Key]]:
    """Fuse ranked lists of (key, score) into one, best first: the sum of weight / (10 + rank) over the legs.

    Ties break by key (R1). A leg of weight 0 fills up the end of the list only with what no other leg found.
    """
    scores: dict[Key, float] = {}
    found: dict[Key, list[Found]] = {}
    for leg, hits in legs.items():
        for rank, (key, score) in enumerate(hits, start=1):
            scores[key] = scores.get(key, 0.0) + weights.get(leg, 1.0) / (K + rank)
            found.setdefault(key, []).append(Found(leg=leg, rank=rank, score=score))
    order = sorted(scores, key=lambda key: (-scores[key], min(each.rank for each in found[key]), key))
    return [Hit(key, scores[key], tuple(found[key])) for key in order]
