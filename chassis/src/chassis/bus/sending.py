"""Sending events to Redis on one connection that is kept, and made anew when it was lost."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence

from redis.asyncio import Redis
from redis.exceptions import RedisError

from chassis.bus.errors import BusUnavailable
from chassis.redis import LOST, Line, Pauses

log = logging.getLogger(__name__)

Command = Sequence[bytes | str]


class Sender:
    """Sends commands together, one publish after the other."""

    def __init__(self, redis: Redis, within_s: float) -> None:
        self._redis = redis
        self._within_s = within_s
        self._line: Line | None = None
        self._turn = asyncio.Lock()

    async def send(self, commands: Sequence[Command]) -> None:
        """Send commands in one round trip, again and again while the server is away, for ``within_s`` at most.

        Sent twice an event is delivered twice, which handlers bear; not sent it would be lost.
        """
        pauses = Pauses()
        try:
            async with asyncio.timeout(self._within_s), self._turn:
                while True:
                    try:
                        line = self._line or await self._open()
                        await line.ask_all(commands)
                        return
                    except LOST as error:
                        await self.close()
                        log.warning("publishing waits for Redis", extra={"error": type(error).__name__})
                        await pauses.rest()
                    except BaseException:
                        await self.close()  # an answer may still be on its way
                        raise
        except TimeoutError as error:
            raise BusUnavailable("The event could not be published: Redis does not answer.") from error
        except RedisError as error:
            raise BusUnavailable(
                f"The event could not be published: Redis refused it ({type(error).__name__})."
            ) from error

    async def close(self) -> None:
        """Close the connection; the next command opens another."""
        line, self._line = self._line, None
        if line is not None:
            await line.__aexit__()

    async def _open(self) -> Line:
        self._line = await Line(self._redis).__aenter__()
        return self._line
