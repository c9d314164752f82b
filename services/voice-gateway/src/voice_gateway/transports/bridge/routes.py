"""The bridge's two addresses: what a session may be opened with, and the session itself."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

from fastapi import APIRouter, Request, WebSocket

from contracts.turns import Refusal
from contracts.voice import LiveOffer, LiveScenario
from voice_gateway import door
from voice_gateway.around import Around
from voice_gateway.credentials import Grant
from voice_gateway.orchestrators.opening import Orchestrated, SilentVoice, open_orchestrated
from voice_gateway.orchestrators.port import Opening
from voice_gateway.transports.bridge import serving
from voice_gateway.transports.bridge.messages import Wanted

REFUSALS: dict[int | str, dict[str, object]] = {status: {"model": Refusal} for status in (403, 500)}

router = APIRouter()


@router.get(serving.PATH, responses=REFUSALS)
async def offer(request: Request) -> LiveOffer:
    """What the first frame of a session may name."""
    around: Around = request.state.around
    door.check_origin(request, around.settings.allowed_origins)
    if around.orchestra is None:
        return LiveOffer()
    offered = await asyncio.to_thread(around.orchestra.offer)
    scenarios = tuple(LiveScenario(name=one.name, start=one.start, agents=one.agents) for one in offered.scenarios)
    return LiveOffer(
        orchestrators=offered.orchestrators,
        providers=offered.providers,
        scenarios=scenarios,
        leaves=offered.leaves,
        problem=offered.problem,
    )


@router.websocket(serving.PATH)
async def live(websocket: WebSocket) -> None:
    """A live session; see :mod:`voice_gateway.transports.bridge.serving`."""
    state = websocket.state
    around: Around = state.around

    @asynccontextmanager
    async def opens(
        grant: Grant, wanted: Wanted, traceparent: str | None, played_ms: Callable[[], int | None]
    ) -> AsyncGenerator[Orchestrated]:
        if around.orchestra is None:
            raise SilentVoice
        opening = Opening(
            grant.chat_id,
            call_id=grant.call_id,
            orchestrator=wanted.orchestrator,
            provider=wanted.provider,
            scenario=wanted.scenario,
            agent=wanted.agent,
            retrieval=wanted.retrieval,
            phrases=wanted.phrases,
            config=wanted.config,
            traceparent=traceparent,
            played_ms=played_ms,
        )
        async with open_orchestrated(opening, around.orchestra) as opened:
            yield opened

    await serving.serve(websocket, around=around, credentials=state.credentials, sessions=state.sessions, opens=opens)
