"""Web on a free port, the services behind it fakes over real HTTP, its frames in a real Valkey."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from typing import Any

import httpx2
import pytest
from pydantic import SecretStr
from web_fakes import TOKEN, Behind, Running, serving

from chassis.frames import FrameWriter
from chassis.redis import connect
from web.app import create_app
from web.settings import Settings


@pytest.fixture
async def behind(valkey_url: str) -> AsyncGenerator[Behind]:
    redis = connect(valkey_url)
    yield Behind(FrameWriter(redis))
    await redis.aclose()


@pytest.fixture
def changed() -> dict[str, Any]:
    """What a test changes of the settings: parametrize it, or use ``web_with``."""
    return {}


@pytest.fixture
async def web(behind: Behind, valkey_url: str, changed: dict[str, Any]) -> AsyncGenerator[Running]:
    async with serving(behind.app) as url:
        fields: dict[str, Any] = {
            "redis_url": SecretStr(valkey_url),
            "agent_url": f"{url}/agent",
            "retriever_url": f"{url}/retriever",
            "ingestor_url": f"{url}/ingestor",
            "voice_url": f"{url}/voice",
            "cli_token": SecretStr(TOKEN),
            "silent_s": 0.1,
            "lost_s": 0.4,
            "grace_s": 0.5,
            **{name: value() if isinstance(value, Callable) else value for name, value in changed.items()},
        }
        app = create_app(Settings(**fields))
        async with serving(app) as here, httpx2.AsyncClient(base_url=here, headers={"origin": here}) as page:
            yield Running(here, page, behind, app)
