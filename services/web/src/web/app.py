"""Web, put together: the only port that a person opens."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import TypedDict

from fastapi import FastAPI

from chassis.bus import Options, open_bus
from chassis.frames import FrameHub
from chassis.health import Health
from chassis.redis import open_redis
from chassis.server import health_of, service
from web import corpus, dead_letters, pages, people, turns, voice
from web.behind import open_behind
from web.guard import Guard
from web.ledger import Ledger
from web.parts import called, parts_of
from web.readiness import watch_readiness
from web.settings import Settings
from web.state import Web
from web.watch import Watch


class State(TypedDict):
    """What each request carries."""

    web: Web


def create_app(settings: Settings) -> FastAPI:
    """The app of web, guard outermost."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncGenerator[State]:
        health: Health = health_of(app)
        async with (
            open_redis(settings.redis_url, health=health) as redis,
            open_bus(settings.chosen_bus_url, service="web", options=Options.of(settings)) as bus,
            open_behind(settings) as behind,
            FrameHub(redis) as frames,
        ):
            watch_readiness(health, behind)
            yield {
                "web": Web(
                    behind=behind,
                    ledger=Ledger(behind, parts_of(settings), settings.trace_url),
                    frames=frames,
                    watch=Watch(behind.agent, silent_s=settings.silent_s, lost_s=settings.lost_s),
                    redis=redis,
                    bus=bus,
                    voice_url=settings.voice_url,
                )
            }

    app = service("web", lifespan, settings, browsers=True, larger_bodies={"/v1/realtime": voice.MAX_SIGNALLING_BYTES})
    for part in (turns, corpus, dead_letters, people, voice):
        app.include_router(part.routes)
    app.router.routes.extend(pages.routes)
    token = settings.cli_token.get_secret_value() if settings.cli_token else None
    app.add_middleware(Guard, names=settings.allowed_hosts, token=token, calls=called(settings))
    return app
