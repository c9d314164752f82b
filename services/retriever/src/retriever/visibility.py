"""Becoming visible: the one transaction in which a refresh leaves staging and enters the corpus.

::

    refresh row locked ─> complete? ─> corpus row locked ─> old chunks out, new ones and their vectors in, version + 1

The corpus row serialises refreshes; a search sees the corpus before the commit or after it. Only the first filling of
an empty index is shown in slices of whole documents, each such a transaction.
"""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from chassis.postgres import Connection, Pool
from contracts.refreshes import RefreshReport
from retriever.reports import report_of
from retriever.tables import SQL, for_embedding


@dataclass(frozen=True)
class Shown:
    """A document's revision as it became visible; ``became``: added, changed, unchanged, deleted, or nothing."""

    path: str
    revision: int
    became: str
    chunks: int
    embedded: int
    embedding_ms: float
    saved_at: dt.datetime | None


@dataclass(frozen=True)
class Step:
    """What one transaction showed; ``report`` when it was the refresh's last.

    ``started_at`` is the refresh's, by the ingestor's clock, if it is one of saves; of the tree's it is nothing.
    """

    version: int
    at: dt.datetime
    shown: tuple[Shown, ...]
    report: RefreshReport | None
    started_at: dt.datetime | None = None


@dataclass(frozen=True)
class PostgresVisibility:
    """The visible corpus in PostgreSQL; ``slice_documents`` are shown at once while the index is first filled."""

    pool: Pool
    slice_documents: int = 200

    async def show(self, refresh_id: UUID) -> AsyncIterator[Step]:
        """Show what may be shown of a refresh: all of it once it is complete, or the first filling's next slices."""
        while step := await self._step(refresh_id):
            yield step
            if step.report:
                return

    async def _step(self, refresh_id: UUID) -> Step | None:
        async with self.pool.connection() as connection, connection.transaction():
            named: dict[str, Any] = {"refresh_id": refresh_id, "limit": None}
            refresh = await _one(connection, SQL["lock_refresh"], named)
            if not refresh or refresh["status"] != "sealed":
                return None
            complete = not (await _row(connection, SQL["awaited"], named))["awaited"]
            if not complete and refresh["scope"] != "tree":
                return None
            corpus = await _row(connection, SQL["lock_corpus"])
            sliced = refresh["scope"] == "tree" and not corpus["filled"]
            if sliced:
                named["limit"] = self.slice_documents
            if not complete and (not sliced or await _staged(connection, named) < self.slice_documents):
                return None
            at = dt.datetime.now(dt.UTC)
            taken = [Shown(**row) async for row in await connection.execute(SQL["take_staged"], named)]
            shown = tuple(one for one in taken if one.became != "nothing")
            version = await _replace(connection, taken, corpus["version"], at) if taken else corpus["version"]
            await connection.execute(SQL["count_refresh"], named | _counts(taken))
            finished = complete and not await _staged(connection, named | {"limit": 1})
            report = await _finish(connection, refresh_id, refresh["scope"], at) if finished else None
        return Step(version, at, shown, report, refresh["started_at"] if refresh["scope"] == "paths" else None)


async def _replace(connection: Connection, taken: list[Shown], version: int, at: dt.datetime) -> int:
    """Put the taken revisions into the corpus in place of what they replace; gives the new version."""
    version += 1
    named: dict[str, Any] = {
        "version": version,
        "at": at,
        "paths": [one.path for one in taken],
        "revisions": [one.revision for one in taken],
    }
    embeddings = await (await connection.execute(SQL["all_embeddings"])).fetchall()
    async with connection.pipeline():  # one round trip for all of it
        removed = await connection.execute(SQL["remove_chunks"], named)
        await connection.execute(SQL["show_documents"], named)
        added = await connection.execute(SQL["show_chunks"], named)
        for embedding in embeddings:
            query = for_embedding(SQL["show_vectors"], embedding["embedding"])
            await connection.execute(query, named | {"embedding": embedding["embedding"]})
        await connection.execute(SQL["forget_shown"], named)
    more = added.rowcount - removed.rowcount
    await connection.execute(SQL["advance_corpus"], {"version": version, "more": more})
    return version


async def _finish(connection: Connection, refresh_id: UUID, scope: str, at: dt.datetime) -> RefreshReport:
    named = {"refresh_id": refresh_id, "at": at}
    if scope == "tree":
        await connection.execute(SQL["fill_corpus"])
    await connection.execute(SQL["forget_staged"], named)
    return report_of(await _row(connection, SQL["finish_refresh"], named))


def _counts(taken: list[Shown]) -> dict[str, int]:
    counted = Counter(one.became for one in taken)
    counts = {name: counted[name] for name in ("added", "changed", "deleted", "unchanged")}
    return counts | {"embedded": sum(one.embedded for one in taken)}


async def _staged(connection: Connection, named: dict[str, Any]) -> int:
    return (await _row(connection, SQL["count_staged"], named))["staged"]


async def _one(connection: Connection, query: bytes, named: dict[str, Any] | None = None) -> dict[str, Any] | None:
    return await (await connection.execute(query, named)).fetchone()


async def _row(connection: Connection, query: bytes, named: dict[str, Any] | None = None) -> dict[str, Any]:
    row = await _one(connection, query, named)
    assert row is not None
    return row
