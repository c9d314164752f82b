"""The events: past-tense facts, and requests that must not be lost.

::

    ingestor --document.changed, document.deleted, refresh.sealed--> retriever
    retriever --document.indexed, document.rejected, refresh.finished--> whoever shows it (the ingestor counts them)
    agent --turn.requested--> agent workers
    agent --turn.finished--> whoever counts it

An event is delivered at least once, in order for one key when nothing fails, and may come late, twice, and from several
producers at once. Models change by adding fields only; a breaking change is a new ``.v2`` type.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal
from uuid import UUID

from pydantic import Field

from contracts.documents import Chunk, DocumentVersion, Properties
from contracts.refreshes import RefreshReport
from contracts.vocabulary import Count, DocumentPath, Message, Sha256, Timestamp


class Event(Message):
    """A fact on the bus. ``stream`` is where it travels; ``key`` keeps the order of what shares it.

    Each kind has a field ``type`` with its one name as the default: :func:`type_of` reads it.
    """

    stream: ClassVar[str]

    @property
    def key(self) -> str:
        """What this event keeps its order with: a path, a refresh, or a chat."""
        raise TypeError(f"{type(self).__name__} names no key")


def type_of(kind: type[Event]) -> str:
    """The name of a kind of event on the wire, such as ``document.changed.v1``."""
    return str(kind.model_fields["type"].default)


class DocumentChanged(Event):
    """A document was written, or rewritten, in the watched folder."""

    stream: ClassVar[str] = "documents"
    type: Literal["document.changed.v1"] = "document.changed.v1"
    refresh_id: UUID
    path: DocumentPath
    revision: Count
    sha256: Sha256
    saved_at: Timestamp
    properties: Properties = Properties()
    chunker: str
    text: str
    chunks: tuple[Chunk, ...]

    @property
    def key(self) -> str:
        """The document's path."""
        return self.path


class DocumentDeleted(Event):
    """A document left the watched folder."""

    stream: ClassVar[str] = "documents"
    type: Literal["document.deleted.v1"] = "document.deleted.v1"
    refresh_id: UUID
    path: DocumentPath
    revision: Count

    @property
    def key(self) -> str:
        """The document's path."""
        return self.path


class RefreshSealed(Event):
    """A refresh is described in full: when all of this is staged it may become visible."""

    stream: ClassVar[str] = "documents"
    type: Literal["refresh.sealed.v1"] = "refresh.sealed.v1"
    refresh_id: UUID
    started_at: Timestamp
    documents: tuple[DocumentVersion, ...]
    unchanged: Count = 0
    scope: Literal["tree", "paths"] = "paths"

    @property
    def key(self) -> str:
        """The refresh."""
        return str(self.refresh_id)


class DocumentIndexed(Event):
    """A document's revision became visible to searches."""

    stream: ClassVar[str] = "documents"
    type: Literal["document.indexed.v1"] = "document.indexed.v1"
    refresh_id: UUID
    path: DocumentPath
    revision: Count
    chunks: Count
    embedded: Count = Field(description="texts that needed a new vector")
    saved_at: Timestamp
    visible_at: Timestamp
    embedding_ms: float = 0.0

    @property
    def key(self) -> str:
        """The document's path."""
        return self.path


class DocumentRejected(Event):
    """A document's revision could not be indexed; its refresh ends as failed."""

    stream: ClassVar[str] = "documents"
    type: Literal["document.rejected.v1"] = "document.rejected.v1"
    refresh_id: UUID
    path: DocumentPath
    revision: Count
    reason: str

    @property
    def key(self) -> str:
        """The document's path."""
        return self.path


class RefreshFinished(Event):
    """A refresh became visible, or failed and left the corpus as it was."""

    stream: ClassVar[str] = "documents"
    type: Literal["refresh.finished.v1"] = "refresh.finished.v1"
    report: RefreshReport

    @property
    def key(self) -> str:
        """The refresh."""
        return str(self.report.refresh_id)


class TurnRequested(Event):
    """A question waits in a chat: a hint that there is work, never the work itself."""

    stream: ClassVar[str] = "turns"
    type: Literal["turn.requested.v1"] = "turn.requested.v1"
    turn_id: UUID
    chat_id: UUID

    @property
    def key(self) -> str:
        """The chat."""
        return str(self.chat_id)


class TurnFinished(Event):
    """A turn ended, one way or another."""

    stream: ClassVar[str] = "turns"
    type: Literal["turn.finished.v1"] = "turn.finished.v1"
    turn_id: UUID
    chat_id: UUID
    status: Literal["completed", "interrupted", "cancelled", "failed"]
    abstained: bool = False
    waited_ms: float
    searched_ms: float | None = None
    first_delta_ms: float | None = None
    total_ms: float
    input_tokens: Count | None = Field(default=None, description="from the provider's usage, never estimated")
    output_tokens: Count | None = None

    @property
    def key(self) -> str:
        """The chat."""
        return str(self.chat_id)


DocumentEvent = Annotated[
    DocumentChanged | DocumentDeleted | RefreshSealed | DocumentIndexed | DocumentRejected | RefreshFinished,
    Field(discriminator="type"),
]
TurnEvent = Annotated[TurnRequested | TurnFinished, Field(discriminator="type")]

EVENTS: tuple[type[Event], ...] = (
    DocumentChanged,
    DocumentDeleted,
    RefreshSealed,
    DocumentIndexed,
    DocumentRejected,
    RefreshFinished,
    TurnRequested,
    TurnFinished,
)
STREAMS = ("documents", "turns")
