"""The ingestor: owns the watched folder, and tells the bus what changed in it. Here it is put together."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from chassis.background import background
from chassis.bus import Handlers, Options, open_bus
from chassis.http import open_client
from chassis.server import health_of, service
from contracts.events import DocumentRejected, RefreshFinished
from fastapi import FastAPI

from ingestor.api import State, router
from ingestor.index import RetrieverIndex
from ingestor.keeping import Keeping
from ingestor.ledger import Ledger
from ingestor.outcomes import Outcomes
from ingestor.preparing import Limits
from ingestor.publishing import Publishing
from ingestor.refreshing import Refreshing
from ingestor.saving import Saves
from ingestor.settings import Settings
from ingestor.watching import Watcher

__all__ = ["make_app"]


def make_app(settings: Settings) -> FastAPI:
    """The service, not yet running."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncGenerator[State]:
        async with (
            open_client(settings.retriever_url, "retriever") as client,
            open_bus(
                settings.chosen_bus_url, service="ingestor", options=Options.of(settings), health=health_of(app)
            ) as bus,
        ):
            folder = settings.folder
            limits = Limits(settings.file_limit, settings.corpus_limit, settings.chunk_length)
            ledger, index = Ledger(), RetrieverIndex(client)
            outcomes = Outcomes(ledger, index, settings.stalled_after_s)
            publishing = Publishing(
                bus, index, ledger, limits, ahead=settings.documents_ahead, patience_s=settings.stalled_after_s
            )
            refreshing = Refreshing(folder, limits, ledger, index, publishing, outcomes)
            saves = Saves(folder, limits, ledger, publishing, refreshing)
            watcher = Watcher(
                folder, saves.hint, saves.reconcile.set, way=settings.watching, poll_every_s=settings.poll_every_s
            )
            keeping = Keeping(refreshing, health_of(app), saves.reconcile, settings.reconcile_every_s)
            outcomes.on_failure, refreshing.on_untold = keeping.failed, watcher.missed
            hears: Handlers = {RefreshFinished: outcomes.finished, DocumentRejected: outcomes.rejected}
            async with background(
                health_of(app),
                watcher.run(),
                saves.follow(),
                keeping.run(),
                bus.consume("documents", "ingestor", hears),
            ):
                yield State(folder=folder, ledger=ledger, refreshing=refreshing, watcher=watcher)

    app = service("ingestor", lifespan, settings)
    app.include_router(router)
    return app
