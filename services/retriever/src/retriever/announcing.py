"""Telling the others what became visible, or failed; a crash between the commit and the telling is made good."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Protocol

from chassis.postgres import Pool
from contracts.events import Event, RefreshFinished
from contracts.refreshes import RefreshReport
from retriever import measuring
from retriever.reports import report_of
from retriever.tables import SQL

log = logging.getLogger(__name__)


class Publish(Protocol):
    """The half of the bus that is needed here."""

    async def publish(self, *events: Event) -> object:
        """Put events on the bus."""
        ...


@dataclass(frozen=True)
class Announcements:
    """Publishes ends of refreshes until each has been published once."""

    pool: Pool
    bus: Publish

    async def events(self, *events: Event) -> None:
        """Publish what is told once and may be lost: whoever shows it can ask for the manifest."""
        if events:
            await self.bus.publish(*events)

    async def report(self, report: RefreshReport) -> None:
        """Publish the end of a refresh, and remember that it was."""
        extra = report.model_dump(mode="json", exclude={"rejected", "started_at", "finished_at"})
        measuring.ended(report)
        log.info("refresh %s", report.status, extra=extra)
        await self.bus.publish(RefreshFinished(report=report))
        async with self.pool.connection() as connection:
            await connection.execute(SQL["announced"], {"refresh_id": report.refresh_id})

    async def forgotten(self, after_s: float) -> None:
        """Publish the ends that were committed more than ``after_s`` seconds ago and not announced since."""
        async with self.pool.connection() as connection:
            rows = await (await connection.execute(SQL["unannounced_refreshes"], {"after_s": after_s})).fetchall()
        for row in rows:
            await self.report(report_of(row))
