"""What is asked about the corpus, beside searches: its manifest, its documents, its refreshes, its state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol
from uuid import UUID

import orjson

from chassis.postgres import Connection, Pool
from contracts.refreshes import CorpusState, Manifest, RefreshProgress
from contracts.search import RefreshState, SourceText
from retriever.errors import UnknownDocument, UnknownRefresh
from retriever.reports import report_of
from retriever.tables import SQL
from retriever.texts import clean


class Embedding(Protocol):
    """What is known of the configured embedding."""

    @property
    def fingerprint(self) -> str | None:
        """What it is called, once it is loaded."""
        ...

    @property
    def failure(self) -> str | None:
        """Why it is not loaded, in one sentence."""
        ...


class Building(Protocol):
    """How much a new embedding still lacks, in chunks."""

    @property
    def missing(self) -> int:
        """How many."""
        ...


@dataclass(frozen=True)
class Standing:
    """The corpus in a few words; ``why`` when it failed."""

    state: CorpusState
    version: int
    chunks: int
    serving: str | None
    why: str | None = None


class Corpus:
    """Reads the corpus; the documents of a manifest are written out once a version."""

    def __init__(self, pool: Pool, embedding: Embedding, building: Building) -> None:
        self._pool = pool
        self._embedding = embedding
        self._building = building
        self._written: tuple[int, bytes] = (-1, b"[]")
        self.state: CorpusState = "building"

    async def standing(self) -> Standing:
        """The state of the corpus now."""
        async with self._pool.connection() as connection:
            return await self._standing(connection)

    async def manifest(self) -> bytes:
        """The body of ``GET /manifest``: a :class:`contracts.refreshes.Manifest` as JSON."""
        async with self._pool.connection() as connection, connection.transaction():
            await connection.execute(SQL["one_snapshot"])
            standing = await self._standing(connection)
            last = await _one(connection, "last_refresh")
            progress = await _one(connection, "progress")
            if self._written[0] != standing.version:
                rows = await (await connection.execute(SQL["manifest_documents"])).fetchall()
                self._written = (standing.version, _documents(rows, standing.serving))
        head = Manifest(
            state=standing.state,
            version=standing.version,
            chunks=standing.chunks,
            embedding=self._embedding.fingerprint or standing.serving or "",
            served_embedding=standing.serving,
            notice=self._notice(standing),
            progress=RefreshProgress(**progress) if progress else None,
            last_refresh=report_of(last) if last else None,
            documents=(),
        )
        body = head.model_dump_json(exclude={"documents"}).encode()
        return body[:-1] + b',"documents":' + self._written[1] + b"}"

    async def document(self, path: str, version: str | None) -> SourceText:
        """The visible text of a document; ``changed`` when another version was asked for."""
        async with self._pool.connection() as connection:
            row = await _one(connection, "document_text", {"path": clean(path)})
        if row is None:
            raise UnknownDocument(path)
        changed = version is not None and version != row["sha256"]
        return SourceText(
            path=path,
            version=row["sha256"],
            changed=changed,
            saved_at=row["saved_at"],
            properties=row["properties"],
            text=row["text"],
        )

    async def refresh(self, refresh_id: UUID) -> RefreshState:
        """How far a refresh has come."""
        async with self._pool.connection() as connection:
            row = await _one(connection, "refresh_state", {"refresh_id": refresh_id})
        if row is None:
            raise UnknownRefresh(refresh_id)
        opened = row["status"] == "open"
        documents, staged = (row["unsealed"],) * 2 if opened else (row["documents"], row["staged"])
        return RefreshState(
            refresh_id=refresh_id, status=row["status"], documents=documents, staged=staged, texts=row["texts"]
        )

    async def missing(self) -> str | None:
        """Why questions cannot be answered yet, in one sentence; nothing when they can."""
        standing = await self.standing()
        if standing.state == "failed":
            return f"the first refresh failed: {standing.why or 'no reason was given'}"
        if standing.state == "building" and not standing.version:
            return self._embedding.failure or "the first documents are being indexed"
        return None

    async def _standing(self, connection: Connection) -> Standing:
        row = await _one(connection, "corpus_state")
        assert row is not None
        why = None
        self.state = "current" if row["filled"] else "building"
        if not row["filled"] and not row["busy"]:
            ended = await _one(connection, "last_tree_refresh")
            if ended and ended["status"] == "failed":
                self.state, why = "failed", ended["reason"]
        return Standing(self.state, row["version"], row["chunks"], row["serving"], why)

    def _notice(self, standing: Standing) -> str | None:
        if self._embedding.failure:
            return f"{self._embedding.failure} Questions are answered by words alone, and changes wait."
        if self._embedding.fingerprint and standing.serving not in (None, self._embedding.fingerprint):
            return (
                f"The index is being built with another embedding model ({self._building.missing:,} passages to go);"
                " until then the one before serves, or words alone."
            )
        return None


async def _one(connection: Connection, name: str, named: Mapping[str, Any] | None = None) -> dict[str, Any] | None:
    return await (await connection.execute(SQL[name], named)).fetchone()


def _documents(rows: list[dict[str, Any]], serving: str | None) -> bytes:
    return orjson.dumps([{**row, "embedding": serving} for row in rows], option=orjson.OPT_UTC_Z)
