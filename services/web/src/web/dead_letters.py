"""Events that were given up, and how to try them again: ``/api/dead-letters``."""

from __future__ import annotations

from contracts.corpus import DeadLetters, Replayed
from fastapi import APIRouter, Request

from web.state import the

routes = APIRouter()


@routes.get("/api/dead-letters")
async def dead_letters(request: Request) -> DeadLetters:
    """The events that were given up, newest last, each with the reason of its last attempt."""
    return DeadLetters(dead_letters=tuple(await the(request).bus.dead_letters()))


@routes.post("/api/dead-letters/{letter_id}/replay")
async def replay(request: Request, letter_id: str) -> Replayed:
    """Publish an event that was given up again, once what stopped it is mended."""
    return await the(request).bus.replay(letter_id)
