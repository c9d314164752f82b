"""A migrated database and a Valkey for each test of the agent."""

from __future__ import annotations

from collections.abc import AsyncIterator
from importlib import resources

import pytest
from pydantic import SecretStr
from redis.asyncio import Redis

from chassis.postgres import Pool, migrate, open_pool
from chassis.redis import connect


@pytest.fixture
async def pool(postgres_url: str) -> AsyncIterator[Pool]:
    """Connections to a fresh database that holds the agent's schema."""
    async with open_pool(SecretStr(postgres_url), schema="agent") as pool:
        await migrate(pool, "agent", resources.files("agent") / "migrations")
        yield pool


@pytest.fixture
async def redis(valkey_url: str) -> AsyncIterator[Redis]:
    """A client of an empty Valkey."""
    client = connect(valkey_url)
    yield client
    await client.aclose()
