"""Keeping the index and the folder the same: compared at start, after an overflow or a failure, and now and then."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress

from chassis.bus import BusError
from chassis.health import Health
from chassis.http import CallFailed
from contracts.refreshes import CorpusState
from ingestor.errors import FolderUnavailable
from ingestor.refreshing import Refreshing

__all__ = ["Keeping"]

log = logging.getLogger(__name__)

FIRST_PAUSE_S = 0.1
LONGEST_PAUSE_S = 60.0
LONGEST_START_PAUSE_S = 2.0
WATCHED_WITHIN_S = 5.0
FIRST = "first refresh"


class Keeping:
    """Runs the comparisons; ``trouble`` says why the last one failed, and the health what the first one waits for."""

    def __init__(
        self,
        refreshing: Refreshing,
        health: Health,
        reconcile: asyncio.Event,
        every_s: float,
        *,
        watched: asyncio.Event,
    ) -> None:
        self._refreshing = refreshing
        self._health = health
        self._reconcile = reconcile
        self._every_s = every_s
        self._watched = watched
        self._failures = 0
        self.trouble: str | None = None
        self.corpus: CorpusState = "building"
        health.corpus = lambda: self.corpus

    async def run(self) -> None:
        """Compare until cancelled; pauses grow while comparisons fail."""
        self._health.waits(FIRST, "the folder is being compared with the index for the first time")
        waiting = asyncio.create_task(self._ready_when_compared())
        # What changes between a look at the folder and the beginning of watching would be seen by neither.
        with suppress(TimeoutError):
            async with asyncio.timeout(WATCHED_WITHIN_S):
                await self._watched.wait()
        try:
            while True:
                self._reconcile.clear()
                await self._compare()
                with suppress(TimeoutError):
                    async with asyncio.timeout(self._pause()):
                        await self._reconcile.wait()
        finally:
            waiting.cancel()

    def failed(self) -> None:
        """A save failed: compare soon."""
        self._failures += 1
        asyncio.get_running_loop().call_later(self._pause(), self._reconcile.set)

    async def _compare(self) -> None:
        try:
            report = await self._refreshing.refresh_tree()
        except (CallFailed, BusError, FolderUnavailable) as error:
            self._note(str(error))
        else:
            self._note(report.reason or "the index gave no reason" if report.status == "failed" else None)

    def _note(self, why: str | None) -> None:
        self.trouble = why
        if why is None:
            self._failures = 0
            self.corpus = "current"
            self._health.arrived(FIRST)
            return
        self._failures += 1
        log.warning("a comparison failed", extra={"reason": why, "failures": self._failures})
        if self.corpus != "current":
            self.corpus = "failed" if self._refreshing.compared.is_set() else "building"
            self._health.waits(FIRST, f"it failed: {why}")

    def _pause(self) -> float:
        if not self._failures:
            return self._every_s
        longest = LONGEST_PAUSE_S if self._refreshing.compared.is_set() else LONGEST_START_PAUSE_S
        return min(FIRST_PAUSE_S * 2**self._failures, longest, self._every_s)

    async def _ready_when_compared(self) -> None:
        """The first filling of an index may take long: it can be asked meanwhile, so it is not waited for here."""
        await self._refreshing.compared.wait()
        self._health.arrived(FIRST)
