"""What web tells the page of the folder and of the system: ``GET /api/corpus``, and the dead letters."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from contracts.refreshes import CorpusState, RefreshProgress, RefreshReport
from contracts.vocabulary import Count, JsonObject, Message, Timestamp
from contracts.voice import LeavesInCalls

Mode = Literal["local", "simulated", "live"]


class Leaves(Message):
    """One kind of data, and where it goes; ``to`` is null when it stays on this machine."""

    what: Literal["documents", "questions", "voice"]
    to: str | None = None


class CorpusFile(Message):
    """One row of the ledger."""

    path: str
    state: Literal["current", "waiting", "rejected"]
    reason: str | None = None
    chunks: Count = 0
    bytes: Count | None = None
    saved_at: Timestamp | None = None
    indexed_at: Timestamp | None = None


class ServiceState(Message):
    """Whether a service answers, as web sees it."""

    name: str
    state: Literal["ready", "starting", "restarting", "down"]
    detail: str | None = None


class Corpus(Message):
    """``GET /api/corpus``: the ledger, with counts, freshness and mode."""

    mode: Mode
    embeddings: str
    answers: str
    voice: str
    voice_ready: bool = Field(default=True, description="false while its models are loaded, or it does not answer")
    leaves: tuple[Leaves, ...]
    calls: tuple[LeavesInCalls, ...] = Field(
        default=(), description="what leaves beside it in calls that the server holds, in each way that it offers"
    )
    state: CorpusState
    version: Count
    folder: str
    watching: Literal["events", "polling"]
    notices: tuple[str, ...] = ()
    documents: Count
    chunks: Count
    rejected: Count
    progress: RefreshProgress | None = None
    last_refresh: RefreshReport | None = None
    files: tuple[CorpusFile, ...]
    services: tuple[ServiceState, ...] = ()
    trace_url: str | None = None


class DeadLetter(Message):
    """An event that was given up, with the reason of its last attempt."""

    id: str
    stream: str
    group: str
    type: str
    event_id: str
    attempts: Count
    reason: str
    died_at: Timestamp
    data: JsonObject


class DeadLetters(Message):
    """``GET /api/dead-letters``."""

    dead_letters: tuple[DeadLetter, ...]


class Replayed(Message):
    """``POST /api/dead-letters/{id}/replay``: published again under a new id."""

    id: str
    event_id: str
