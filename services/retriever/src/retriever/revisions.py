"""A revision of a document as it is staged: checked, cleaned, and every text of it named by its hash."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID

from chassis.language import detect
from contracts.documents import Properties, chunk_id
from contracts.events import DocumentChanged
from retriever.embedding import PassageText
from retriever.errors import MalformedDocument
from retriever.texts import clean, embedded_text, hash_of


@dataclass(frozen=True)
class StagedChunk:
    """A chunk on its way; ``runs`` flat, as triples of code point, byte, line."""

    ordinal: int
    id: str
    first_byte: int
    end_byte: int
    first_line: int
    last_line: int
    heading: list[str]
    plain: str
    runs: list[int]
    context: str
    text_hash: bytes


@dataclass(frozen=True)
class Revision:
    """A document at a revision; ``texts`` are what must have a vector, by hash."""

    path: str
    revision: int
    refresh_id: UUID
    sha256: str
    chunker: str
    language: str
    properties: Properties
    tags: list[str]
    day: dt.date
    text: str
    saved_at: dt.datetime
    chunks: tuple[StagedChunk, ...]
    texts: Mapping[bytes, PassageText]


def revision_of(event: DocumentChanged) -> Revision:
    """Read a revision from its event; :class:`MalformedDocument` when it can never be indexed."""
    if clean(event.path) != event.path:
        raise MalformedDocument(f"The name {clean(event.path)!r} holds a character that no index can hold: rename it.")
    if sorted(chunk.ordinal for chunk in event.chunks) != list(range(len(event.chunks))):
        raise MalformedDocument(f"The chunks of {event.path} are not numbered from 0 without a gap.")
    properties = _cleaned(event.properties)
    texts: dict[bytes, PassageText] = {}
    chunks: list[StagedChunk] = []
    for chunk in event.chunks:
        heading, plain, context = [clean(part) for part in chunk.heading], clean(chunk.plain), clean(chunk.context)
        text = embedded_text(properties.title, heading, context, plain)
        start = len(text) - len(plain)
        text_hash = hash_of(text, start)
        texts[text_hash] = PassageText(text, start)
        chunks.append(
            StagedChunk(
                ordinal=chunk.ordinal,
                id=chunk_id(event.path, event.sha256, chunk.ordinal),
                first_byte=chunk.span[0],
                end_byte=chunk.span[1],
                first_line=chunk.lines[0],
                last_line=chunk.lines[1],
                heading=heading,
                plain=plain,
                runs=[number for run in chunk.runs for number in run],
                context=context,
                text_hash=text_hash,
            )
        )
    text = clean(event.text)
    return Revision(
        path=event.path,
        revision=event.revision,
        refresh_id=event.refresh_id,
        sha256=event.sha256,
        chunker=clean(event.chunker),
        language=detect(text),
        properties=properties,
        tags=[tag.lower() for tag in properties.tags],
        day=properties.date or event.saved_at.date(),
        text=text,
        saved_at=event.saved_at,
        chunks=tuple(chunks),
        texts=texts,
    )


def _cleaned(properties: Properties) -> Properties:
    return Properties(
        title=clean(properties.title) if properties.title else None,
        aliases=tuple(clean(alias) for alias in properties.aliases),
        tags=tuple(clean(tag) for tag in properties.tags),
        date=properties.date,
    )
