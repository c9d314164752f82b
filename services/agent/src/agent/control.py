"""Waking the worker that runs a turn, in whichever process it is, when the turn is cancelled.

The flag in PostgreSQL is the truth and the heartbeat reads it each second; this is only the fast way.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import cast
from uuid import UUID

from redis.asyncio import Redis
from redis.exceptions import RedisError

log = logging.getLogger(__name__)

CHANNEL = "talkdown.agent.cancelled"
_PAUSE_S = 0.5


async def announce(redis: Redis, turn_id: UUID) -> None:
    """Tell every agent that a turn was cancelled; a Redis that is gone is left to the heartbeat."""
    try:
        await redis.publish(CHANNEL, str(turn_id))
    except (RedisError, OSError):
        log.warning("a cancelled turn could not be announced", extra={"turn_id": str(turn_id)})


async def listen(redis: Redis, wake: Callable[[UUID], object]) -> None:
    """Call ``wake`` for each announced turn until cancelled, and come back when the connection is lost."""
    while True:
        try:
            async with redis.pubsub(ignore_subscribe_messages=True) as channel:
                await channel.subscribe(CHANNEL)
                while True:
                    message = cast("dict[str, object] | None", await channel.get_message(timeout=5.0))
                    if message is not None:
                        wake(UUID(_text(message["data"])))
        except (RedisError, OSError):
            await asyncio.sleep(_PAUSE_S)
        except ValueError:
            log.warning("something that is no turn was announced as cancelled")


def _text(data: object) -> str:
    return data.decode() if isinstance(data, bytes) else str(data)
