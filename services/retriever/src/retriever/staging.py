"""Staging in PostgreSQL: a refresh is opened by its first event, filled, sealed, or failed; nobody sees it yet.

::

    document.changed, document.deleted ──> revisions, staged_chunks        many at once (the refresh row is shared)
    refresh.sealed ──────────────────────> manifest                        alone       (the refresh row is locked)

A document that is staged while the seal is written waits for it, or it for the document: so the manifest's states are
never out of date, and the last of them to commit finds the refresh complete (:mod:`retriever.visibility`).
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from uuid import UUID

from psycopg.types.json import Jsonb

from chassis.postgres import Connection, Pool
from chassis.telemetry import inject
from contracts.events import DocumentDeleted, RefreshSealed
from contracts.refreshes import RefreshReport
from retriever.reports import report_of
from retriever.revisions import Revision
from retriever.tables import SQL

ENDED = ("finished", "failed")


@dataclass(frozen=True)
class Standing:
    """What is known of a revision: its refresh's status, the visible revision of its path, whether it is staged."""

    status: str | None
    visible: int | None
    staged: bool

    def wants(self, revision: int) -> bool:
        """Whether the revision may still become visible and is not there yet."""
        return self.status not in ENDED and not self.staged and (self.visible is None or self.visible < revision)


@dataclass(frozen=True)
class PostgresStaging:
    """Staged revisions in PostgreSQL."""

    pool: Pool

    async def standing(self, refresh_id: UUID, path: str, revision: int) -> Standing:
        """What is known of a revision now."""
        async with self.pool.connection() as connection:
            named = {"refresh_id": refresh_id, "path": path, "revision": revision}
            row = await (await connection.execute(SQL["standing_of"], named)).fetchone()
        assert row is not None
        return Standing(row["status"], row["visible"], row["staged"])

    async def embedding(self, refresh_id: UUID, texts: int) -> None:
        """Write down that so many more texts of a document have vectors, so that a long one is seen to move."""
        async with self.pool.connection() as connection:
            await connection.execute(SQL["embedding_goes_on"], {"refresh_id": refresh_id, "texts": texts})

    async def stage(self, revision: Revision, embedded: int, embedding_ms: float) -> None:
        """Stage a revision whose vectors are all kept; nothing when its refresh has ended or it is staged already."""
        async with self.pool.connection() as connection, connection.transaction():
            if not await _hold(connection, revision.refresh_id):
                return
            row = {
                **{name: getattr(revision, name) for name in ("path", "revision", "refresh_id", "sha256", "chunker")},
                **{name: getattr(revision, name) for name in ("language", "tags", "day", "text", "saved_at")},
                "properties": Jsonb(revision.properties.model_dump(mode="json")),
                "trace": inject(),
                "embedded": embedded,
                "embedding_ms": embedding_ms,
            }
            if await (await connection.execute(SQL["stage_revision"], row)).fetchone() and revision.chunks:
                named = {"path": revision.path, "revision": revision.revision}
                rows = [{**asdict(chunk), **named} for chunk in revision.chunks]
                async with connection.cursor() as cursor:
                    await cursor.executemany(SQL["stage_chunk"], rows)
            await _mark(connection, revision.refresh_id, revision.path, revision.revision)

    async def stage_deletion(self, event: DocumentDeleted) -> None:
        """Stage that a document is gone."""
        async with self.pool.connection() as connection, connection.transaction():
            if await _hold(connection, event.refresh_id):
                named = event.model_dump(include={"path", "revision", "refresh_id"}) | {"trace": inject()}
                await connection.execute(SQL["stage_deletion"], named)
                await _mark(connection, event.refresh_id, event.path, event.revision)

    async def overtaken(self, refresh_id: UUID, path: str, revision: int) -> None:
        """Count a revision as staged that needs no staging: it, or a newer one, is there."""
        async with self.pool.connection() as connection, connection.transaction():
            if await _hold(connection, refresh_id):
                await _mark(connection, refresh_id, path, revision)

    async def pass_over(self, refresh_id: UUID) -> None:
        """Await nothing of a refresh that is visible at a newer revision."""
        async with self.pool.connection() as connection, connection.transaction():
            if await _hold(connection, refresh_id):
                await connection.execute(SQL["pass_over"], {"refresh_id": refresh_id})

    async def seal(self, event: RefreshSealed) -> None:
        """Write down what the refresh consists of; nothing the second time."""
        async with self.pool.connection() as connection, connection.transaction():
            named = event.model_dump(include={"refresh_id", "started_at", "unchanged", "scope"})
            await connection.execute(SQL["open_refresh"], named)
            row = await (await connection.execute(SQL["lock_refresh"], named)).fetchone()
            if row is None or row["status"] != "open":
                return
            await connection.execute(SQL["seal"], named)
            listed = {
                "refresh_id": event.refresh_id,
                "paths": [document.path for document in event.documents],
                "revisions": [document.revision for document in event.documents],
            }
            await connection.execute(SQL["fill_manifest"], listed)

    async def fail(self, refresh_id: UUID, reason: str, path: str | None = None) -> RefreshReport | None:
        """End a refresh and forget what it staged, but not the vectors; its report, or nothing when it had ended."""
        async with self.pool.connection() as connection, connection.transaction():
            named = {"refresh_id": refresh_id, "reason": reason, "path": path}
            await connection.execute(SQL["open_refresh"], named)
            row = await (await connection.execute(SQL["lock_refresh"], named)).fetchone()
            if row is None or row["status"] in ENDED:
                return None
            failed = await (await connection.execute(SQL["fail_refresh"], named)).fetchone()
            await connection.execute(SQL["forget_staged"], named)
        assert failed is not None
        return report_of(failed)


async def _hold(connection: Connection, refresh_id: UUID) -> bool:
    named = {"refresh_id": refresh_id}
    async with connection.pipeline():
        await connection.execute(SQL["open_refresh"], named)
        held = await connection.execute(SQL["hold_refresh"], named)
    row = await held.fetchone()
    return row is not None and row["status"] not in ENDED


async def _mark(connection: Connection, refresh_id: UUID, path: str, revision: int) -> None:
    await connection.execute(SQL["mark_staged"], {"refresh_id": refresh_id, "path": path, "revision": revision})
