"""A WebSocket beside a call (``/v1/realtime?call_id=rtc_...``): it sees the call's events and may send some of its own.

It brings a credential of its own. It ends when the call does; when it leaves, the call goes on.
"""

from __future__ import annotations

import logging

from fastapi import WebSocket, WebSocketDisconnect

from voice_gateway import door
from voice_gateway.credentials import Credentials
from voice_gateway.errors import CallGone, Refused
from voice_gateway.outbox import Close
from voice_gateway.session import Around, Session
from voice_gateway.transports import websocket as on_websocket
from voice_gateway.transports.webrtc.routes import Exchange

log = logging.getLogger(__name__)


class Seat:
    """A place beside a session: its events, and a way in for more."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self.outbox = session.outbox.branch({"type": "session.created", "session": session.config.wire()})

    @property
    def busy(self) -> bool:
        """It is kept for as long as the call lasts, though it says nothing."""
        return True

    async def receive(self, message: str | bytes) -> None:
        """Say it in the call; what is wrong with it is told to both."""
        await self._session.receive(message)

    async def leave(self, why: Close) -> None:
        """Give the place up."""
        self.outbox.close(why)


async def serve(websocket: WebSocket, *, around: Around, credentials: Credentials, exchange: Exchange) -> None:
    """Let the client sit beside the call that it names, or say why not."""
    call_id = websocket.query_params.get("call_id", "")
    try:
        door.check_origin(websocket, around.settings.allowed_origins)
        credential = door.credential(websocket)
        if exchange.opened is None:
            raise CallGone
        session = exchange.opened.session(call_id)
        credentials.redeem(credential)
    except Refused as error:
        await on_websocket.refuse(websocket, error)
        return
    seat = Seat(session)
    log.info("somebody sat down beside a call", extra={"call_id": session.grant.call_id})
    try:
        await websocket.accept(door.SUBPROTOCOL if door.SUBPROTOCOL in door.offered(websocket) else None)
        await on_websocket.carry(websocket, seat, around.settings.idle_s)
    except (WebSocketDisconnect, OSError):
        pass  # it went away in the middle of a send; there is nobody to tell
    finally:
        seat.outbox.close(Close(1000, "The place beside the call was given up."))
