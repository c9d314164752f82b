"""``/v1/realtime`` and ``/v1/graph/live``: voice signalling and live sessions, passed to the voice gateway as they are.

The page speaks to one port alone. What it sends goes on without the Origin, which was checked here; the credential in
it is looked up by the gateway.
"""

from __future__ import annotations

import asyncio
import re
from contextlib import suppress
from typing import TYPE_CHECKING
from urllib.parse import urlsplit, urlunsplit

from fastapi import APIRouter, HTTPException, Request, WebSocket, WebSocketDisconnect
from starlette.requests import HTTPConnection
from starlette.responses import Response

from chassis.replicas import Replica
from chassis.telemetry import inject
from contracts.voice import LiveOffer, Timeline
from web.bodies import takes
from web.errors import WebError
from web.state import the

if TYPE_CHECKING:
    from websockets.asyncio.client import ClientConnection

MAX_SIGNALLING_BYTES = 131_072
"""An SDP offer, and beside it the session that a form may hold."""
MAX_MESSAGE_BYTES = 16 * 1024 * 1024
"""What the Realtime API takes in one event: 15 MiB of audio, in base64."""
PATH = re.compile(r"[A-Za-z0-9_-]+(?:/[A-Za-z0-9_-]+)*")
"""What the addresses of the Realtime API are made of; any other could lead to what the gateway keeps to itself."""
LIVE = "/v1/graph/live"
CALL = re.compile(r"calls/([^/]+)/")
KEY_SUBPROTOCOL = "openai-insecure-api-key."
PASSED = ("authorization", "content-type", "traceparent", "openai-beta", "openai-safety-identifier")

routes = APIRouter()


@routes.post("/v1/realtime/{path:path}")
async def signal(request: Request, path: str) -> Response:
    """Pass a credential request, an SDP offer or a hang-up on."""
    if not PATH.fullmatch(path):
        raise HTTPException(404)
    body = await request.body()
    headers = {name: request.headers[name] for name in PASSED if name in request.headers}
    if current := inject():
        headers["traceparent"] = current
    query = str(request.url.query)
    target = f"/v1/realtime/{path}" + (f"?{query}" if query else "")
    of_call = CALL.match(path)
    belongs_to = of_call[1] if of_call else request.query_params.get("call_id") or _credential(request)
    return await the(request).behind.voice.signal(target, body, headers, belongs_to)


@routes.post("/api/calls/{call_id}/timeline", status_code=204, openapi_extra=takes(Timeline))
async def timeline(request: Request, call_id: str) -> Response:
    """Pass on what the page saw happen in a call, for the traces of its turns."""
    if not PATH.fullmatch(call_id):
        raise HTTPException(404)
    body = await request.body()
    return await the(request).behind.voice.signal(
        f"/calls/{call_id}/timeline", body, {"content-type": "application/json"}, belongs_to=call_id
    )


@routes.get(LIVE)
async def offer(request: Request) -> LiveOffer:
    """What a live session may be opened with."""
    return await the(request).behind.voice.offer()


@routes.websocket("/v1/realtime")
async def session(socket: WebSocket) -> None:
    """A session of the Realtime protocol, or a seat beside one."""
    await _pass(socket, "/v1/realtime", socket.query_params.get("call_id") or _credential(socket))


@routes.websocket(LIVE)
async def live(socket: WebSocket) -> None:
    """A live session; its credential may stand in the address."""
    await _pass(socket, LIVE, _credential(socket) or socket.query_params.get("token", ""))


async def _pass(socket: WebSocket, path: str, belongs_to: str) -> None:
    """Pass a session on, message by message, until either side closes; the code and the reason go with it."""
    from websockets.asyncio.client import connect
    from websockets.exceptions import InvalidHandshake

    headers = {name: socket.headers[name] for name in PASSED if name in socket.headers}
    try:
        replica, *_ = await the(socket).behind.voice.serving(belongs_to)
        far = await connect(
            _websocket_url(the(socket).voice_url, replica, path, socket.url.query),
            additional_headers=headers,
            subprotocols=socket.scope["subprotocols"] or None,
            max_size=MAX_MESSAGE_BYTES,
            compression=None,
            proxy=None,
        )
    except (OSError, InvalidHandshake, TimeoutError, WebError) as error:
        absent = isinstance(error, (OSError, WebError))
        await socket.close(1013 if absent else 1008, "The voice gateway did not take the session.")
        return
    async with far:
        await socket.accept(far.subprotocol)
        up, down = asyncio.create_task(_up(socket, far)), asyncio.create_task(_down(far, socket))
        try:
            await asyncio.wait({up, down}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            up.cancel()
            down.cancel()
            await asyncio.wait({up, down})


async def _up(near: WebSocket, far: ClientConnection) -> None:
    from websockets.exceptions import ConnectionClosed

    try:
        while True:
            message = await near.receive()
            if message["type"] == "websocket.disconnect":
                code = message.get("code") or 1000
                await far.close(1000 if code in (1005, 1006) else code, message.get("reason") or "")
                return
            await far.send(message["text"] if message.get("text") is not None else message["bytes"])
    except ConnectionClosed:
        return


async def _down(far: ClientConnection, near: WebSocket) -> None:
    from websockets.exceptions import ConnectionClosed

    try:
        with suppress(ConnectionClosed):
            async for message in far:
                if isinstance(message, str):
                    await near.send_text(message)
                else:
                    await near.send_bytes(message)
        await near.close(far.close_code if far.close_code not in (None, 1005, 1006) else 1011, far.close_reason or "")
    except (WebSocketDisconnect, RuntimeError):
        return


def _websocket_url(url: str, replica: Replica | None, path: str, query: str) -> str:
    parts = urlsplit(url)
    scheme = "wss" if parts.scheme == "https" else "ws"
    return urlunsplit((scheme, replica.netloc if replica else parts.netloc, path, query, ""))


def _credential(connection: HTTPConnection) -> str:
    """The credential that a client brings, in either of its places; nothing when it brings none."""
    scheme, _, bearer = connection.headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer" and bearer.strip():
        return bearer.strip()
    offered = connection.headers.get("sec-websocket-protocol", "").split(",")
    keys = [name.strip() for name in offered if name.strip().startswith(KEY_SUBPROTOCOL)]
    return keys[0].removeprefix(KEY_SUBPROTOCOL) if keys else ""
