"""Writing the last frame of a turn from what is stored of it, for turns that were not ended by their own worker."""

from __future__ import annotations

from typing import cast
from uuid import UUID

from redis.asyncio import Redis

from agent.ledger import read_turn
from chassis.frames import FrameWriter, is_last
from chassis.postgres import Connection
from chassis.queries import Queries
from contracts.frames import Accepted, Done, Error, Frame, frames_key
from contracts.turns import Turn

SQL = Queries.of("agent")


def last_frame(turn: Turn) -> Done | Error:
    """The frame that ends the stream of an ended turn."""
    if turn.error_code is not None:
        return Error(code=turn.error_code, message=turn.error_message or "")
    return Done(answer=turn.answer or "", sources=turn.sources, abstained=turn.abstained)


async def tell(turn_id: UUID, connection: Connection, redis: Redis) -> None:
    """Write the last frame of an ended turn, unless it is there, and note that it is; raises what Redis raises."""
    turn = await read_turn(connection, turn_id)
    if turn is None:
        return
    latest = cast("list[tuple[bytes, dict[bytes, bytes]]]", await redis.xrevrange(frames_key(turn_id), count=1))
    if not latest or not is_last(latest[0][1].get(b"frame", b"")):
        # Frames that are gone begin again as they always do, so that whoever reads them understands the end.
        first: list[Frame] = [] if latest else [Accepted(turn_id=turn_id, trace_id=turn.trace_id)]
        await FrameWriter(redis).append(turn_id, *first, last_frame(turn))
    await connection.execute(SQL.mark_told, {"turn_id": turn_id})
