"""A bound on request bodies, held while they arrive and not only by what they announce."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from chassis.refusals import refuse


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
            await refuse(scope, receive, send, 413, "too_large", sentence, {"connection": "close"})
            return
        arrived = 0

        async def counted() -> Message:
            nonlocal arrived
            message = await receive()
            arrived += len(message.get("body", b""))
            if arrived > limit:
                raise HTTPException(413, sentence, {"connection": "close"})
            return message

        await self._app(scope, counted, send)
