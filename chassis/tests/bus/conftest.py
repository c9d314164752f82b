"""The adapters that the suite runs over."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from bus_carrier import ADAPTERS, Carrier


@pytest.fixture(params=ADAPTERS)
async def carrier(request: pytest.FixtureRequest) -> AsyncIterator[Carrier]:
    """Each adapter in turn."""
    name: str = request.param
    server = {"redis": "valkey_url", "kafka": "kafka_url"}.get(name)
    carrier = Carrier(name, request.getfixturevalue(server) if server else "memory://")
    yield carrier
    await carrier.close()


@pytest.fixture
async def redis_carrier(valkey_url: str) -> AsyncIterator[Carrier]:
    """Redis alone."""
    carrier = Carrier("redis", valkey_url)
    yield carrier
    await carrier.close()
