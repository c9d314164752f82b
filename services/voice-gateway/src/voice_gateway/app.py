"""The voice gateway, put together."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import TypedDict

from fastapi import APIRouter, FastAPI, Request, Response, WebSocket

from chassis import telemetry
from chassis.frames import FrameHub
from chassis.http import open_client
from chassis.redis import open_redis
from chassis.refusals import refusal
from chassis.server import health_of, service
from contracts.turns import Refusal
from contracts.voice import Timeline
from voice_gateway import door, minting
from voice_gateway.agent import HttpAgent
from voice_gateway.calls import Calls
from voice_gateway.credentials import Credentials
from voice_gateway.ears.port import Ears
from voice_gateway.errors import Refused
from voice_gateway.learning import keep_learning
from voice_gateway.mouth.port import Mouth
from voice_gateway.opening import open_senses
from voice_gateway.orchestrators.orchestra import open_orchestra
from voice_gateway.providers.openai import MAX_KEYWORDS, OpenAIVoice
from voice_gateway.session import Around
from voice_gateway.sessions import Sessions
from voice_gateway.settings import Settings
from voice_gateway.transports import sideband
from voice_gateway.transports import websocket as on_websocket
from voice_gateway.transports.bridge import routes as on_bridge
from voice_gateway.transports.webrtc import routes as on_webrtc
from voice_gateway.transports.webrtc.routes import Exchange

LARGER_BODIES = {"/calls/": 262_144, on_webrtc.PATH: on_webrtc.MAX_BODY_BYTES}


class State(TypedDict):
    """What the routes are given."""

    around: Around
    credentials: Credentials
    sessions: Sessions
    exchange: Exchange


def create_app(settings: Settings) -> FastAPI:
    """The app, not yet connected to anything."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncGenerator[State]:
        health = health_of(app)
        async with (
            open_senses(settings) as senses,
            open_client(settings.agent_url, "agent") as client,
            open_client(settings.retriever_url, "retriever") as retriever,
            open_redis(settings.redis_url, health=health) as redis,
            FrameHub(redis) as frames,
            AsyncExitStack() as orchestras,
        ):
            agent = HttpAgent(client, frames, silent_s=settings.silent_s, lost_s=settings.lost_s)
            provider = OpenAIVoice(settings) if settings.chosen_voice == "openai" else None
            orchestra = await orchestras.enter_async_context(open_orchestra(settings, agent, client, retriever, senses))
            around = Around(settings, agent, Calls(), senses, provider, orchestra)
            app.state.sessions = sessions = Sessions(settings.max_sessions, senses)
            beside: list[asyncio.Task[None]] = []
            if senses is not None:
                health.check("ears", partial(_models, "the ears", senses.ears))
                health.check("mouth", partial(_models, "the mouth", senses.mouth))
                teaching = keep_learning(senses.ears, retriever.raw, settings.max_words)
                beside.append(asyncio.create_task(teaching))
            if provider is not None:
                teaching = keep_learning(provider, retriever.raw, min(MAX_KEYWORDS, settings.max_words))
                beside.append(asyncio.create_task(teaching))
                beside.append(asyncio.create_task(asyncio.to_thread(provider.warm)))
            credentials = Credentials(lifetime_s=settings.credential_s, limit=settings.max_credentials)
            app.state.exchange = exchange = Exchange(around, credentials, sessions)
            beside.append(asyncio.create_task(exchange.warm()))
            stopping = asyncio.create_task(_stop_with(health.stopping, sessions, settings.stop_s))
            try:
                yield {"around": around, "credentials": credentials, "sessions": sessions, "exchange": exchange}
            finally:
                health.stopping.set()
                for task in beside:
                    task.cancel()
                await stopping
                await exchange.close()
                await agent.close()
                if provider is not None:
                    await provider.close()

    app = service("voice-gateway", lifespan, settings, browsers=True, larger_bodies=LARGER_BODIES)
    app.add_exception_handler(Refused, _refused)
    app.include_router(minting.router)
    app.include_router(router)
    app.include_router(on_webrtc.router)
    app.include_router(on_bridge.router)
    return app


async def _models(name: str, of: Ears | Mouth) -> str | None:
    return None if of.ready else f"the models of {name} are being loaded; typed questions work meanwhile"


async def _stop_with(stopping: asyncio.Event, sessions: Sessions, patience_s: float) -> None:
    await stopping.wait()
    await sessions.stop(patience_s)


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, Refused)
    headers = {"retry-after": str(error.retry_after_s)} if error.retry_after_s else None
    return refusal(error.status, error.code, error.message, headers)


router = APIRouter()
REFUSALS: dict[int | str, dict[str, object]] = {status: {"model": Refusal} for status in (400, 403, 404, 413, 500, 503)}


@router.post("/calls/{call_id}/timeline", status_code=204, responses=REFUSALS)
async def timeline(request: Request, call_id: str, told: Timeline) -> None:
    """Add what the page saw in a call to the traces of its turns."""
    state: Around = request.state.around
    door.check_origin(request, state.settings.allowed_origins)
    given = request.headers.get("traceparent")
    state.calls.record(call_id, told.events, telemetry.inject() if given else None)


@router.websocket("/v1/realtime")
async def realtime(websocket: WebSocket) -> None:
    """A session of the Realtime protocol."""
    state = websocket.state
    if "call_id" in websocket.query_params:
        await sideband.serve(websocket, around=state.around, credentials=state.credentials, exchange=state.exchange)
        return
    await on_websocket.serve(websocket, around=state.around, credentials=state.credentials, sessions=state.sessions)
