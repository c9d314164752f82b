"""A document as it travels: its chunks, and what became of its Markdown on the way to being read aloud."""

from __future__ import annotations

import datetime as dt
import hashlib
from typing import Annotated

from pydantic import Field

from contracts.vocabulary import Count, DocumentPath, Lines, Message, Sha256, SourceId, Span, Timestamp

Run = Annotated[
    tuple[Count, Count, Annotated[int, Field(ge=1)]],
    Field(description="[offset into plain in code points, offset into the file in bytes, line]"),
]
"""From this offset of ``plain`` on, up to the next run, the text stands at this byte and on this line of the file."""


class Chunk(Message):
    """A piece of a document: what is found, quoted, and spoken as one.

    ``span`` is in bytes of the file, and the file's bytes there are the chunk's text as written. ``plain`` is the same
    as a person would read it (no markup, entities resolved); ``runs`` maps it back, at least one run a source line.
    """

    ordinal: Count
    span: Span
    lines: Lines
    heading: tuple[str, ...] = Field(default=(), description="headings above, outermost first, its own last")
    plain: str = Field(max_length=4000)
    runs: tuple[Run, ...] = ()
    context: str = Field(default="", description="what a reader needs beside it: the repeated header row of a table")


class Properties(Message):
    """What a document's front matter says of it."""

    title: str | None = None
    aliases: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    date: dt.date | None = None


class DocumentVersion(Message):
    """One place in a refresh's manifest: a path at a revision, with its hash, or gone."""

    path: DocumentPath
    revision: Count
    sha256: Sha256 | None = Field(default=None, description="null when the document was deleted")


class ManifestEntry(Message):
    """What the retriever holds of one visible document."""

    path: DocumentPath
    revision: Count
    sha256: Sha256
    chunker: str = Field(description="fingerprint of the chunker that cut it")
    embedding: str = Field(description="fingerprint of the vectors it is served with")
    chunks: Count
    language: str
    properties: Properties = Properties()
    saved_at: Timestamp
    indexed_at: Timestamp


def chunk_id(path: str, sha256: str, ordinal: int) -> SourceId:
    """The id of a chunk: the first 16 hexadecimal digits of the sha256 of path, document hash, and ordinal."""
    return hashlib.sha256(f"{path}\n{sha256}\n{ordinal}".encode()).hexdigest()[:16]
