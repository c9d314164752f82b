"""What can go wrong in the retriever; each sentence is the message.

::

    RetrieverError
    ├── MalformedDocument      an event that can never be indexed: dead-lettered at once
    ├── InvalidVectors         the embedding answered with something that is no vector of its kind: likewise
    ├── EmbeddingUnavailable   no vectors now: tried again
    ├── ForeignEmbedding       another retriever of the same corpus is set to another embedding
    ├── UnknownDocument        404
    └── UnknownRefresh         404
"""

from __future__ import annotations

from chassis.plain import Plain


class RetrieverError(Plain):
    """The base of this service's errors."""


class MalformedDocument(RetrieverError):
    """A document event contradicts itself."""


class InvalidVectors(RetrieverError):
    """The embedding's answer is not as many finite, non-zero vectors of the right dimension as were asked for."""


class EmbeddingUnavailable(RetrieverError):
    """The embedding does not answer."""


class ForeignEmbedding(RetrieverError):
    """The corpus is no longer kept in this embedding."""

    def __init__(self, fingerprint: str) -> None:
        super().__init__(
            f"The corpus is no longer kept in {fingerprint}: another retriever replaced it."
            " Give every retriever the same TALKDOWN_EMBEDDINGS, and restart this one."
        )


class UnknownDocument(RetrieverError):
    """Nothing visible has this path."""

    def __init__(self, path: str) -> None:
        super().__init__(f"There is no document {path!r} in the index; it may have been deleted or not indexed yet.")


class UnknownRefresh(RetrieverError):
    """No refresh has this id, or it ended long ago."""

    def __init__(self, refresh_id: object) -> None:
        super().__init__(f"There is no refresh {refresh_id}; refreshes that ended are remembered for a week.")
