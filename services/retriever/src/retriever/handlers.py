"""What becomes of an event: staged, sealed, shown, and told to the others.

Every handler may run late, twice, in any order and in several retrievers at once; each ends by looking whether its
refresh is complete, so whichever comes last shows it.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import AsyncIterator, Mapping
from functools import partial
from typing import Protocol
from uuid import UUID

from chassis import conventions
from chassis.bus import Reject
from chassis.telemetry import span
from contracts.events import (
    DocumentChanged,
    DocumentDeleted,
    DocumentIndexed,
    DocumentRejected,
    Event,
    RefreshSealed,
)
from contracts.refreshes import RefreshReport
from retriever import measuring
from retriever.embedding import PassageText
from retriever.errors import InvalidVectors, MalformedDocument
from retriever.revisions import Revision, revision_of
from retriever.staging import Standing
from retriever.vectors import Embedded, GoesOn
from retriever.visibility import Shown, Step


class Staging(Protocol):
    """Where revisions wait, unseen."""

    async def standing(self, refresh_id: UUID, path: str, revision: int) -> Standing:
        """What is known of a revision now."""
        ...

    async def embedding(self, refresh_id: UUID, texts: int) -> None:
        """Write down that so many more texts of a document have vectors."""
        ...

    async def stage(self, revision: Revision, embedded: int, embedding_ms: float) -> None:
        """Stage a revision whose texts all have vectors."""
        ...

    async def stage_deletion(self, event: DocumentDeleted) -> None:
        """Stage that a document is gone."""
        ...

    async def overtaken(self, refresh_id: UUID, path: str, revision: int) -> None:
        """Count a revision as staged that needs no staging."""
        ...

    async def seal(self, event: RefreshSealed) -> None:
        """Write down what a refresh consists of."""
        ...

    async def fail(self, refresh_id: UUID, reason: str, path: str | None = None) -> RefreshReport | None:
        """End a refresh; its report, or nothing when it had ended."""
        ...


class Visibility(Protocol):
    """What searches see."""

    def show(self, refresh_id: UUID) -> AsyncIterator[Step]:
        """Show what is complete of a refresh, a transaction a step."""
        ...


class Vectors(Protocol):
    """Every text's vector, computed at most once."""

    async def ensure(self, texts: Mapping[bytes, PassageText], goes_on: GoesOn) -> Embedded:
        """Give every text, keyed by its hash, a vector; ``goes_on`` hears of each request that is not the last."""
        ...


class Announce(Protocol):
    """Tells the others, after the commit; a report is announced until that has worked once."""

    async def events(self, *events: Event) -> None:
        """Tell what may be lost."""
        ...

    async def report(self, report: RefreshReport) -> None:
        """Tell the end of a refresh."""
        ...


async def index_document(
    event: DocumentChanged, *, vectors: Vectors, staging: Staging, visibility: Visibility, announce: Announce
) -> None:
    """Stage a document's revision once all its texts have vectors, embedding only the texts that have none yet."""
    standing = await staging.standing(event.refresh_id, event.path, event.revision)
    if not standing.wants(event.revision):
        await staging.overtaken(event.refresh_id, event.path, event.revision)
    else:
        attributes = {
            conventions.REFRESH_ID: str(event.refresh_id),
            conventions.DOCUMENT_PATH: event.path,
            conventions.DOCUMENT_REVISION: event.revision,
        }
        try:
            with span("index document", attributes):
                revision = revision_of(event)
                embedded = await vectors.ensure(revision.texts, partial(staging.embedding, event.refresh_id))
                await staging.stage(revision, embedded.texts, embedded.ms)
        except (MalformedDocument, InvalidVectors) as error:
            raise Reject(str(error)) from error
    await show_refresh(event.refresh_id, visibility=visibility, announce=announce)


async def delete_document(
    event: DocumentDeleted, *, staging: Staging, visibility: Visibility, announce: Announce
) -> None:
    """Stage that a document is gone; it leaves with the rest of its refresh."""
    standing = await staging.standing(event.refresh_id, event.path, event.revision)
    if standing.wants(event.revision):
        await staging.stage_deletion(event)
    else:
        await staging.overtaken(event.refresh_id, event.path, event.revision)
    await show_refresh(event.refresh_id, visibility=visibility, announce=announce)


async def seal_refresh(event: RefreshSealed, *, staging: Staging, visibility: Visibility, announce: Announce) -> None:
    """Write down what the refresh consists of; what is staged of it already counts."""
    await staging.seal(event)
    await show_refresh(event.refresh_id, visibility=visibility, announce=announce)


async def show_refresh(refresh_id: UUID, *, visibility: Visibility, announce: Announce) -> None:
    """Show what is complete of a refresh, and tell the others."""
    async for step in visibility.show(refresh_id):
        measuring.shown(step)
        await announce.events(*(_indexed(refresh_id, one, step.at) for one in step.shown if one.saved_at))
        if step.report:
            await announce.report(step.report)


async def give_up(event: Event | None, reason: str, *, staging: Staging, announce: Announce) -> None:
    """An event becomes a dead letter: its refresh ends as failed, and the corpus stays as it was.

    The refresh of an event that could not even be read is given up later, when it stays incomplete.
    """
    if not isinstance(event, DocumentChanged | DocumentDeleted | RefreshSealed):
        return
    path = None if isinstance(event, RefreshSealed) else event.path
    report = await staging.fail(event.refresh_id, reason, path)
    if report is None:
        return
    if not isinstance(event, RefreshSealed):
        rejected = DocumentRejected(
            refresh_id=event.refresh_id, path=event.path, revision=event.revision, reason=reason
        )
        await announce.events(rejected)
    await announce.report(report)


def _indexed(refresh_id: UUID, shown: Shown, at: dt.datetime) -> DocumentIndexed:
    assert shown.saved_at is not None
    return DocumentIndexed(
        refresh_id=refresh_id,
        path=shown.path,
        revision=shown.revision,
        chunks=shown.chunks,
        embedded=shown.embedded,
        saved_at=shown.saved_at,
        visible_at=at,
        embedding_ms=shown.embedding_ms,
    )
