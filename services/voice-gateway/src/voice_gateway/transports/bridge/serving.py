"""``/v1/graph/live``: a live session on one WebSocket, its sound in binary frames, everything else in JSON.

Who cannot be served hears why in an ``error`` event and in the reason of the close, which a page can read, too:
1003 the first frame was no JSON object, 1008 a credential or a setting is refused, 1013 there is no room, 1001 the
process stops, 1011 something failed here, 1000 it was the end.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Protocol
from urllib.parse import urlsplit

from fastapi import WebSocket, WebSocketDisconnect
from starlette.websockets import WebSocketState

from chassis import telemetry
from chassis.refusals import refusal
from voice_gateway import door
from voice_gateway.around import Around
from voice_gateway.credentials import Credentials, Grant
from voice_gateway.errors import OriginRefused, Refused
from voice_gateway.live.errors import InvalidConfig, LiveError
from voice_gateway.live.events import OUTPUT_RATE
from voice_gateway.orchestrators.opening import Orchestrated
from voice_gateway.outbox import Close
from voice_gateway.session import session_span
from voice_gateway.sessions import Sessions
from voice_gateway.settings import Settings
from voice_gateway.transports.bridge import messages
from voice_gateway.transports.bridge.carrying import DRAIN_S, FAILED, INTERNAL, Carrying
from voice_gateway.transports.bridge.messages import INPUT_RATE, MAX_FRAME_BYTES, NotAnObject, Wanted, error
from voice_gateway.transports.bridge.sending import Downstream
from voice_gateway.transports.sockets import Idle, close, frames

log = logging.getLogger(__name__)

PATH = "/v1/graph/live"
GEMINI_URL = "https://generativelanguage.googleapis.com"
FIRST_FRAME_S = 10.0
NO_OBJECT = Close(1003, "The first frame is a JSON object with the settings of the session; {} takes them as they are.")
LATE = Close(1003, "No first frame came; send a JSON object with the settings of the session at once.")
REFUSED = 1008


class Opens(Protocol):
    """Opens the session that a client wants: :class:`InvalidConfig`, or a :class:`Refused`, says why not."""

    def __call__(
        self, grant: Grant, wanted: Wanted, traceparent: str | None, played_ms: Callable[[], int | None]
    ) -> AbstractAsyncContextManager[Orchestrated]:
        """For as long as its connection lasts."""
        ...


async def serve(
    websocket: WebSocket,
    *,
    around: Around,
    credentials: Credentials,
    sessions: Sessions,
    opens: Opens,
    drain_s: float = DRAIN_S,
    first_frame_s: float = FIRST_FRAME_S,
) -> None:
    """Let the client in or say why not, and carry its session until either side ends it."""
    try:
        door.check_origin(websocket, around.settings.allowed_origins)
    except OriginRefused as refused:
        await websocket.send_denial_response(refusal(refused.status, refused.code, refused.message))
        return
    with contextlib.suppress(WebSocketDisconnect, OSError):  # who went away is told nothing
        await websocket.accept(door.SUBPROTOCOL if door.SUBPROTOCOL in door.offered(websocket) else None)
        try:
            grant = _admit(websocket, around, credentials, sessions)
        except Refused as refused:
            await _refuse(websocket, refused.code, refused.message, refused.close_code)
            return
        carrying = Carrying(Downstream(around.settings.max_unread_bytes), drain_s)
        sessions.add(carrying)
        with session_span(grant) as current:
            try:
                await _converse(
                    websocket, grant, carrying, opens, telemetry.traceparent_of(current), around, first_frame_s
                )
            finally:
                sessions.remove(carrying)
                await carrying.close()


def _admit(websocket: WebSocket, around: Around, credentials: Credentials, sessions: Sessions) -> Grant:
    value = door.credential(websocket, in_query=True)
    sessions.check_room()  # before the credential is spent, so that it can be brought again
    grant = credentials.redeem(value)
    around.calls.connected(grant.call_id)
    return grant


async def _converse(
    websocket: WebSocket,
    grant: Grant,
    carrying: Carrying,
    opens: Opens,
    traceparent: str | None,
    around: Around,
    first_frame_s: float,
) -> None:
    about = {"call_id": grant.call_id, "chat_id": str(grant.chat_id)}
    try:
        wanted = await _first_frame(websocket, first_frame_s, carrying)
        if wanted is None:
            return
        async with opens(grant, wanted, traceparent, carrying.down.played_ms) as opened:
            log.info("a live session began", extra={**about, "orchestrator": opened.orchestrator})
            gives_way = opened.capabilities.orchestrates
            carrying.begin(opened.session, by_hand=not opened.config.vad.enabled, gives_way=gives_way)
            carrying.down.say(_ready(grant, opened, around.settings))
            await _carry(websocket, carrying, around.settings.idle_s)
    except InvalidConfig as wrong:
        await _refuse(websocket, wrong.code, wrong.message, REFUSED)
    except LiveError as failed:
        await _refuse(websocket, failed.code, failed.message, INTERNAL)
    except Refused as refused:
        await _refuse(websocket, refused.code, refused.message, refused.close_code)
    except (WebSocketDisconnect, OSError):
        raise
    except Exception:
        log.exception("a live session failed unforeseen", extra=about)
        await _refuse(websocket, "internal", FAILED, INTERNAL)
    finally:
        why = carrying.down.close_with
        log.info("a live session ended", extra={**about, "code": why.code if why else None})


async def _first_frame(websocket: WebSocket, within_s: float, carrying: Carrying) -> Wanted | None:
    """The session that the client wants; None when it left, or was sent away."""
    receiving = asyncio.create_task(websocket.receive())
    sent_away = asyncio.create_task(carrying.down.over.wait())
    try:
        await asyncio.wait({receiving, sent_away}, timeout=within_s, return_when=asyncio.FIRST_COMPLETED)
        if not receiving.done():
            await close(websocket, carrying.down.close_with or LATE)
            return None
        message = receiving.result()
    finally:
        receiving.cancel()
        sent_away.cancel()
        await asyncio.wait({receiving, sent_away})
    if message["type"] == "websocket.disconnect":
        return None
    text = message.get("text")
    frame: str | bytes = text if text is not None else message.get("bytes") or b""
    if len(frame.encode() if isinstance(frame, str) else frame) > MAX_FRAME_BYTES:
        raise InvalidConfig(f"The first frame has at most {MAX_FRAME_BYTES:,} bytes.")
    try:
        return messages.wanted(frame)
    except NotAnObject:
        await close(websocket, NO_OBJECT)
        return None


def _ready(grant: Grant, opened: Orchestrated, settings: Settings) -> str:
    about = {
        "input_rate": INPUT_RATE,
        "output_rate": OUTPUT_RATE,
        "session_id": grant.call_id,
        "chat_id": str(grant.chat_id),
        "orchestrator": opened.orchestrator,
        "provider": opened.capabilities.provider,
        "scenario": opened.scenario,
        "agent": opened.agent,
        "modality": opened.config.modality,
        "vad": opened.config.vad.enabled,
        "leaves": _leaves(opened, settings),
    }
    return messages.ready(about, opened.capabilities)


def _leaves(opened: Orchestrated, settings: Settings) -> dict[str, str] | None:
    """What of the session leaves this machine, and to whom."""
    if opened.orchestrator == "live":
        openai = opened.capabilities.provider == "openai"
        url = settings.provider_url if openai else settings.gemini_base_url or GEMINI_URL
        return {"what": "voice", "to": urlsplit(url).netloc}
    if settings.cascade_answers != "ours":
        return {"what": "questions", "to": urlsplit(settings.provider_url).netloc}
    return None


async def _carry(websocket: WebSocket, carrying: Carrying, idle_s: float) -> None:
    """Read, write and tell until the client has left, or everything is said and the close is sent."""
    reading = asyncio.create_task(_read(websocket, carrying, idle_s))
    writing = asyncio.create_task(_write(websocket, carrying.down))
    telling = asyncio.create_task(carrying.tell())
    over = asyncio.create_task(carrying.down.over.wait())
    tasks = {reading, writing, telling, over}
    try:
        await asyncio.wait({reading, writing, over}, return_when=asyncio.FIRST_COMPLETED)
        if over.done():
            left = {writing} if reading.done() else {writing, reading}
            await asyncio.wait(left, timeout=carrying.patience_s(), return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
    for task in (reading, writing, telling):
        if not task.cancelled():
            task.result()
    if carrying.down.close_with is not None:
        await close(websocket, carrying.down.close_with)


async def _read(websocket: WebSocket, carrying: Carrying, idle_s: float) -> None:
    """Hand the client's frames to the session until the client leaves, or says nothing for ``idle_s``."""
    speaks = frames(websocket, idle_s, lambda: carrying.busy and not carrying.down.held)
    try:
        async with contextlib.aclosing(speaks) as said:
            async for frame in said:
                await carrying.take(frame)
    except Idle as idle:
        await carrying.leave(idle.close)


async def _write(websocket: WebSocket, down: Downstream) -> None:
    async for message in down:
        if isinstance(message, str):
            await websocket.send_text(message)
        else:
            await websocket.send_bytes(message)


async def _refuse(websocket: WebSocket, code: str, message: str, close_code: int) -> None:
    if websocket.application_state is WebSocketState.CONNECTED:
        await websocket.send_text(messages.written(error(code, message, fatal=True)))
        await close(websocket, Close(close_code, message))
