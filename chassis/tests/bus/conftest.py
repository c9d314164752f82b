"""The adapters that the suite runs over."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator

import pytest
from bus_carrier import ADAPTERS, Carrier


@pytest.fixture(params=ADAPTERS)
async def carrier(request: pytest.FixtureRequest) -> AsyncIterator[Carrier]:
    """Each adapter in turn."""
    name: str = request.param
    url = {"memory": "memory://", "kafka": os.environ.get("TALKDOWN_TEST_KAFKA_URL", "")}.get(name)
    carrier = Carrier(name, url if url is not None else request.getfixturevalue("valkey_url"))
    yield carrier
    await carrier.close()


@pytest.fixture
async def redis_carrier(valkey_url: str) -> AsyncIterator[Carrier]:
    """Redis alone."""
    carrier = Carrier("redis", valkey_url)
    yield carrier
    await carrier.close()
