"""The frames of answers while they are written: one Redis stream a turn, written by the agent, read by web.

::

    agent  --XADD turn:{id}-->  Redis  --one blocking XREAD over all turns that are read-->  FrameHub --> readers

A reader gets batches of ``(cursor, JSON)`` as they stand, without their being parsed. The hub keeps nothing for a
reader that is slow: past ``MAX_AHEAD`` batches it forgets them, and the reader takes them from the stream again.
"""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from redis.asyncio import Redis

from chassis.hub import FrameHub, Frames, FramesLost, Reader
from contracts.frames import FRAMES_LIFETIME_S, LAST_FRAMES, Accepted, Frame, frames_key

__all__ = ["FIRST_CURSOR", "FrameHub", "FrameWriter", "Frames", "FramesLost", "Reader", "is_last", "line"]

FIRST_CURSOR = "0-0"
"""Before the first frame of a turn."""

ABANDONED_S = 2 * FRAMES_LIFETIME_S
"""How long the frames of a turn are kept whose end was never written."""

_ENDS = tuple(f'{{"type":"{kind}"'.encode() for kind in LAST_FRAMES)


def is_last(frame: bytes) -> bool:
    """Whether a frame as it stands in the stream ends it (``done`` or ``error``)."""
    return frame.startswith(_ENDS)


def line(cursor: bytes | str, frame: bytes) -> bytes:
    """A frame as one line of NDJSON that carries its cursor."""
    place = cursor if isinstance(cursor, bytes) else cursor.encode()
    return b'{"cursor":"' + place + b'",' + frame[1:] + b"\n"


def encode(frame: Frame) -> bytes:
    """A frame as it stands in the stream: JSON without its cursor, ``type`` first."""
    return frame.__pydantic_serializer__.to_json(frame, exclude={"cursor"})


class FrameWriter:
    """Appends frames to the streams of turns."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis

    async def append(self, turn_id: UUID | str, *frames: Frame) -> list[str]:
        """Append frames in one round trip; gives their cursors. After a last frame the stream lives one more hour."""
        if not frames:
            return []
        key = frames_key(turn_id)
        async with self._redis.pipeline(transaction=False) as pipeline:
            for frame in frames:
                pipeline.execute_command("XADD", key, "*", "frame", encode(frame))
            lifetime = _lifetime(frames)
            if lifetime is not None:
                pipeline.execute_command("EXPIRE", key, lifetime)
            answers: list[bytes] = await pipeline.execute()
        return [_text(cursor) for cursor in answers[: len(frames)]]

    async def close(self, turn_id: UUID | str) -> None:
        """Let the frames of a turn expire an hour from now."""
        await self._redis.execute_command("EXPIRE", frames_key(turn_id), FRAMES_LIFETIME_S)

    async def forget(self, turn_id: UUID | str) -> None:
        """Remove the frames of a turn now."""
        await self._redis.execute_command("UNLINK", frames_key(turn_id))


def _lifetime(frames: Sequence[Frame]) -> int | None:
    if getattr(frames[-1], "type", None) in LAST_FRAMES:
        return FRAMES_LIFETIME_S
    return ABANDONED_S if any(isinstance(frame, Accepted) for frame in frames) else None


def _text(value: bytes | str) -> str:
    return value.decode() if isinstance(value, bytes) else value
