"""The ingestor: owns the watched folder, and tells the bus what changed in it. Here it is put together."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass

from fastapi import FastAPI

from chassis.background import background
from chassis.bus import Bus, Handlers, Options, open_bus
from chassis.health import Health
from chassis.http import open_client
from chassis.server import health_of, service
from contracts.events import DocumentRejected, RefreshFinished
from ingestor.api import State, router
from ingestor.index import Index, RetrieverIndex
from ingestor.keeping import Keeping
from ingestor.ledger import Ledger
from ingestor.outcomes import Outcomes
from ingestor.preparing import Limits
from ingestor.publishing import Publishing
from ingestor.refreshing import Refreshing
from ingestor.saving import Saves
from ingestor.settings import Settings
from ingestor.watching import Watcher

__all__ = ["Parts", "assemble", "create_app"]


@dataclass(frozen=True)
class Parts:
    """What the ingestor is made of, and the ``work`` that runs beside its requests."""

    ledger: Ledger
    refreshing: Refreshing
    saves: Saves
    watcher: Watcher
    keeping: Keeping
    work: tuple[Coroutine[object, object, object], ...]


def assemble(settings: Settings, bus: Bus, index: Index, health: Health) -> Parts:
    """Put the parts together around a bus and an index."""
    folder, patience_s = settings.folder, settings.stalled_after_s
    limits = Limits(settings.file_limit, settings.corpus_limit, settings.chunk_length)
    ledger = Ledger()
    outcomes = Outcomes(ledger, index, patience_s)
    publishing = Publishing(bus, index, ledger, limits, ahead=settings.documents_ahead, patience_s=patience_s)
    refreshing = Refreshing(folder, limits, ledger, index, publishing, outcomes)
    saves = Saves(folder, limits, ledger, publishing, refreshing)
    watcher = Watcher(
        folder, saves.hint, saves.reconcile.set, way=settings.watching, poll_every_s=settings.poll_every_s
    )
    keeping = Keeping(refreshing, health, saves.reconcile, settings.reconcile_every_s, watched=watcher.begun)
    outcomes.on_failure, refreshing.on_untold = keeping.failed, watcher.missed
    hears: Handlers = {RefreshFinished: outcomes.finished, DocumentRejected: outcomes.rejected}
    work = (watcher.run(), saves.follow(), keeping.run(), bus.consume("documents", "ingestor", hears))
    return Parts(ledger, refreshing, saves, watcher, keeping, work)


def create_app(settings: Settings) -> FastAPI:
    """The service, not yet running."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncGenerator[State]:
        async with (
            open_client(settings.retriever_url, "retriever") as client,
            open_bus(
                settings.chosen_bus_url, service="ingestor", options=Options.of(settings), health=health_of(app)
            ) as bus,
        ):
            parts = assemble(settings, bus, RetrieverIndex(client), health_of(app))
            async with background(health_of(app), *parts.work):
                yield State(
                    folder=settings.folder,
                    ledger=parts.ledger,
                    refreshing=parts.refreshing,
                    watcher=parts.watcher,
                    keeping=parts.keeping,
                )

    app = service("ingestor", lifespan, settings)
    app.include_router(router)
    return app
