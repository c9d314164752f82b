"""What every embedder's answer must be, and how many texts one request carries (C8)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from retriever.embedding.port import Vectors
from retriever.errors import InvalidVectors

BATCH: Final = 32
"""The most texts in one request."""

T = TypeVar("T")


def in_batches(texts: Sequence[T], size: int = BATCH) -> Iterator[Sequence[T]]:
    """Cut texts into runs of at most `size`, and never more than 32."""
    size = max(1, min(size, BATCH))
    for first in range(0, len(texts), size):
        yield texts[first : first + size]


def checked(vectors: ArrayLike, *, texts: int, dimensions: int) -> Vectors:
    """Give the vectors at length 1; :class:`InvalidVectors` unless each text has a finite one that is not zero."""
    try:
        array = np.asarray(vectors, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InvalidVectors("The embedding answered with something that is no array of numbers.") from None
    if array.ndim != 2 or array.shape[0] != texts:
        raise InvalidVectors(f"The embedding answered {len(array) if array.ndim else 0} vectors for {texts} texts.")
    if array.shape[1] != dimensions:
        raise InvalidVectors(f"The embedding's vectors have {array.shape[1]} dimensions, and not {dimensions}.")
    if not np.isfinite(array).all():
        raise InvalidVectors("The embedding answered with a vector that holds something else than finite numbers.")
    lengths = np.linalg.norm(array, axis=1, keepdims=True)
    if not (lengths > 1e-12).all():
        raise InvalidVectors("The embedding answered with a vector of length zero.")
    return (array / lengths).astype(np.float32)
