"""The ledger of the folder: what a refresh did, and what became of every file."""

from __future__ import annotations

from typing import Literal
from uuid import UUID

from pydantic import Field

from contracts.documents import ManifestEntry
from contracts.vocabulary import Count, Message, Sha256, Timestamp

CorpusState = Literal["building", "current", "failed"]


class RejectedFile(Message):
    """A file that was seen and not taken, with the reason in one sentence."""

    path: str
    reason: str


class RefreshReport(Message):
    """What a refresh did (C7). ``failed`` leaves the corpus as it was, and says why in ``reason``."""

    refresh_id: UUID
    status: Literal["finished", "failed"]
    reason: str | None = None
    added: Count = 0
    changed: Count = 0
    deleted: Count = 0
    unchanged: Count = 0
    rejected: tuple[RejectedFile, ...] = ()
    embedded: Count = Field(default=0, description="texts that needed a new vector")
    started_at: Timestamp
    finished_at: Timestamp
    duration_ms: float


class RefreshProgress(Message):
    """How far the refresh that runs has come."""

    refresh_id: UUID
    documents: Count
    staged: Count
    visible: Count = 0


class Manifest(Message):
    """``GET /manifest`` of the retriever: every visible document, and the state of the corpus."""

    state: CorpusState
    version: Count = Field(description="increases each time something becomes visible")
    chunks: Count
    embedding: str = Field(description="fingerprint of the configured embedding")
    served_embedding: str | None = Field(
        None, description="fingerprint that vector search is served with; null: lexical alone"
    )
    notice: str | None = Field(default=None, description="one sentence when a leg is missing or being rebuilt")
    progress: RefreshProgress | None = None
    last_refresh: RefreshReport | None = None
    documents: tuple[ManifestEntry, ...]


class SeenFile(Message):
    """A file as the ingestor saw it."""

    path: str
    state: Literal["accepted", "rejected"]
    reason: str | None = None
    bytes: Count | None = None
    sha256: Sha256 | None = None
    revision: Count | None = None
    saved_at: Timestamp | None = None


class Files(Message):
    """``GET /files`` of the ingestor: what it saw, why it refused, and how it watches."""

    folder: str
    watching: Literal["events", "polling"]
    notice: str | None = Field(default=None, description="why it polls, in one sentence")
    reconciled_at: Timestamp | None = None
    files: tuple[SeenFile, ...]


class RefreshRequested(Message):
    """``POST /refresh`` (ingestor), ``POST /api/corpus/refresh`` (web); answered by a :class:`RefreshReport`."""

    rebuild: bool = Field(default=False, description="read and cut every file anew, also the unchanged ones")
