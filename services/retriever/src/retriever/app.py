"""The retriever, put together.

::

    bus ─> handlers ─> staging ─> visibility ─┐
               └─ vectors                     ├─ PostgreSQL
    POST /search ─> legs ─> fusion ─> windows ┘
                     └─ lexicon (this replica's, in memory)
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, closing
from functools import partial
from importlib.resources import files

from fastapi import FastAPI

from chassis.background import background
from chassis.bus import Bus, Options, open_bus
from chassis.lag import watch_lag
from chassis.postgres import migrate, open_pool
from chassis.server import health_of, service
from contracts.events import DocumentChanged, DocumentDeleted, RefreshSealed
from retriever import embedders
from retriever.announcing import Announcements
from retriever.api import LARGEST_SEARCH_BYTES, State, router
from retriever.collecting import Collector
from retriever.handlers import delete_document, give_up, index_document, seal_refresh
from retriever.lexical import LexicalIndex
from retriever.lexicon import Lexicon
from retriever.models import Models
from retriever.reading import Corpus
from retriever.rebuilding import Rebuild
from retriever.search import Search
from retriever.settings import Settings
from retriever.staging import PostgresStaging
from retriever.tables import SCHEMA
from retriever.visibility import PostgresVisibility
from retriever.vocabulary import Vocabularies

GROUP = "retriever"
CONCURRENCY = 8


def create_app(settings: Settings) -> FastAPI:
    """The service as an app."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncGenerator[State]:
        health = health_of(app)
        async with (
            open_pool(settings.postgres_url, schema=SCHEMA, health=health, size=16) as pool,
            open_bus(settings.chosen_bus_url, service=SCHEMA, options=Options.of(settings), health=health) as bus,
        ):
            await migrate(pool, SCHEMA, files("retriever") / "migrations")
            models = Models(
                pool,
                partial(embedders.chosen, settings),
                embedders.earlier,
                batch=settings.embedding_batch,
            )
            staging = PostgresStaging(pool)
            visibility = PostgresVisibility(pool, settings.slice_documents)
            announce = Announcements(pool, bus)
            rebuild = Rebuild(pool)
            corpus = Corpus(pool, models, rebuild)
            health.corpus = lambda: corpus.state
            health.check("corpus", corpus.missing)
            with closing(Lexicon(pool, LexicalIndex())) as lexicon:
                health.check("words", lexicon.missing)
                search = Search(pool, models, lexicon, settings)
                consume = partial(_consume, bus, models, staging, visibility, announce)
                async with background(
                    health,
                    models.run(),
                    consume(),
                    watch_lag(bus, "documents", GROUP),
                    _complete(rebuild, models),
                    lexicon.run(),
                    Collector(pool, staging, visibility, announce, settings).run(),
                ):
                    yield State(search=search, corpus=corpus, vocabularies=Vocabularies(pool))

    app = service("retriever", lifespan, settings, larger_bodies={"/search": LARGEST_SEARCH_BYTES})
    app.include_router(router)
    return app


async def _consume(
    bus: Bus, models: Models, staging: PostgresStaging, visibility: PostgresVisibility, announce: Announcements
) -> None:
    vectors = await models.ready()
    showing = {"staging": staging, "visibility": visibility, "announce": announce}
    await bus.consume(
        "documents",
        GROUP,
        {
            DocumentChanged: partial(index_document, vectors=vectors, **showing),
            DocumentDeleted: partial(delete_document, **showing),
            RefreshSealed: partial(seal_refresh, **showing),
        },
        concurrency=CONCURRENCY,
        gave_up=partial(give_up, staging=staging, announce=announce),
    )


async def _complete(rebuild: Rebuild, models: Models) -> None:
    await rebuild.run(await models.ready())
