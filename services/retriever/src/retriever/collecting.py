"""Clearing away: refreshes that will never be complete, vectors and removals that nobody needs any more."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from typing import NoReturn, Protocol
from uuid import UUID

import psycopg

from chassis.postgres import Pool
from contracts.refreshes import RefreshReport
from retriever import handlers
from retriever.handlers import Visibility, show_refresh
from retriever.settings import Settings
from retriever.tables import SQL

log = logging.getLogger(__name__)

ANNOUNCED_WITHIN_S = 5.0


class Staging(Protocol):
    """Where refreshes are ended."""

    async def pass_over(self, refresh_id: UUID) -> None:
        """Await nothing of a refresh that is visible at a newer revision."""
        ...

    async def fail(self, refresh_id: UUID, reason: str, path: str | None = None) -> RefreshReport | None:
        """End a refresh; its report, or nothing when it had ended."""
        ...


class Announce(handlers.Announce, Protocol):
    """Where ends of refreshes are told."""

    async def forgotten(self, after_s: float) -> None:
        """Tell the ends that nobody told within so many seconds."""
        ...


@dataclass(frozen=True)
class Collector:
    """One round after another; several retrievers may collect at once, each finds what the others left."""

    pool: Pool
    staging: Staging
    visibility: Visibility
    announce: Announce
    settings: Settings

    async def run(self) -> NoReturn:
        """Collect until cancelled; a round that fails is tried again with the next."""
        while True:
            try:
                await self.collect()
            except (psycopg.Error, OSError) as error:
                log.warning("could not clear away", extra={"error": type(error).__name__})
            await asyncio.sleep(self.settings.collect_every_s)

    async def collect(self) -> None:
        """One round."""
        await self._overtaken()
        await self._abandoned()
        await self.announce.forgotten(ANNOUNCED_WITHIN_S)
        settings = self.settings
        for name, after_s in (
            ("forget_removals", settings.removals_kept_s),
            ("forget_old_refreshes", settings.history_kept_s),
            ("forget_unused_vectors", settings.vectors_kept_s),
        ):
            async with self.pool.connection() as connection, connection.transaction():
                await connection.execute(SQL[name], {"after_s": after_s})

    async def _overtaken(self) -> None:
        """End what an ingestor that died left unfinished, once all that it lacks is visible at newer revisions."""
        async with self.pool.connection() as connection:
            overtaken = [row["refresh_id"] async for row in await connection.execute(SQL["overtaken_refreshes"])]
        for refresh_id in overtaken:
            await self.staging.pass_over(refresh_id)
            await show_refresh(refresh_id, visibility=self.visibility, announce=self.announce)

    async def _abandoned(self) -> None:
        async with self.pool.connection() as connection:
            found = await connection.execute(SQL["abandoned_refreshes"], {"after_s": self.settings.refresh_timeout_s})
            abandoned = [row["refresh_id"] async for row in found]
        for refresh_id in abandoned:
            minutes = self.settings.refresh_timeout_s / 60
            reason = f"Parts of the refresh did not arrive in {minutes:g} minutes; the next refresh takes them again."
            if report := await self.staging.fail(refresh_id, reason):
                await self.announce.report(report)
