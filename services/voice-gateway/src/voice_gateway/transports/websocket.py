"""A session on the official WebSocket, ``/v1/realtime``: one event a text message, both ways, sound in base64.

Whoever cannot be served is answered as early as it can hear it: over plain HTTP before the handshake, or, when it
offered the subprotocol ``realtime`` (a browser shows its page nothing of a refused handshake), by an ``error`` event
and a close with the same sentence.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
from collections.abc import Coroutine, Sequence
from functools import partial
from typing import Any, Protocol

from fastapi import WebSocket, WebSocketDisconnect

from chassis import telemetry
from chassis.refusals import refusal
from voice_gateway import door, protocol
from voice_gateway.conversation import new_id
from voice_gateway.credentials import Credentials, Grant
from voice_gateway.errors import CallsElsewhere, NotSupported, OriginRefused, Refused
from voice_gateway.outbox import LAST_WORDS_S, Close, Outbox
from voice_gateway.pacing import Pacer
from voice_gateway.playout import Frame
from voice_gateway.protocol import of_response
from voice_gateway.session import Around, Session, session_span
from voice_gateway.sessions import Sessions
from voice_gateway.sound import encoded
from voice_gateway.transports.sockets import Idle, close, frames

log = logging.getLogger(__name__)


class Carried(Protocol):
    """What a socket carries: a session, or a seat beside one."""

    outbox: Outbox

    @property
    def busy(self) -> bool:
        """Whether it is to be kept though its client says nothing."""
        ...

    async def receive(self, message: str | bytes) -> None:
        """Do what the client's event says."""
        ...

    async def leave(self, why: Close) -> None:
        """End it."""
        ...


async def serve(websocket: WebSocket, *, around: Around, credentials: Credentials, sessions: Sessions) -> None:
    """Let the client in or say why not, and carry its session until either side ends it."""
    try:
        grant = _admit(websocket, around, credentials, sessions)
    except Refused as error:
        await refuse(websocket, error)
        return
    with session_span(grant) as current:
        try:
            session = Session(grant, around, telemetry.traceparent_of(current), sound_in_events=True)
        except Refused as error:
            await refuse(websocket, error)
            return
        sessions.add(session)
        about = {"call_id": grant.call_id, "chat_id": str(grant.chat_id)}
        log.info("a voice session began", extra=about)
        try:
            await websocket.accept(door.SUBPROTOCOL if door.SUBPROTOCOL in door.offered(websocket) else None)
            playing = Pacer(session.playout, partial(_sound, session)).run()
            await carry(websocket, session, around.settings.idle_s, playing)
        except (WebSocketDisconnect, OSError):
            pass  # the client went away in the middle of a send; there is nobody to tell
        finally:
            sessions.remove(session)
            await session.leave()
            why = session.outbox.close_with
            log.info("a voice session ended", extra={**about, "code": why.code if why else None})


def _admit(websocket: WebSocket, around: Around, credentials: Credentials, sessions: Sessions) -> Grant:
    door.check_origin(websocket, around.settings.allowed_origins)
    if around.provider is not None:
        raise CallsElsewhere
    if "intent" in websocket.query_params:
        raise NotSupported
    credential = door.credential(websocket)
    sessions.check_room()  # before the credential is spent, so that it can be brought again
    grant = credentials.redeem(credential)
    around.calls.connected(grant.call_id)
    return grant


async def refuse(websocket: WebSocket, error: Refused) -> None:
    """Say why the client cannot be served, as early as it can hear it."""
    if door.SUBPROTOCOL in door.offered(websocket) and not isinstance(error, OriginRefused):
        with contextlib.suppress(WebSocketDisconnect, OSError):
            await websocket.accept(door.SUBPROTOCOL)
            event = {"event_id": new_id("event"), **protocol.refusal(error.code, error.message)}
            await websocket.send_text(json.dumps(event))
            await close(websocket, Close(error.close_code, error.message))
        return
    headers = {"retry-after": str(error.retry_after_s)} if error.retry_after_s else None
    await websocket.send_denial_response(refusal(error.status, error.code, error.message, headers))


async def carry(websocket: WebSocket, session: Carried, idle_s: float, *also: Coroutine[Any, Any, None]) -> None:
    """Read and write until the client has left, or everything is said and the close is sent."""
    reading = asyncio.create_task(_read(websocket, session, idle_s))
    writing = asyncio.create_task(_write(websocket, session))
    closing = asyncio.create_task(session.outbox.closed.wait())
    beside = [asyncio.create_task(work) for work in also]
    tasks = {reading, writing, closing, *beside}
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        if session.outbox.closed.is_set():
            await asyncio.wait({writing}, timeout=LAST_WORDS_S)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
    for task in (reading, writing, *beside):
        if not task.cancelled():
            task.result()


async def _read(websocket: WebSocket, session: Carried, idle_s: float) -> None:
    """Hand the client's events to the session until the client leaves, or says nothing for ``idle_s``."""
    try:
        async with contextlib.aclosing(frames(websocket, idle_s, lambda: session.busy)) as messages:
            async for message in messages:
                await session.receive(message)
    except Idle as idle:
        await session.leave(idle.close)


def _sound(session: Session, frames: Sequence[Frame]) -> None:
    """Give the client the sound of one speech."""
    speech = frames[0].speech
    pcm = b"".join(frame.pcm for frame in frames)
    where = {"item_id": speech.item_id, "content_index": 0}
    session.emit(of_response("response.output_audio.delta", speech.response_id, delta=encoded(pcm), **where))


async def _write(websocket: WebSocket, session: Carried) -> None:
    """Send what the session says until it is closed, and then the close."""
    async for text in session.outbox:
        await websocket.send_text(text)
    if session.outbox.close_with is not None:
        await close(websocket, session.outbox.close_with)
