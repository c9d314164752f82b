"""Publishing a refresh: its seal first, so that its size is known, then its documents, a few at a time.

At most ``ahead`` documents are on the bus that the index has not staged, so that neither this process nor the bus holds
a whole corpus at once.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import logging
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal
from uuid import UUID, uuid4

from chassis.bus import Bus, BusUnavailable
from chassis.http import CallFailed
from contracts.documents import DocumentVersion
from contracts.events import DocumentChanged, DocumentDeleted, Event, RefreshSealed
from ingestor.index import Index
from ingestor.ledger import Ledger, Standing
from ingestor.preparing import Limits, Prepared, event_of, prepare
from ingestor.scanning import Place, Refusal

__all__ = ["Change", "Publishing"]

log = logging.getLogger(__name__)

GROUP_DOCUMENTS = 16
GROUP_BYTES = 1_000_000
ASK_EVERY_S = 0.2


@dataclass(slots=True)
class Change:
    """What a refresh is to do: documents to send (with the hash that was seen), documents that are gone."""

    scope: Literal["tree", "paths"]
    places: list[tuple[Place, str]] = field(default_factory=list[tuple[Place, str]])
    gone: list[str] = field(default_factory=list[str])
    unchanged: int = 0
    refresh_id: UUID = field(default_factory=uuid4)
    started_at: dt.datetime = field(default_factory=lambda: dt.datetime.now(dt.UTC))


class Publishing:
    """Puts refreshes on the bus and writes down in the ledger what was sent."""

    def __init__(
        self, bus: Bus, index: Index, ledger: Ledger, limits: Limits, *, ahead: int, patience_s: float
    ) -> None:
        self._bus = bus
        self._index = index
        self._ledger = ledger
        self._limits = limits
        self._ahead = ahead
        self._patience_s = patience_s

    async def at_once(self, change: Change, prepared: Sequence[Prepared]) -> None:
        """Publish a small refresh whose documents are prepared already: all its events in one call."""
        revisions = self._revisions([one.reading.path for one in prepared], change.gone)
        hashes = {one.reading.path: one.reading.sha256 for one in prepared}
        events: list[Event] = [
            event_of(one, change.refresh_id, revisions[one.reading.path], self._limits) for one in prepared
        ]
        events += self._deletions(change, revisions)
        self._note(change, revisions, hashes)
        await self._publish(change, [*events, self._seal(change, revisions, hashes)])

    async def bit_by_bit(self, change: Change) -> None:
        """Publish a refresh of any size; what cannot be read any more is sent as gone, so that the refresh can end."""
        hashes = {place.path: sha256 for place, sha256 in change.places}
        revisions = self._revisions(list(hashes), change.gone)
        self._note(change, revisions, hashes)
        await self._publish(change, [self._seal(change, revisions, hashes), *self._deletions(change, revisions)])
        sent = len(change.gone)
        for group in _groups([place for place, _ in change.places]):
            await self._make_room(change.refresh_id, sent)
            prepared = await asyncio.to_thread(prepare, group, self._limits)
            events = [self._event(change, revisions, place, one) for place, one in zip(group, prepared, strict=True)]
            await self._publish(change, events)
            sent += len(group)

    def _event(
        self, change: Change, revisions: dict[str, int], place: Place, prepared: Prepared | Refusal
    ) -> DocumentChanged | DocumentDeleted:
        path, revision = place.path, revisions[place.path]
        if isinstance(prepared, Prepared):
            self._ledger.note_reading(prepared.reading, prepared.cut.notice)
            sha256 = prepared.reading.sha256
            self._renote(change, path, Standing(revision, sha256, self._limits.chunker))
            return event_of(prepared, change.refresh_id, revision, self._limits)
        self._ledger.note_refusals([prepared])
        self._renote(change, path, Standing(revision, None))
        return DocumentDeleted(refresh_id=change.refresh_id, path=path, revision=revision)

    def _renote(self, change: Change, path: str, standing: Standing) -> None:
        """Correct what was noted when the seal was written, unless a save has overtaken it since."""
        noted = self._ledger.sent.get(path)
        if noted and noted.refresh_id == change.refresh_id:
            self._ledger.note_sent(change.refresh_id, {path: standing})

    def _revisions(self, changed: Sequence[str], gone: Sequence[str]) -> dict[str, int]:
        return {path: self._ledger.next_revision(path) for path in (*changed, *gone)}

    def _note(self, change: Change, revisions: dict[str, int], hashes: dict[str, str]) -> None:
        """Write down before publishing: a save that comes meanwhile must get a higher revision."""
        chunker = self._limits.chunker
        self._ledger.note_sent(
            change.refresh_id,
            {path: Standing(revision, hashes.get(path), chunker) for path, revision in revisions.items()},
        )

    def _seal(self, change: Change, revisions: dict[str, int], hashes: dict[str, str]) -> RefreshSealed:
        return RefreshSealed(
            refresh_id=change.refresh_id,
            started_at=change.started_at,
            documents=tuple(
                DocumentVersion(path=path, revision=revision, sha256=hashes.get(path))
                for path, revision in sorted(revisions.items())
            ),
            unchanged=change.unchanged,
            scope=change.scope,
        )

    def _deletions(self, change: Change, revisions: dict[str, int]) -> list[DocumentDeleted]:
        return [
            DocumentDeleted(refresh_id=change.refresh_id, path=path, revision=revisions[path]) for path in change.gone
        ]

    async def _publish(self, change: Change, events: Sequence[Event]) -> None:
        """Publish, waiting for a bus that is away; a refresh that cannot be published was never sent."""
        until = time.monotonic() + self._patience_s
        while True:
            try:
                await self._bus.publish(*events)
                return
            except BusUnavailable:
                if time.monotonic() > until:
                    self._ledger.settle(change.refresh_id, visible=False)
                    raise
                await asyncio.sleep(ASK_EVERY_S)
            except BaseException:
                self._ledger.settle(change.refresh_id, visible=False)
                raise

    async def _make_room(self, refresh_id: UUID, sent: int) -> None:
        """Wait while the index is far behind, but not for ever on one that stands still."""
        waited, last = time.monotonic(), (-1, 0)
        while sent > self._ahead:
            try:
                state = await self._index.refresh(refresh_id)
            except CallFailed:
                come = last
            else:
                if state and state.status in ("finished", "failed"):
                    return
                come = (state.staged, state.texts) if state else (0, 0)
            if sent - come[0] <= self._ahead or time.monotonic() - waited > self._patience_s:
                return
            if come != last:
                waited, last = time.monotonic(), come
            await asyncio.sleep(ASK_EVERY_S)


def _groups(places: Sequence[Place]) -> Iterator[list[Place]]:
    """Neighbouring documents, as many at a time as are read and published together."""
    group: list[Place] = []
    size = 0
    for place in places:
        if group and (len(group) >= GROUP_DOCUMENTS or size + place.mark.size > GROUP_BYTES):
            yield group
            group, size = [], 0
        group.append(place)
        size += place.mark.size
    if group:
        yield group
