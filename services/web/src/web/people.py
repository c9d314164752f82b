"""What is remembered of people, to be shown and erased: ``/api/people``."""

from __future__ import annotations

from fastapi import APIRouter, Request

from contracts.live import Memories, ProfileCard, UserId
from web.state import the

routes = APIRouter()


@routes.get("/api/people/{user_id}/profile")
async def profile(request: Request, user_id: UserId) -> ProfileCard:
    """What a person said of themselves, the newest first."""
    return await the(request).behind.agent.profile(user_id)


@routes.delete("/api/people/{user_id}/profile", status_code=204)
async def erase_profile(request: Request, user_id: UserId) -> None:
    """Erase it."""
    await the(request).behind.agent.erase(user_id, "profile")


@routes.get("/api/people/{user_id}/memories")
async def memories(request: Request, user_id: UserId) -> Memories:
    """The turns of a person that are remembered, the newest first."""
    return await the(request).behind.agent.memories(user_id)


@routes.delete("/api/people/{user_id}/memories", status_code=204)
async def forget(request: Request, user_id: UserId) -> None:
    """Forget them."""
    await the(request).behind.agent.erase(user_id, "memories")
