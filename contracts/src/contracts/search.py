"""Asking the retriever: ``POST /search`` and ``GET /documents/{path}``."""

from __future__ import annotations

import datetime as dt
from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field, StringConstraints

from contracts.documents import Properties, Run
from contracts.vocabulary import (
    NO_NUL,
    NO_NUL_SAID,
    Count,
    DocumentPath,
    Lines,
    Message,
    Sha256,
    SourceId,
    Span,
    Storable,
    Timestamp,
)

Leg = Literal["vector", "lexical"]


class Filter(Message):
    """Which documents may answer. Empty means all; several fields must all hold."""

    folder: Storable | None = Field(default=None, description="a folder's path; its subfolders are in it")
    folders: tuple[Storable, ...] = Field(default=(), description="in any of these, as with `folder`")
    tags: tuple[Storable, ...] = Field(default=(), description="any of them")
    since: dt.date | None = None
    until: dt.date | None = None


class SearchRequest(Message):
    """A question for the corpus. ``hits`` before neighbours are added; ``budget`` in characters of context."""

    query: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=2000), NO_NUL, NO_NUL_SAID]
    hits: Annotated[int, Field(ge=1, le=50)] = 5
    budget: Annotated[int, Field(ge=200, le=100_000)] = 6000
    neighbours: Annotated[int, Field(ge=0, le=3)] = 1
    filter: Filter = Filter()


class Found(Message):
    """How one leg found a hit: its place there, from 1, and its score in that leg's own measure."""

    leg: Leg
    rank: Annotated[int, Field(ge=1)]
    score: float


class QueryTerm(Message):
    """A word of the query that carries its subject: where it stands there, its stem, and how common it is."""

    span: Span
    term: str
    chunks: Count = Field(default=0, description="of the corpus that hold the stem, in their text or headings")


class SentenceScore(Message):
    """A sentence of a passage: code points into the passage's text, and its cosine to the query when that is known.

    ``nearest`` is there for the few sentences that speak of the query most: for each of the result's ``terms``, the
    cosine of the sentence's nearest word.
    """

    span: Span
    similarity: float | None = None
    nearest: tuple[float, ...] = ()


class Source(Message):
    """What an answer points at (R7): exactly the text that was used, and where it stands.

    ``text`` is plain (what a person reads). ``version`` is the sha256 of the document that it was taken from.
    """

    id: SourceId
    path: DocumentPath
    ordinal: Count
    heading: tuple[str, ...]
    lines: Lines
    text: str
    version: Sha256
    saved_at: Timestamp


class Passage(Source):
    """A source with what the answerer needs to choose and cite its sentences.

    ``runs`` are those of the chunk, cut to ``text``. A neighbour of a hit has no ``found``.
    """

    title: str | None = None
    context: str = ""
    language: str = "en"
    runs: tuple[Run, ...] = ()
    sentences: tuple[SentenceScore, ...] = ()
    score: float = 0.0
    found: tuple[Found, ...] = ()


class SearchResult(Message):
    """The answer of ``POST /search``.

    ``passages`` are in file and ordinal order; ``context`` is the text for a model, within the budget, headers and
    separators counted: each passage under a header ``[n] path:first-last > heading``, n its 1-based place.
    """

    corpus_version: Count
    language: str = Field(description="of the query, as it was found")
    terms: tuple[QueryTerm, ...] = Field(default=(), description="the query's words that are not common, in order")
    chunks: Count = Field(default=0, description="of the whole corpus, those that no filter let through included")
    passages: tuple[Passage, ...] = ()
    context: str = ""
    notice: str | None = Field(default=None, description="one sentence when a leg did not serve")
    timings_ms: dict[str, float] = Field(default_factory=dict)


class SourceText(Message):
    """``GET /documents/{path}``: the visible text of a document, and its lines."""

    path: DocumentPath
    version: Sha256
    changed: bool = Field(default=False, description="another version than this one was asked for")
    saved_at: Timestamp
    properties: Properties = Properties()
    text: str


class Vocabulary(Message):
    """``GET /vocabulary?most=``: what only these notes say, for ears that must hear it right.

    Titles, names, identifiers, headings, tags and rare words as they are written, each once, the most telling first;
    of one word or a few. It changes with ``corpus_version`` alone: ``If-None-Match: "{corpus_version}"`` gives 304.
    """

    corpus_version: Count
    words: tuple[str, ...]


class RefreshState(Message):
    """``GET /refreshes/{refresh_id}`` of the retriever."""

    refresh_id: UUID
    status: Literal["open", "sealed", "finished", "failed"]
    documents: Count = 0
    staged: Count = 0
    texts: Count = Field(
        default=0,
        description="embedded so far of documents that take several requests: moves while such a one is not staged yet",
    )
