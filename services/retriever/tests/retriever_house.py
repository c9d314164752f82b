"""What the tests of the retriever stand on: notes that become events, and a retriever without a bus."""

from __future__ import annotations

import datetime as dt
import hashlib
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from itertools import count
from typing import Any
from uuid import UUID, uuid4

from chassis.bus import Reject
from chassis.postgres import Pool
from contracts.documents import Chunk, DocumentVersion, Properties
from contracts.events import DocumentChanged, DocumentDeleted, Event, RefreshFinished, RefreshSealed
from contracts.refreshes import Manifest, RefreshReport
from contracts.search import Filter, SearchRequest, SearchResult
from retriever.announcing import Announcements
from retriever.collecting import Collector
from retriever.embedding import Embedder
from retriever.handlers import delete_document, give_up, index_document, seal_refresh
from retriever.lexical import LexicalIndex
from retriever.lexicon import Lexicon
from retriever.models import LoadOther, Models, no_other
from retriever.reading import Corpus
from retriever.rebuilding import Rebuild
from retriever.search import Search
from retriever.settings import Settings
from retriever.staging import PostgresStaging
from retriever.visibility import PostgresVisibility

MIGRATIONS = files("retriever") / "migrations"
SAVED_AT = dt.datetime(2026, 11, 30, 9, 0, tzinfo=dt.UTC)
CHUNKER = "paragraphs-1"
_revisions = count(1)


