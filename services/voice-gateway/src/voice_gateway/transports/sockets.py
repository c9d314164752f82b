"""What every WebSocket of the gateway does alike: it is read with patience, and closed with a reason."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable

from fastapi import WebSocket
from starlette.websockets import WebSocketState

from voice_gateway.outbox import LAST_WORDS_S, Close

_MAX_REASON_BYTES = 123
"""Of a close frame, RFC 6455 section 5.5."""


class Idle(Exception):
    """The client said nothing for too long; ``close`` says so to it."""

    def __init__(self, idle_s: float) -> None:
        super().__init__(idle_s)
        minutes = f"{idle_s / 60:g} minutes" if idle_s >= 60 else f"{idle_s:g} seconds"
        self.close = Close(1000, f"Nothing was said for {minutes}; connect again with a new credential.")


async def frames(websocket: WebSocket, idle_s: float, busy: Callable[[], bool]) -> AsyncGenerator[str | bytes]:
    """The client's frames until it leaves; :class:`Idle` when none came for ``idle_s`` seconds and nothing is busy."""
    while True:
        try:
            async with asyncio.timeout(idle_s):
                message = await websocket.receive()
        except TimeoutError:
            if busy():
                continue
            raise Idle(idle_s) from None
        if message["type"] == "websocket.disconnect":
            return
        text = message.get("text")
        yield text if text is not None else message.get("bytes") or b""


async def close(websocket: WebSocket, why: Close) -> None:
    """Close it with the reason, as far as a close frame holds it; one that is closed stays so."""
    if websocket.application_state is not WebSocketState.CONNECTED:
        return
    reason = why.reason.encode()[:_MAX_REASON_BYTES].decode(errors="ignore")
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(LAST_WORDS_S):
            await websocket.close(why.code, reason)
