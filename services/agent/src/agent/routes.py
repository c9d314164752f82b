"""What the agent is asked over HTTP; bodies and answers are those of :mod:`contracts.turns`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query, Request

from agent.accepting import Reception
from agent.cancelling import Canceller
from agent.errors import TurnUnknown
from agent.ledger import Ledger
from agent.prefetching import Prefetches
from contracts.turns import (
    CancelRequested,
    Chat,
    Heard,
    PrefetchAccepted,
    PrefetchAsked,
    PrefetchedAnswer,
    Turn,
    TurnAccepted,
    TurnAsked,
)

router = APIRouter()


@dataclass(frozen=True)
class Agent:
    """What the handlers need; ``request.state.agent``."""

    reception: Reception
    canceller: Canceller
    ledger: Ledger
    prefetches: Prefetches


@router.post("/turns", status_code=202)
async def ask(asked: TurnAsked, request: Request) -> TurnAccepted:
    """Take a question in: 202 once it is stored and its first frame stands; 400, 429 or 503 with nothing stored."""
    return await _agent(request).reception.accept(asked)


@router.get("/turns/{turn_id}")
async def read(turn_id: UUID, request: Request) -> Turn:
    """Give a turn as it stands."""
    turn = await _agent(request).ledger.turn(turn_id)
    if turn is None:
        raise TurnUnknown
    return turn


@router.post("/turns/{turn_id}/cancel")
async def cancel(turn_id: UUID, request: Request, cancelled: CancelRequested) -> Turn:
    """Stop a turn, or note that the person spoke over it."""
    return await _agent(request).canceller.cancel(turn_id, cancelled)


@router.post("/turns/{turn_id}/heard")
async def heard(turn_id: UUID, request: Request, heard: Heard) -> Turn:
    """Note how much of an answer was heard."""
    return await _agent(request).canceller.heard(turn_id, heard.characters)


@router.get("/chats/{chat_id}")
async def chat(chat_id: UUID, request: Request) -> Chat:
    """Give the turns of a chat, oldest first; a chat is named by whoever begins it, so an unknown one is empty."""
    return await _agent(request).ledger.chat(chat_id)


@router.post("/prefetch", status_code=202)
async def prefetch(asked: PrefetchAsked, request: Request) -> PrefetchAccepted:
    """Prepare an answer on a guess; nothing is stored."""
    prefetches = _agent(request).prefetches
    return PrefetchAccepted(
        prefetch_id=prefetches.prepare(asked.chat_id, asked.question), lifetime_ms=round(prefetches.lifetime_s * 1000)
    )


@router.get("/prefetch/{prefetch_id}")
async def prefetched(
    prefetch_id: UUID, request: Request, wait_ms: Annotated[int, Query(ge=0, le=5000)] = 0
) -> PrefetchedAnswer:
    """Give what is prepared, waiting for it for a while; 404 when it is not known here."""
    return await _agent(request).prefetches.answer(prefetch_id, wait_ms / 1000)


def _agent(request: Request) -> Agent:
    agent = request.state.agent
    assert isinstance(agent, Agent)
    return agent
