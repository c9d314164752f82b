"""A retriever in the test's own process: real PostgreSQL, scripted vectors, handlers called as the bus would."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from pydantic import SecretStr
from retriever_house import MIGRATIONS, Retriever, Start

from chassis.postgres import Pool, migrate, open_pool
from retriever.embedding import Embedder, ScriptedEmbedder
from retriever.settings import Settings
from retriever.tables import SCHEMA


@pytest.fixture
async def pool(postgres_url: str) -> AsyncIterator[Pool]:
    """A pool on a fresh database with the schema."""
    async with open_pool(SecretStr(postgres_url), schema=SCHEMA, size=12) as pool:
        await migrate(pool, SCHEMA, MIGRATIONS)
        yield pool


@pytest.fixture
async def start(pool: Pool) -> AsyncIterator[Start]:
    """Start one more retriever on the database: ``await start()``, or with an embedder and settings of its own."""
    running: list[Retriever] = []

    async def one(embedder: Embedder | None = None, **settings: object) -> Retriever:
        retriever = await Retriever.start(pool, embedder or ScriptedEmbedder(), Settings.model_validate(settings))
        running.append(retriever)
        return retriever

    yield one
    for retriever in running:
        retriever.close()


@pytest.fixture
async def retriever(start: Start) -> Retriever:
    """A retriever with scripted vectors."""
    return await start()
