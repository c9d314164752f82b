"""Events that were given up, and how to try them again: ``/api/dead-letters``."""

from __future__ import annotations

from fastapi import APIRouter, Request
from redis.exceptions import RedisError

from chassis.bus import BusUnavailable, LetterNotFound
from contracts.corpus import DeadLetters, Replayed
from web.errors import BusGone, UnknownLetter
from web.state import the

routes = APIRouter()


@routes.get("/api/dead-letters")
async def dead_letters(request: Request) -> DeadLetters:
    """The events that were given up, newest first, each with the reason of its last attempt."""
    try:
        return DeadLetters(dead_letters=await the(request).bus.dead_letters())
    except (BusUnavailable, RedisError) as error:
        raise BusGone from error


@routes.post("/api/dead-letters/{letter_id}/replay")
async def replay(request: Request, letter_id: str) -> Replayed:
    """Publish an event that was given up again, once what stopped it is mended."""
    try:
        return await the(request).bus.replay(letter_id)
    except LetterNotFound as error:
        raise UnknownLetter from error
    except (BusUnavailable, RedisError) as error:
        raise BusGone from error
