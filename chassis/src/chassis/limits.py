"""A bound on request bodies, held while they arrive and not only by what they announce.

Closing a connection on which a client still writes resets it, and the client then reads an error of the network instead
of the sentence that refuses. So what comes after a refusal is read and thrown away, up to a bound in bytes and in time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from chassis.refusals import refuse

THROWN_AWAY_BYTES = 1 << 20
THROWN_AWAY_S = 2.0


class BodyLimit:
    """ASGI middleware: a body over ``limit`` bytes is refused with 413 before anything is done with it."""

    def __init__(self, app: ASGIApp, limit: int, larger: Mapping[str, int]) -> None:
        self._app = app
        self._limit = limit
        self._larger = sorted(larger.items(), key=lambda item: -len(item[0]))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection."""
        if scope["type"] != "http" or scope["method"] in ("GET", "HEAD", "OPTIONS"):
            await self._app(scope, receive, send)
            return
        path: str = scope["path"]
        limit = next((size for prefix, size in self._larger if path.startswith(prefix)), self._limit)
        sentence = f"The body is over {limit:,} bytes; send a shorter one."
        announced = next((value for name, value in scope["headers"] if name == b"content-length"), b"0")
        if announced.isdigit() and int(announced) > limit:
            if not any(name == b"expect" for name, _ in scope["headers"]):
                await _throw_away(receive)
            await refuse(scope, receive, send, 413, "too_large", sentence, {"connection": "close"})
            return
        arrived = 0

        async def counted() -> Message:
            nonlocal arrived
            message = await receive()
            arrived += len(message.get("body", b""))
            if arrived > limit:
                if message.get("more_body"):
                    await _throw_away(receive)
                raise HTTPException(413, sentence, {"connection": "close"})
            return message

        await self._app(scope, counted, send)


async def _throw_away(receive: Receive) -> None:
    """Read what still comes of a body, up to the bounds."""
    left = THROWN_AWAY_BYTES
    try:
        async with asyncio.timeout(THROWN_AWAY_S):
            while left > 0:
                message = await receive()
                left -= len(message.get("body", b""))
                if not message.get("more_body"):
                    return
    except TimeoutError:
        return
