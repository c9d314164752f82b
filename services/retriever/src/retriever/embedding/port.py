"""The port of the embedders, and how the vectors of sentences are kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from chassis.sentences import sentence_spans

Vectors = NDArray[np.float32]


@dataclass(frozen=True)
class PassageText:
    """A text to embed; what a person reads of it begins at the code point `start` (before it stand its headings)."""

    text: str
    start: int = 0

    def sentences(self) -> list[tuple[int, int]]:
        """Give the sentences of the part that a person reads, as spans into the whole text."""
        return [(self.start + first, self.start + end) for first, end in sentence_spans(self.text[self.start :])]


@dataclass(frozen=True)
class PassageVectors:
    """The vector of a passage, of length 1, and of its sentences in order, packed; empty when the model gives none."""

    vector: Vectors
    sentences: bytes = b""


class Embedder(Protocol):
    """Turns texts into vectors; what it computes, it computes off the event loop.

    Raises :class:`retriever.errors.InvalidVectors` and :class:`retriever.errors.EmbeddingUnavailable`.
    """

    @property
    def fingerprint(self) -> str:
        """Provider, model and dimensions: vectors of one fingerprint may be compared with each other."""
        ...

    @property
    def dimensions(self) -> int:
        """The length of every vector."""
        ...

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """Give one vector of length 1 a text, in order, as an array of shape (texts, dimensions)."""
        ...

    async def embed_passages(self, passages: Sequence[PassageText]) -> list[PassageVectors]:
        """Give the vectors of passages and of their sentences, in order."""
        ...

    async def nearest_words(
        self, query: str, words: Sequence[tuple[int, int]], sentences: Sequence[str]
    ) -> list[list[float]] | None:
        """Give, for each sentence, the cosine of its nearest word to each of the query's words (spans into it).

        Null when the model does not tell. Takes about 8 ms a sentence with the local model: ask of a handful.
        """
        ...


def pack(vectors: Vectors) -> bytes:
    """Keep vectors of length 1 in a byte a dimension; their cosines change by less than 0.01."""
    if not len(vectors):
        return b""
    largest = np.abs(vectors).max(axis=1, keepdims=True)
    return np.rint(vectors / np.maximum(largest, 1e-12) * 127).astype(np.int8).tobytes()


def similarities(query: Vectors, sentences: bytes) -> list[float]:
    """Give the cosine of a query's vector (shape: dimensions) to each of the packed sentences, in order."""
    if not sentences:
        return []
    kept = np.frombuffer(sentences, dtype=np.int8).reshape(-1, len(query)).astype(np.float32)
    lengths = np.maximum(np.linalg.norm(kept, axis=1), 1e-12)
    found: list[float] = (kept @ query / lengths).tolist()
    return found
