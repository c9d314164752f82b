"""A voice gateway on a free port, its agent a fake over real HTTP, its frames in a real Valkey."""

from __future__ import annotations

from collections.abc import AsyncGenerator

import httpx2
import pytest
from pydantic import SecretStr
from voice_fakes import FakeAgent, Gateway, serving

from chassis.frames import FrameWriter
from chassis.redis import connect
from voice_gateway.app import create_app
from voice_gateway.settings import Settings


@pytest.fixture
async def agent(valkey_url: str) -> AsyncGenerator[FakeAgent]:
    redis = connect(valkey_url)
    yield FakeAgent(FrameWriter(redis))
    await redis.aclose()


@pytest.fixture
def settings() -> Settings:
    """What a test changes of the gateway's settings: override this fixture, or parametrize it."""
    return Settings(silent_s=0.1, answer_s=10, stop_s=0.2)


@pytest.fixture
async def gateway(agent: FakeAgent, settings: Settings, valkey_url: str) -> AsyncGenerator[Gateway]:
    async with serving(agent.app()) as agent_url:
        chosen = settings.model_copy(update={"agent_url": agent_url, "redis_url": SecretStr(valkey_url)})
        app = create_app(chosen)
        async with serving(app) as url, httpx2.AsyncClient(base_url=url, trust_env=False) as http:
            yield Gateway(url, agent, http, lambda: app.state.sessions)
