"""What the agent is asked over HTTP; bodies and answers are those of :mod:`contracts.turns`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query, Request

from agent.accepting import Reception
from agent.cancelling import Canceller
from agent.errors import TurnUnknown
from agent.keeping import Keeper
from agent.ledger import Ledger
from agent.prefetching import Prefetches
from agent.remembering import Remembrance
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
    keeper: Keeper
    remembrance: Remembrance


@router.post("/turns", status_code=202)
async def ask(asked: TurnAsked, request: Request) -> TurnAccepted:
    """Take a question in: 202 once it is stored and its first frame stands; 400, 429 or 503 with nothing stored."""
    return await agent_of(request).reception.accept(asked)


@router.get("/turns/{turn_id}")
async def read(turn_id: UUID, request: Request) -> Turn:
    """Give a turn as it stands."""
    turn = await agent_of(request).ledger.turn(turn_id)
    if turn is None:
        raise TurnUnknown
    return turn


@router.post("/turns/{turn_id}/cancel")
async def cancel(turn_id: UUID, request: Request, cancelled: CancelRequested) -> Turn:
    """Stop a turn, or note that the person spoke over it."""
    return await agent_of(request).canceller.cancel(turn_id, cancelled)


@router.post("/turns/{turn_id}/heard")
async def heard(turn_id: UUID, request: Request, heard: Heard) -> Turn:
    """Note how much of an answer was heard."""
    return await agent_of(request).canceller.heard(turn_id, heard.characters)


@router.get("/chats/{chat_id}")
async def chat(chat_id: UUID, request: Request) -> Chat:
    """Give the turns of a chat, oldest first, and what it cost; an unknown chat is empty: who begins one names it."""
    agent = agent_of(request)
    return (await agent.ledger.chat(chat_id)).model_copy(update={"costs": await agent.keeper.costs(chat_id)})


@router.post("/prefetch", status_code=202)
async def prefetch(asked: PrefetchAsked, request: Request) -> PrefetchAccepted:
    """Prepare an answer on a guess; nothing is stored."""
    prefetches = agent_of(request).prefetches
    return PrefetchAccepted(
        prefetch_id=prefetches.prepare(asked.chat_id, asked.question), lifetime_ms=round(prefetches.lifetime_s * 1000)
    )


@router.get("/prefetch/{prefetch_id}")
async def prefetched(
    prefetch_id: UUID, request: Request, wait_ms: Annotated[int, Query(ge=0, le=5000)] = 0
) -> PrefetchedAnswer:
    """Give what is prepared, waiting for it for a while; 404 when it is not known here."""
    return await agent_of(request).prefetches.answer(prefetch_id, wait_ms / 1000)


def agent_of(request: Request) -> Agent:
    """What the handlers need."""
    agent = request.state.agent
    assert isinstance(agent, Agent)
    return agent
