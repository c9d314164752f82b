"""Refreshing the index from the folder: a save is a refresh of one path; start, overflow and command are of the tree.

::

    hint of the watcher ──> Saves (saving.py) ──> look, read, cut ───────────> at once ──┐
    start, timer, command ─> refresh_tree ─> manifest, look, hash, compare ─> bit by bit ─> bus ─> retriever
                                   └── waits for the end, and reports it <── refresh.finished <──┘
"""

from __future__ import annotations

import asyncio
import datetime as dt
import logging
from collections.abc import Callable, Iterable
from pathlib import Path

from chassis import conventions
from chassis.telemetry import span
from contracts.refreshes import Manifest, RefreshReport, RejectedFile
from ingestor.index import Index
from ingestor.ledger import Ledger
from ingestor.outcomes import Outcomes
from ingestor.preparing import Limits, bounded, read_all
from ingestor.publishing import Change, Publishing
from ingestor.scanning import Place, Refusal, Scan, scan

__all__ = ["Refreshing"]

log = logging.getLogger(__name__)

READ_AT_ONCE = 64
# An event comes within milliseconds; a change this old that no event told of will not be told of any more.
UNTOLD_AFTER_S = 3.0


class Refreshing:
    """Compares the whole folder with the index, one comparison at a time, and sends what differs."""

    def __init__(
        self, folder: Path, limits: Limits, ledger: Ledger, index: Index, publishing: Publishing, outcomes: Outcomes
    ) -> None:
        self._folder = folder
        self._limits = limits
        self._ledger = ledger
        self._index = index
        self._publishing = publishing
        self._outcomes = outcomes
        self._one_at_a_time = asyncio.Lock()
        self.compared = asyncio.Event()
        self.reconciled_at: dt.datetime | None = None
        self.linked = False
        self.on_untold: Callable[[int], None] = lambda count: None

    async def refresh_tree(self, *, rebuild: bool = False) -> RefreshReport:
        """Make the index what the folder is, and report it (C7); a second call waits for the first to end.

        Raises :class:`chassis.http.CallFailed`, :class:`chassis.bus.BusError` or
        :class:`ingestor.errors.FolderUnavailable` when it could not be tried.
        """
        async with self._one_at_a_time:
            with span("ingest folder") as current:
                started = dt.datetime.now(dt.UTC)
                await self._outcomes.give_up_lost()
                manifest = await self._index.manifest()
                self._ledger.take_manifest(manifest)
                found = await self._look()
                change, apart = await self._compare(found, rebuild=rebuild)
                change.started_at = started
                current.set_attribute(conventions.REFRESH_ID, str(change.refresh_id))
                self.compared.set()
                report = await self._carry_out(change, manifest)
                extra = [await self._carry_out(one, manifest) for one in apart]
                self.reconciled_at = dt.datetime.now(dt.UTC)
        return self._reported(report, extra, found, started)

    async def _look(self) -> Scan:
        found = bounded(await asyncio.to_thread(scan, self._folder), self._limits)
        self.linked = found.linked
        return found

    async def _compare(self, found: Scan, *, rebuild: bool) -> tuple[Change, list[Change]]:
        """What to send together; and apart from it, each alone, what the index could not take the last time."""
        change, apart = Change("tree"), list[Change]()
        hashes, refusals, news = await self._hashes(found, rebuild=rebuild)
        found.refusals = refusals
        untold = 0
        for place in found.places:
            sha256 = hashes.get(place.path)
            if sha256 is None:
                continue
            if not rebuild and self._is_current(place.path, sha256):
                change.unchanged += 1
            elif self._ledger.is_blocked(place.path, sha256):
                apart.append(Change("paths", [(place, sha256)]))
            else:
                change.places.append((place, sha256))
                untold += place.path in news and _is_old(place)
        there = set(hashes) | {refusal.path for refusal in refusals}
        change.gone = await self._gone(hashes, refusals)
        self._ledger.keep_only(there, ("",))
        if untold and self.compared.is_set() and not rebuild:
            self.on_untold(untold)
        return change, apart

    async def _hashes(self, found: Scan, *, rebuild: bool) -> tuple[dict[str, str], list[Refusal], set[str]]:
        """The hash of each document, what could not be read, and the paths whose content was never seen before."""
        hashes: dict[str, str] = {}
        news: set[str] = set()
        refusals = list(found.refusals)
        unread: list[Place] = []
        for place in found.places:
            sha256 = None if rebuild else self._ledger.hash_of(place)
            if sha256:
                hashes[place.path] = sha256
            else:
                unread.append(place)
        for start in range(0, len(unread), READ_AT_ONCE):
            for taken in await asyncio.to_thread(read_all, unread[start : start + READ_AT_ONCE], self._limits):
                if isinstance(taken, Refusal):
                    refusals.append(taken)
                    continue
                reading = taken.reading
                hashes[reading.path] = reading.sha256
                seen = self._ledger.seen.get(reading.path)
                if seen is None or (seen.state == "accepted" and seen.sha256 != reading.sha256):
                    news.add(reading.path)
                self._ledger.note_reading(reading, taken.notice)
        self._ledger.note_refusals(refusals)
        return hashes, refusals, news

    def _is_current(self, path: str, sha256: str) -> bool:
        """Say whether the index holds this content, cut as configured, or was sent it.

        With which model it is embedded is the index's own affair: another one is built beside that which serves (C15).
        """
        standing = self._ledger.standing(path)
        return standing is not None and standing.sha256 == sha256 and standing.chunker == self._limits.chunker

    async def _gone(self, there: Iterable[str], refusals: Iterable[Refusal]) -> list[str]:
        """The known documents that the folder has no more; each is looked for once more before it is let go."""
        kept = frozenset(there)
        doubtful = [refusal.path for refusal in refusals if refusal.passing]
        doubted = frozenset(self._ledger.known_below(doubtful))
        gone = [path for path in self._ledger.known_below(("",)) if path not in kept and path not in doubted]
        if not gone:
            return []
        refused = frozenset(refusal.path for refusal in refusals)
        again = await asyncio.to_thread(scan, self._folder, gone)
        back = {place.path for place in again.places} - refused
        return [path for path in gone if path not in back]

    async def _carry_out(self, change: Change, manifest: Manifest) -> RefreshReport:
        """Send a change and wait for its end; nothing is sent where there is nothing to do."""
        now = dt.datetime.now(dt.UTC)
        expected = RefreshReport(
            refresh_id=change.refresh_id,
            status="finished",
            added=sum(place.path not in self._ledger.held for place, _ in change.places),
            changed=sum(place.path in self._ledger.held for place, _ in change.places),
            deleted=len(change.gone),
            unchanged=change.unchanged,
            started_at=change.started_at,
            finished_at=now,
            duration_ms=0,
        )
        # An index that never became current has to hear that an empty folder is all there is.
        if not change.places and not change.gone and (change.scope == "paths" or manifest.state == "current"):
            return expected
        self._outcomes.announce(change.refresh_id)
        try:
            await self._publishing.bit_by_bit(change)
        except BaseException:
            self._outcomes.forget(change.refresh_id)
            raise
        return await self._outcomes.wait(expected)

    def _reported(
        self, report: RefreshReport, extra: Iterable[RefreshReport], found: Scan, started: dt.datetime
    ) -> RefreshReport:
        rejected = {one.path: one for one in report.rejected}
        counts = {name: getattr(report, name) for name in ("added", "changed", "embedded")}
        for one in extra:
            rejected |= {other.path: other for other in one.rejected}
            counts = {name: count + getattr(one, name) for name, count in counts.items()}
        rejected |= {one.path: RejectedFile(path=one.path, reason=one.reason) for one in found.refusals}
        ended = dt.datetime.now(dt.UTC)
        whole = report.model_copy(
            update={
                **counts,
                "rejected": tuple(rejected[path] for path in sorted(rejected)),
                "started_at": started,
                "finished_at": ended,
                "duration_ms": (ended - started).total_seconds() * 1000,
            }
        )
        log.log(
            logging.INFO if whole.added or whole.changed or whole.deleted else logging.DEBUG,
            "the folder was compared with the index",
            extra=whole.model_dump(mode="json", exclude={"rejected", "started_at", "finished_at"})
            | {"rejected": len(whole.rejected)},
        )
        return whole


def _is_old(place: Place) -> bool:
    """Say whether a file changed so long ago that an event should have told of it."""
    changed = max(place.mark.modified_ns, place.mark.changed_ns) / 1e9
    return dt.datetime.now(dt.UTC).timestamp() - changed > UNTOLD_AFTER_S
