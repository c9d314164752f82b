"""How refreshes end: told by an event, or found out by asking when no event comes."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from contextlib import suppress
from uuid import UUID

from chassis.http import CallFailed
from contracts.events import DocumentRejected, RefreshFinished
from contracts.refreshes import RefreshReport
from contracts.search import RefreshState
from ingestor.index import Index
from ingestor.ledger import Ledger

__all__ = ["Outcomes"]

log = logging.getLogger(__name__)

ASK_EVERY_S = 1.0
LONGEST_PATIENCE_S = 600.0

Progress = tuple[str, int, int]
"""Status, documents staged, texts embedded: as long as one of them moves, the index is at work."""


class Outcomes:
    """Hears how refreshes end and tells those who wait; ``patience_s`` grows while the index makes no progress."""

    def __init__(self, ledger: Ledger, index: Index, patience_s: float) -> None:
        self._ledger = ledger
        self._index = index
        self._first_patience_s = patience_s
        self._waiting: dict[UUID, asyncio.Future[RefreshReport]] = {}
        self._progress: dict[UUID, tuple[Progress, float]] = {}
        self.patience_s = patience_s
        self.on_failure: Callable[[], None] = lambda: None

    async def finished(self, event: RefreshFinished) -> None:
        """Hear that a refresh ended; twice is as good as once."""
        report = event.report
        done = report.status == "finished"
        for rejected in report.rejected:
            sent = self._ledger.sent.get(rejected.path)
            if sent and sent.refresh_id == report.refresh_id:
                self._ledger.block(rejected.path, sent.standing.revision, rejected.reason)
        concerned = self._ledger.settle(report.refresh_id, visible=done)
        self._progress.pop(report.refresh_id, None)
        if done:
            self.patience_s = self._first_patience_s
        waiting = self._waiting.get(report.refresh_id)
        if waiting and not waiting.done():
            waiting.set_result(report)
        elif concerned and not done:
            log.warning("a refresh failed", extra={"refresh_id": str(report.refresh_id), "reason": report.reason})
            self.on_failure()

    async def rejected(self, event: DocumentRejected) -> None:
        """Hear that the index could not take a document."""
        self._ledger.block(event.path, event.revision, event.reason)

    async def wait(self, expected: RefreshReport) -> RefreshReport:
        """Wait until a refresh ends; one that makes no progress for ``patience_s`` is given up as failed.

        ``expected`` is what it should do, and the report when its end was missed.
        """
        refresh_id = expected.refresh_id
        future = self._waiting.setdefault(refresh_id, asyncio.get_running_loop().create_future())
        try:
            while True:
                with suppress(TimeoutError):
                    async with asyncio.timeout(ASK_EVERY_S):
                        return await asyncio.shield(future)
                if report := await self._asked(expected):
                    await self.finished(RefreshFinished(report=report))
                    return report
        finally:
            self._waiting.pop(refresh_id, None)
            self._progress.pop(refresh_id, None)

    def announce(self, refresh_id: UUID) -> None:
        """From now on keep the end of a refresh that somebody will wait for."""
        self._waiting.setdefault(refresh_id, asyncio.get_running_loop().create_future())

    def forget(self, refresh_id: UUID) -> None:
        """Nobody will wait for it after all."""
        self._waiting.pop(refresh_id, None)
        self._progress.pop(refresh_id, None)

    async def give_up_lost(self) -> None:
        """Take for lost what was sent long ago, when the index knows nothing of it or gets no further with it."""
        waiting = self._ledger.waiting(self.patience_s) - self._waiting.keys()
        lost: list[UUID] = []
        for refresh_id in waiting:
            state = await self._index.refresh(refresh_id)
            ended = state is not None and state.status in ("finished", "failed")
            if ended or self.is_stalled(refresh_id, _come(state)):
                lost.append(refresh_id)
        if lost:
            self._ledger.lost(lost)
            for refresh_id in lost:
                self._progress.pop(refresh_id, None)

    def is_stalled(self, refresh_id: UUID, progress: Progress) -> bool:
        """Say whether a refresh is where it was ``patience_s`` ago."""
        now = time.monotonic()
        seen, since = self._progress.setdefault(refresh_id, (progress, now))
        if seen != progress:
            self._progress[refresh_id] = (progress, now)
            return False
        if now - since < self.patience_s:
            return False
        self.patience_s = min(self.patience_s * 2, LONGEST_PATIENCE_S)
        log.warning("the index gets no further", extra={"refresh_id": str(refresh_id), "progress": progress[1:]})
        return True

    async def _asked(self, expected: RefreshReport) -> RefreshReport | None:
        refresh_id = expected.refresh_id
        try:
            state = await self._index.refresh(refresh_id)
            if state and state.status in ("finished", "failed"):
                last = (await self._index.manifest()).last_refresh
                if last and last.refresh_id == refresh_id:
                    return last
                reason = None if state.status == "finished" else "the index could not take it"
                return expected.model_copy(update={"status": state.status, "reason": reason})
        except CallFailed:
            state = None
        if self.is_stalled(refresh_id, _come(state)):
            return expected.model_copy(
                update={"status": "failed", "reason": "The index makes no progress; the refresh is tried again."}
            )
        return None


def _come(state: RefreshState | None) -> Progress:
    return (state.status, state.staged, state.texts) if state else ("unknown", 0, 0)
