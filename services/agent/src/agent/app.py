"""The agent put together: what it stands on, who answers, and what runs beside the requests."""

from __future__ import annotations

import os
import socket
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from importlib import resources
from typing import TypedDict
from uuid import uuid4

from fastapi import FastAPI

from agent import control, live_routes
from agent.accepting import Limits, Reception
from agent.answerers import free_of_charge, open_answerer
from agent.cancelling import Canceller
from agent.claims import Claims
from agent.evidence import judge
from agent.keeping import Keeper
from agent.ledger import Ledger
from agent.prefetching import open_prefetches
from agent.remembering import Remembrance
from agent.routes import Agent, router
from agent.running import Runner
from agent.searching import RetrieverSearch
from agent.settings import Settings
from agent.sweeping import Sweeper
from agent.workers import Workers
from agent.writing import Desk
from chassis.background import background
from chassis.bus import Options, open_bus
from chassis.frames import FrameWriter
from chassis.http import open_client
from chassis.lag import watch_lag
from chassis.postgres import migrate, open_pool
from chassis.redis import open_redis
from chassis.server import health_of, service
from contracts.events import TurnRequested

GROUP = "agent"
LARGER_BODIES = {"/chats/": 4_194_304, "/people/": 262_144}
"""What is told of live conversations is longer than a question."""


class State(TypedDict):
    """What the handlers find in ``request.state``."""

    agent: Agent


def create_app(settings: Settings) -> FastAPI:
    """Make the agent; it connects when it is started."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncGenerator[State]:
        health = health_of(app)
        async with AsyncExitStack() as stack:
            pool = await stack.enter_async_context(open_pool(settings.postgres_url, schema="agent", health=health))
            await migrate(pool, "agent", resources.files("agent") / "migrations")
            redis = await stack.enter_async_context(open_redis(settings.redis_url, health=health))
            bus = await stack.enter_async_context(
                open_bus(settings.chosen_bus_url, service="agent", options=Options.of(settings), health=health)
            )
            retriever = await stack.enter_async_context(open_client(settings.retriever_url, "retriever"))
            answerer = await stack.enter_async_context(open_answerer(settings))

            frames = FrameWriter(redis)
            ledger = Ledger(pool, history_turns=settings.history_turns, history_characters=settings.history_characters)
            search = RetrieverSearch(
                retriever,
                hits=settings.hits,
                budget=settings.context_characters,
                timeout_s=settings.search_timeout_s,
            )
            prefetches = await stack.enter_async_context(
                open_prefetches(search, ledger.history, free_of_charge(answerer, settings), settings.prefetch_s)
            )
            desk = Desk(answerer, judge, search, ledger.history, ledger.answered, prefetches, frames)
            claims = Claims(pool, worker=f"{socket.gethostname()}:{os.getpid()}:{uuid4().hex[:8]}")
            workers = Workers(
                claims,
                Runner(desk, claims, bus),
                at_once=settings.turns_at_once,
                heartbeat_s=settings.heartbeat_s,
                lost_after_s=settings.lost_after_s,
            )
            sweeper = Sweeper(pool, redis, workers.wake, settings.sweep_s, settings.lost_after_s)
            limits = Limits(settings.turns_in_chat, settings.active_chats, settings.deadline_s)
            agent = Agent(
                Reception(pool, frames, bus, workers.wake, limits),
                Canceller(pool, redis, workers.cancelled),
                ledger,
                prefetches,
                Keeper(pool, settings.prices),
                Remembrance(pool),
            )
            await stack.enter_async_context(workers.alive(settings.grace_s))
            await stack.enter_async_context(
                background(
                    health,
                    workers.claim_turns(),
                    sweeper.sweep_on(),
                    control.listen(redis, workers.cancelled),
                    bus.consume("turns", GROUP, {TurnRequested: workers.on_turn_requested}),
                    watch_lag(bus, "turns", GROUP),
                )
            )
            yield {"agent": agent}

    app = service("agent", lifespan, settings, larger_bodies=LARGER_BODIES)
    app.include_router(router)
    app.include_router(live_routes.router)
    return app