def sha(text: str) -> str:
    """A document's hash."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def chunks_of(text: str) -> tuple[Chunk, ...]:
    """Cut a text at its blank lines; each paragraph is a chunk whose plain text is itself, with a run for each line."""
    chunks: list[Chunk] = []
    offset, line = 0, 1
    for paragraph in text.split("\n\n"):
        lines = paragraph.split("\n")
        size = len(paragraph.encode("utf-8", "surrogatepass"))
        if paragraph.strip():
            runs: list[tuple[int, int, int]] = []
            point, byte = 0, offset
            for number, row in enumerate(lines):
                runs.append((point, byte, line + number))
                point += len(row) + 1
                byte += len(row.encode("utf-8", "surrogatepass")) + 1
            chunks.append(
                Chunk(
                    ordinal=len(chunks),
                    span=(offset, offset + size),
                    lines=(line, line + len(lines) - 1),
                    plain=paragraph,
                    runs=tuple(runs),
                )
            )
        offset += size + 2
        line += len(lines) + 1
    return tuple(chunks)


@dataclass
class Refresh:
    """A refresh as the ingestor would publish it."""

    scope: str = "paths"
    unchanged: int = 0
    started_at: dt.datetime = SAVED_AT
    id: UUID = field(default_factory=uuid4)
    documents: dict[str, DocumentChanged | DocumentDeleted] = field(
        default_factory=dict[str, DocumentChanged | DocumentDeleted]
    )

    def save(
        self,
        path: str,
        text: str,
        *,
        properties: Properties | None = None,
        saved_at: dt.datetime = SAVED_AT,
        revision: int | None = None,
        chunker: str = CHUNKER,
    ) -> DocumentChanged:
        """A document of it that was written."""
        event = DocumentChanged(
            refresh_id=self.id,
            path=path,
            revision=revision or next(_revisions),
            sha256=sha(text),
            saved_at=saved_at,
            properties=properties or Properties(),
            chunker=chunker,
            text=text,
            chunks=chunks_of(text),
        )
        self.documents[path] = event
        return event

    def delete(self, path: str) -> DocumentDeleted:
        """A document of it that is gone."""
        event = DocumentDeleted(refresh_id=self.id, path=path, revision=next(_revisions))
        self.documents[path] = event
        return event

    @property
    def seal(self) -> RefreshSealed:
        """What it consists of."""
        return RefreshSealed.model_validate(
            {
                "refresh_id": self.id,
                "started_at": self.started_at,
                "scope": self.scope,
                "unchanged": self.unchanged,
                "documents": [
                    DocumentVersion(
                        path=event.path,
                        revision=event.revision,
                        sha256=event.sha256 if isinstance(event, DocumentChanged) else None,
                    )
                    for event in self.documents.values()
                ],
            }
        )

    @property
    def events(self) -> list[Event]:
        """All events of it, in the usual order."""
        return [*self.documents.values(), self.seal]


@dataclass
class Published:
    """A bus that remembers what was published."""

    events: list[Event] = field(default_factory=list[Event])

    async def publish(self, *events: Event) -> None:
        """Remember."""
        self.events.extend(events)

    def reports(self) -> list[RefreshReport]:
        """The ends of refreshes."""
        return [event.report for event in self.events if isinstance(event, RefreshFinished)]


@dataclass
class Retriever:
    """One retriever without a bus and without a server."""

    pool: Pool
    settings: Settings
    models: Models
    lexicon: Lexicon
    search_: Search
    corpus: Corpus
    rebuild: Rebuild
    staging: PostgresStaging
    visibility: PostgresVisibility
    published: Published
    announce: Announcements

    @classmethod
    async def start(
        cls, pool: Pool, embedder: Embedder, settings: Settings, load_other: LoadOther = no_other
    ) -> Retriever:
        """One on a migrated database."""

        async def load() -> Embedder:
            return embedder

        models = Models(pool, load, load_other, batch=settings.embedding_batch)
        await models.run()
        lexicon, published, rebuild = Lexicon(pool, LexicalIndex()), Published(), Rebuild(pool)
        return cls(
            pool=pool,
            settings=settings,
            models=models,
            lexicon=lexicon,
            search_=Search(pool, models, lexicon, settings),
            corpus=Corpus(pool, models, rebuild),
            rebuild=rebuild,
            staging=PostgresStaging(pool),
            visibility=PostgresVisibility(pool, settings.slice_documents),
            published=published,
            announce=Announcements(pool, published),
        )

    def close(self) -> None:
        """End its threads."""
        self.lexicon.close()

    async def handle(self, event: Event) -> None:
        """Handle an event once, as the bus would; an error means that it would come again."""
        on: dict[str, Any] = {
            "staging": self.staging,
            "visibility": self.visibility,
            "announce": self.announce,
        }
        match event:
            case DocumentChanged():
                await index_document(event, vectors=await self.models.ready(), **on)
            case DocumentDeleted():
                await delete_document(event, **on)
            case RefreshSealed():
                await seal_refresh(event, **on)
            case _:
                raise AssertionError(f"the retriever handles no {type(event).__name__}")

    async def give_up(self, event: Event, reason: str) -> None:
        """What the bus tells it before an event becomes a dead letter."""
        await give_up(event, reason, staging=self.staging, announce=self.announce)

    async def take(self, events: Iterable[Event], *, attempts: int = 3) -> None:
        """Handle events in order, with attempts and dead letters like the bus."""
        for event in events:
            for attempt in range(1, attempts + 1):
                try:
                    await self.handle(event)
                    break
                except Reject as error:
                    await self.give_up(event, str(error))
                    break
                except Exception as error:
                    if attempt == attempts:
                        await self.give_up(event, f"{type(error).__name__}: {error}")

    async def show(self, refresh: Refresh) -> RefreshReport:
        """Take a whole refresh and give its report."""
        await self.take(refresh.events)
        return next(report for report in reversed(self.published.reports()) if report.refresh_id == refresh.id)

    async def fill(self, notes: dict[str, str], *, scope: str = "tree") -> RefreshReport:
        """Save some notes in one refresh."""
        refresh = Refresh(scope)
        for path, text in notes.items():
            refresh.save(path, text)
        return await self.show(refresh)

    async def search(self, query: str, **named: Any) -> SearchResult:
        """Ask."""
        wanted = Filter(**named.pop("filter", {}))
        return await self.search_(SearchRequest(query=query, filter=wanted, **named))

    async def manifest(self) -> Manifest:
        """The manifest, read back as the contract has it."""
        return Manifest.model_validate_json(await self.corpus.manifest())

    def collector(self) -> Collector:
        """What clears away."""
        return Collector(self.pool, self.staging, self.visibility, self.announce, self.settings)


Start = Callable[..., Awaitable[Retriever]]
"""Starts one more retriever: ``await start()``, or with an embedder and settings of its own."""


async def dump(pool: Pool) -> dict[str, Sequence[Any]]:
    """The visible corpus, whole and in order, without what no searcher can tell apart (keys, versions, times)."""
    async with pool.connection() as connection:
        documents = await (
            await connection.execute(
                "SELECT path, sha256, chunker, language, properties, tags, day, text, saved_at, chunks"
                " FROM documents WHERE sha256 IS NOT NULL ORDER BY path"
            )
        ).fetchall()
        chunks = await (
            await connection.execute(
                "SELECT d.path, c.ordinal, c.id, c.first_byte, c.end_byte, c.first_line, c.last_line, c.heading,"
                " c.plain, c.runs, c.context, c.text_hash FROM chunks c JOIN documents d USING (document)"
                " ORDER BY d.path, c.ordinal"
            )
        ).fetchall()
        vectors = await (
            await connection.execute(
                "SELECT d.path, c.ordinal, v.id, v.vector::text AS vector FROM vectors_1 v JOIN chunks c USING (key)"
                " JOIN documents d ON d.document = c.document ORDER BY d.path, c.ordinal"
            )
        ).fetchall()
        row = await (await connection.execute("SELECT chunks FROM corpus")).fetchone()
    return {"documents": documents, "chunks": chunks, "vectors": vectors, "count": [row]}
