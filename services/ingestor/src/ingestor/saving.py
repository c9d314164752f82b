"""Saves: what the watcher hints at is looked at, read, cut and published at once, as a refresh of its own.

A hint is a path that something happened to; what happened is seen by looking. Work begins with the first hint. It
starts over when another comes for the same path before it is published; and what vanished, or became empty, has 50 ms
to come back, since editors save by moving files about and by emptying them first.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from chassis import conventions
from chassis.bus import BusError
from chassis.telemetry import span
from ingestor.errors import FolderUnavailable
from ingestor.ledger import Ledger
from ingestor.preparing import Limits, Prepared, bounded, prepare, read_all
from ingestor.publishing import Change, Publishing
from ingestor.reading import Reading
from ingestor.refreshing import Refreshing
from ingestor.scanning import Place, Refusal, scan

__all__ = ["Saves"]

log = logging.getLogger(__name__)

SETTLE_S = 0.05
MANY_HINTS = 5_000
MANY_DOCUMENTS = 64
START_OVER_FOR_S = 0.15
LOOK_AGAIN_AFTER_S = (0.1, 0.5, 2.0)


@dataclass(frozen=True, slots=True)
class _Look:
    """What was seen at the hints: ``there`` are the paths that stay in the ledger, ``many`` a burst not yet read."""

    prepared: list[Prepared]
    refusals: list[Refusal]
    gone: list[str]
    there: set[str]
    many: list[Place]
    unfilled: bool


class Saves:
    """Follows the hints of the watcher."""

    def __init__(
        self, folder: Path, limits: Limits, ledger: Ledger, publishing: Publishing, refreshing: Refreshing
    ) -> None:
        self._folder = folder
        self._limits = limits
        self._ledger = ledger
        self._publishing = publishing
        self._refreshing = refreshing
        self._hints: set[str] = set()
        self._hinted = asyncio.Event()
        self._looked: set[str] = set()
        self.reconcile = asyncio.Event()

    def hint(self, paths: Iterable[str]) -> None:
        """Something happened to these paths, relative to the folder; ``""`` is the folder itself."""
        self._hints.update(paths)
        if len(self._hints) > MANY_HINTS:
            # So many at once that the kernel may have dropped some: only a look at everything will do.
            self._hints.clear()
            self.reconcile.set()
        if self._hints:
            self._hinted.set()

    async def follow(self) -> None:
        """Publish what is saved, until cancelled; begins once the folder was compared as a whole."""
        await self._refreshing.compared.wait()
        while True:
            await self._hinted.wait()
            try:
                await self._publish_saves(self._take())
            except (FolderUnavailable, BusError) as error:
                log.warning("a save waits for the next comparison", extra={"reason": str(error)})
                self.reconcile.set()

    def _take(self) -> set[str]:
        hints, self._hints = self._hints, set()
        self._hinted.clear()
        if hints and (self._refreshing.linked or self._limits.corpus is not None):
            return {""}
        return hints

    async def _publish_saves(self, hints: set[str]) -> None:
        """Look until what the hints speak of has come to rest, then publish what differs from the index."""
        begun, settled = time.monotonic(), False
        if folders := await asyncio.to_thread(self._folders, hints):
            self._look_again(folders)
        while True:
            look = await self._look(hints)
            if (look.gone or look.unfilled) and not settled:
                await asyncio.sleep(SETTLE_S)
                settled = True
            elif not (self._hints & hints) or time.monotonic() - begun > START_OVER_FOR_S:
                break
            hints |= self._take()
        self._ledger.note_refusals(look.refusals)
        self._ledger.keep_only(look.there, hints)
        for one in look.prepared:
            self._ledger.note_reading(one.reading, one.cut.notice)
        changed = [one for one in look.prepared if self._is_new(one.reading)]
        if changed or look.gone:
            change = Change("paths", gone=look.gone)
            with _named_span(change, [one.reading.path for one in changed] + look.gone):
                await self._publishing.at_once(change, changed)
            log.info(
                "saved",
                extra={
                    "refresh_id": str(change.refresh_id),
                    "paths": [one.reading.path for one in changed][:10],
                    "documents": len(changed),
                    "deleted": len(look.gone),
                    "took_ms": round((time.monotonic() - begun) * 1000, 1),
                },
            )
        if look.many:
            await self._publish_many(look.many)

    async def _publish_many(self, places: list[Place]) -> None:
        """Publish a burst that is too large to be prepared at once."""
        hashed: list[tuple[Place, str]] = []
        for start in range(0, len(places), MANY_DOCUMENTS):
            group = places[start : start + MANY_DOCUMENTS]
            taken = await asyncio.to_thread(read_all, group, self._limits)
            for place, one in zip(group, taken, strict=True):
                if isinstance(one, Refusal):
                    self._ledger.note_refusals([one])
                    continue
                self._ledger.note_reading(one.reading, one.notice)
                if self._is_new(one.reading):
                    hashed.append((place, one.reading.sha256))
        if hashed:
            change = Change("paths", hashed)
            with _named_span(change, [place.path for place, _ in hashed]):
                await self._publishing.bit_by_bit(change)
            log.info("saved", extra={"refresh_id": str(change.refresh_id), "documents": len(hashed)})

    async def _look(self, hints: set[str]) -> _Look:
        """See what stands there, and read and cut what may be new."""
        found = bounded(await asyncio.to_thread(scan, self._folder, hints), self._limits)
        unread = [place for place in found.places if self._ledger.hash_of(place) is None]
        many = unread if len(unread) > MANY_DOCUMENTS else []
        taken = [] if many else await asyncio.to_thread(prepare, unread, self._limits)
        refusals = found.refusals + [one for one in taken if isinstance(one, Refusal)]
        prepared = [one for one in taken if isinstance(one, Prepared)]
        refused = {one.path for one in refusals if not one.passing}
        there = {place.path for place in found.places} - refused
        there.update(self._ledger.known_below([one.path for one in refusals if one.passing]))
        gone = [path for path in self._ledger.known_below(hints) if path not in there]
        there.update(one.path for one in refusals)
        unfilled = any(not place.mark.size and self._may_be_filled(place.path) for place in unread)
        return _Look(prepared, refusals, gone, there, many, unfilled)

    def _folders(self, hints: set[str]) -> list[str]:
        return [path for path in hints if path and Path(self._folder, path).is_dir()]

    def _look_again(self, folders: list[str]) -> None:
        """A new folder is filled while the kernel learns to watch it: look again when that is certainly done."""
        fresh = [path for path in folders if path not in self._looked]
        self._looked.update(fresh)
        loop = asyncio.get_running_loop()
        for after_s in LOOK_AGAIN_AFTER_S if fresh else ():
            loop.call_later(after_s, self.hint, fresh)
        if fresh:
            loop.call_later(LOOK_AGAIN_AFTER_S[-1] + SETTLE_S, self._looked.difference_update, fresh)

    def _may_be_filled(self, path: str) -> bool:
        """Say whether an empty file is news: then its text may be on its way."""
        seen = self._ledger.seen.get(path)
        return seen is None or seen.bytes != 0

    def _is_new(self, reading: Reading) -> bool:
        standing = self._ledger.standing(reading.path)
        return standing is None or standing.sha256 != reading.sha256


def _named_span(change: Change, paths: list[str]) -> span:
    """The span that a save's trace begins with."""
    attributes: dict[str, str | int] = {
        conventions.REFRESH_ID: str(change.refresh_id),
        "talkdown.documents": len(paths),
    }
    if len(paths) == 1:
        attributes[conventions.DOCUMENT_PATH] = paths[0]
    return span(f"ingest {paths[0]}" if len(paths) == 1 else f"ingest {len(paths)} documents", attributes)
