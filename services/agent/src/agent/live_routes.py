"""What the agent is asked of live conversations and of people, as :mod:`contracts.live` has it."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query, Request

from agent.routes import agent_of
from contracts.live import (
    MAX_RECALLED,
    ChatLines,
    ChatState,
    LinesTold,
    Memories,
    ProfileCard,
    TokensTold,
    TurnRemembered,
    UserId,
)

router = APIRouter()


@router.get("/chats/{chat_id}/state")
async def state(chat_id: UUID, request: Request) -> ChatState:
    """Say where the agents of a chat are; a chat that nobody spoke in is fresh."""
    return await agent_of(request).keeper.state(chat_id)


@router.put("/chats/{chat_id}/state")
async def keep_state(chat_id: UUID, request: Request, state: ChatState) -> ChatState:
    """Keep where they are."""
    return await agent_of(request).keeper.keep_state(chat_id, state)


@router.get("/chats/{chat_id}/lines")
async def lines(chat_id: UUID, request: Request, most: Annotated[int, Query(ge=1, le=200)] = 20) -> ChatLines:
    """Give the newest lines of a chat, typed and spoken, in the order of time."""
    return await agent_of(request).keeper.lines(chat_id, most)


@router.post("/chats/{chat_id}/lines", status_code=204)
async def keep_lines(chat_id: UUID, request: Request, told: LinesTold) -> None:
    """Keep lines of a live session."""
    await agent_of(request).keeper.keep_lines(chat_id, told.lines)


@router.post("/chats/{chat_id}/tokens", status_code=204)
async def spend(chat_id: UUID, request: Request, told: TokensTold) -> None:
    """Add tokens to what a chat has cost."""
    await agent_of(request).keeper.spend(chat_id, told.spent)


@router.post("/people/{user_id}/memories", status_code=204)
async def remember(user_id: UserId, request: Request, turn: TurnRemembered) -> None:
    """Remember a complete turn of a person."""
    await agent_of(request).remembrance.remember(user_id, turn)


@router.get("/people/{user_id}/memories")
async def recall(
    user_id: UserId,
    request: Request,
    query: Annotated[str, Query(max_length=4000)] = "",
    most: Annotated[int, Query(ge=1, le=MAX_RECALLED)] = 10,
) -> Memories:
    """Give the turns of a person that speak of something, the most telling first; without a query the newest."""
    return await agent_of(request).remembrance.recall(user_id, query, most)


@router.delete("/people/{user_id}/memories", status_code=204)
async def forget(user_id: UserId, request: Request) -> None:
    """Forget every turn of a person."""
    await agent_of(request).remembrance.forget(user_id)


@router.get("/people/{user_id}/profile")
async def profile(user_id: UserId, request: Request) -> ProfileCard:
    """Show what a person said of themselves."""
    return await agent_of(request).remembrance.profile(user_id)


@router.delete("/people/{user_id}/profile", status_code=204)
async def erase_profile(user_id: UserId, request: Request) -> None:
    """Erase it."""
    await agent_of(request).remembrance.erase_profile(user_id)
