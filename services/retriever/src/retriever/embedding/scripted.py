"""An embedding for tests: the words of a text, hashed; the same on every machine (C9)."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from typing import Final

import numpy as np

from retriever.embedding.checks import checked
from retriever.embedding.port import PassageText, PassageVectors, Vectors, pack

_WORD: Final = re.compile(r"[^\W_]+")
_PLACES: Final = 4


class ScriptedEmbedder:
    """Hashes each lower-case word of letters and digits to four signed positions; no model, no waiting."""

    dimensions: int = 1536
    fingerprint: str = "scripted/hashed-words-1/1536"

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """Give one vector a text, in order."""
        return _vectors(texts)

    async def embed_passages(self, passages: Sequence[PassageText]) -> list[PassageVectors]:
        """Give the vectors of passages and of their sentences, in order."""
        return [
            PassageVectors(vector, pack(_vectors([passage.text[first:end] for first, end in passage.sentences()])))
            for passage, vector in zip(passages, _vectors([passage.text for passage in passages]), strict=True)
        ]

    async def nearest_words(
        self, query: str, words: Sequence[tuple[int, int]], sentences: Sequence[str]
    ) -> list[list[float]] | None:
        """Tell nothing: hashed words are near to themselves alone."""
        return None


def _vectors(texts: Sequence[str]) -> Vectors:
    if not texts:
        return np.empty((0, ScriptedEmbedder.dimensions), np.float32)
    return checked([_vector(text) for text in texts], texts=len(texts), dimensions=ScriptedEmbedder.dimensions)


def _vector(text: str) -> list[float]:
    vector = [0.0] * ScriptedEmbedder.dimensions
    for word in _WORD.findall(text.lower()):
        digest = hashlib.sha256(word.encode("utf-8", "surrogatepass")).digest()
        for place in range(_PLACES):
            number = int.from_bytes(digest[4 * place : 4 * place + 4], "big")
            vector[(number >> 1) % ScriptedEmbedder.dimensions] += 1.0 if number & 1 else -1.0
    if not any(vector):
        # No words, or words that cancel each other out: a fixed direction, so that the text still has a place.
        vector[0] = 1.0
    return vector
