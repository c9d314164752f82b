"""Questions, and the frames of their answers: ``/api/turns`` and ``/api/chats``."""

from __future__ import annotations

import re
from typing import TypeVar, cast
from uuid import UUID

from fastapi import APIRouter, Request
from pydantic import ValidationError
from redis.asyncio import Redis
from redis.exceptions import RedisError
from starlette.responses import Response

from chassis.frames import FIRST_CURSOR, is_last, line
from contracts.frames import frames_key
from contracts.turns import ENDED, MAX_QUESTION_LENGTH, CancelRequested, Chat, Heard, TurnAsked
from web.bodies import NDJSON, takes
from web.errors import BadRequest
from web.replay import stored_lines
from web.state import Web, the
from web.streams import NDJSON_HEADERS, FrameResponse, opened

CURSOR = re.compile(r"[0-9]{1,20}-[0-9]{1,20}")
CURSOR_ADVICE = "The cursor must be one that a frame carried, such as 1700000000000-0; leave it out to start over."
ADVICE = {
    "question": f"A question is 1 to {MAX_QUESTION_LENGTH:,} characters, none of them NUL;"
    " this one is blank, longer, or has one.",
    "chat_id": "`chat_id` must be a UUID; the page makes one when you press Start.",
}

M = TypeVar("M", CancelRequested, Heard)

routes = APIRouter()


def question_of(body: bytes) -> TurnAsked:
    """The question in a body; :class:`BadRequest` says what is wrong with it."""
    try:
        return TurnAsked.model_validate_json(body)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = str(first["loc"][0]) if first["loc"] else ""
        raise BadRequest(
            ADVICE.get(place, 'The body must be JSON such as {"chat_id": "<a UUID>", "question": "…"}.')
        ) from error


@routes.post("/api/turns", openapi_extra=takes(TurnAsked), responses=NDJSON, response_class=Response)
async def ask(request: Request) -> Response:
    """Ask a question in a chat; the answer streams as NDJSON frames, the first with the turn's id."""
    state = the(request)
    asked = question_of(await request.body())
    accepted = await state.behind.agent.accept(asked)
    return FrameResponse(await opened(state.frames, accepted.turn_id, wait_s=0), state.frames, state.watch)


@routes.get("/api/turns/{turn_id}/frames", responses=NDJSON, response_class=Response)
async def frames(request: Request, turn_id: UUID, after: str = FIRST_CURSOR) -> Response:
    """The frames behind a cursor, to the turn's end; the stored answer once they are gone (T8)."""
    if not CURSOR.fullmatch(after) or max(_order(after)) >= 2**64:
        raise BadRequest(CURSOR_ADVICE)
    state = the(request)
    opening = await opened(state.frames, turn_id, after)
    if not opening.first:
        try:
            if ended := await _ending(state, turn_id, after):
                await opening.frames.aclose()
                return _lines(ended)
        except BaseException:
            await opening.frames.aclose()
            raise
    return FrameResponse(opening, state.frames, state.watch)


async def _ending(state: Web, turn_id: UUID, after: str) -> bytes | None:
    """What is left of a turn that has nothing more to say: its last frame again, or the stored turn; else nothing."""
    if newest := await _newest(state.redis, turn_id):
        cursor, frame = newest
        return line(cursor, frame) if is_last(frame) and _order(cursor.decode()) <= _order(after) else None
    turn = await state.behind.agent.turn(turn_id)
    return b"".join(stored_lines(turn)) if turn.status in ENDED else None


async def _newest(redis: Redis, turn_id: UUID) -> tuple[bytes, bytes] | None:
    """The newest frame of a turn and its cursor, if there are frames, and a Redis that has them."""
    try:
        entries = cast(
            "list[tuple[bytes, dict[bytes, bytes]]]",
            await redis.execute_command("XREVRANGE", frames_key(turn_id), "+", "-", "COUNT", 1),
        )
    except (RedisError, OSError):
        return None
    return (entries[0][0], entries[0][1][b"frame"]) if entries else None


@routes.post("/api/turns/{turn_id}/cancel", openapi_extra=takes(CancelRequested, required=False))
async def cancel(request: Request, turn_id: UUID) -> Response:
    """Stop a turn; no answer is kept, or what was heard of it when speech interrupted."""
    body = await request.body() or b"{}"
    asked = _valid(CancelRequested, body, 'The body must be JSON such as {"reason": "stopped"}.')
    return await the(request).behind.agent.cancel(turn_id, asked)


@routes.post("/api/turns/{turn_id}/heard", openapi_extra=takes(Heard))
async def heard(request: Request, turn_id: UUID) -> Response:
    """Say how much of an answer was heard, in code points."""
    asked = _valid(Heard, await request.body(), 'The body must be JSON such as {"characters": 120}.')
    return await the(request).behind.agent.heard(turn_id, asked)


@routes.get("/api/chats/{chat_id}")
async def chat(request: Request, chat_id: UUID) -> Chat:
    """The turns of a chat, oldest first."""
    return await the(request).behind.agent.chat(chat_id)


def _valid(kind: type[M], body: bytes, advice: str) -> M:
    try:
        return kind.model_validate_json(body)
    except ValidationError as error:
        raise BadRequest(advice) from error


def _order(cursor: str) -> tuple[int, int]:
    milliseconds, _, count = cursor.partition("-")
    return int(milliseconds), int(count)


def _lines(body: bytes) -> Response:
    response = Response(body)
    response.raw_headers = [*NDJSON_HEADERS, (b"content-length", str(len(body)).encode())]
    return response
