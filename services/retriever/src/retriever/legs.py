"""The vector leg, and the check of the lexical leg's candidates: both inside the search's one snapshot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from chassis.postgres import Connection
from contracts.search import Filter
from retriever.embedding.port import Vectors
from retriever.tables import SQL, for_embedding
from retriever.texts import clean
from retriever.vectors import as_text

MOST_SCANNED = 1_000_000
"""Tuples that the approximate index may walk through to fill a filter."""


@dataclass(frozen=True)
class Hit:
    """A chunk that a leg found; ``id`` decides ties."""

    key: int
    id: str
    score: float


@dataclass(frozen=True)
class Allowed:
    """The documents that a filter leaves, or all of them (``documents`` is null), and how many chunks they have."""

    documents: list[int] | None
    chunks: int


async def allowed(connection: Connection, wanted: Filter, chunks: int) -> Allowed:
    """What a filter leaves of the ``chunks`` of the corpus."""
    if wanted == Filter():
        return Allowed(None, chunks)
    folder = clean(wanted.folder).strip("/") if wanted.folder else ""
    folders = [clean(one).strip("/") for one in wanted.folders]
    named: dict[str, Any] = {
        "folder": folder or None,
        "folders": folders if all(folders) else [],
        "tags": [clean(tag).lower().removeprefix("#") for tag in wanted.tags],
        "since": wanted.since,
        "until": wanted.until,
    }
    row = await (await connection.execute(SQL["matching_documents"], named)).fetchone()
    assert row is not None
    return Allowed(row["documents"], row["chunks"])


async def nearest(
    connection: Connection, embedding: int, query: Vectors, within: Allowed, *, limit: int, exact_up_to: int
) -> list[Hit]:
    """The nearest chunks by cosine: compared one by one where there are few, else by the approximate index.

    Where the index comes short of what there is (its graph does not reach every vector, and its scan has limits) they
    are compared one by one after all.
    """
    named = {"query": as_text(query), "documents": within.documents, "limit": limit}

    async def by(name: str) -> list[Hit]:
        rows = await connection.execute(for_embedding(SQL[name], embedding), named)
        return [Hit(row["key"], row["id"], row["score"]) async for row in rows]

    if within.chunks > exact_up_to:
        scan = {"ef_search": str(min(1000, max(100, 2 * limit))), "max_scan_tuples": str(MOST_SCANNED)}
        await connection.execute(SQL["scan_until_filled"], scan)
        found = await by("nearest_by_index")
        if len(found) >= min(limit, within.chunks):
            return found
    return await by("nearest_exactly")


async def visible(
    connection: Connection, candidates: Sequence[tuple[int, float]], within: Allowed, *, limit: int
) -> list[Hit]:
    """Of the lexical candidates, those that this snapshot holds and the filter allows; ties in order of id."""
    named = {"keys": [key for key, _ in candidates], "documents": within.documents}
    rows = await connection.execute(SQL["visible_candidates"], named)
    ids = {row["key"]: row["id"] async for row in rows}
    hits = [Hit(key, ids[key], score) for key, score in candidates if key in ids]
    return sorted(hits, key=lambda hit: (-hit.score, hit.id))[:limit]
