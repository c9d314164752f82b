"""A WebSocket that is refused with a response, without an error in the log.

uvicorn 0.54 sends such a response and then takes the handshake for one that its app forgot.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

if TYPE_CHECKING:
    from uvicorn._types import ASGISendEvent

LAST_OF_DENIAL = "websocket.http.response.body"


class DenyingProtocol(WebSocketsSansIOProtocol):
    """uvicorn's own, for whose handshake a response is an end, too."""

    async def send(self, message: ASGISendEvent) -> None:
        """Send it, and mark the handshake as complete with the last part of a refusal."""
        await super().send(message)
        if message["type"] == LAST_OF_DENIAL and not message.get("more_body", False):
            self.handshake_complete = True
