"""A provider of the Realtime API at an origin of its own, as OpenAI is: it mints credentials and holds calls.

::

    gateway --permanent key--> POST /v1/realtime/client_secrets --.
    page    --ek_...---------> POST /v1/realtime/calls  (CORS) ---+--> our own endpoint, with scripted ears and a mouth
                                                                       that hear and say what is written down

It does what OpenAI does and our gateway does not: it takes a permanent key, serves pages of any origin, plays on while
somebody speaks, and transcribes an "mhm" like anything else.
"""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Thread
from typing import Any

import pytest
import uvicorn
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from voice_gateway import scripted
from voice_gateway.app import create_app
from voice_gateway.floor import Floor
from voice_gateway.settings import Settings

MINT = "/v1/realtime/client_secrets"
START_S = 30.0


@dataclass(frozen=True)
class Asked:
    """A request: where, with which credential, from which page, and what of JSON was in it."""

    path: str
    credential: str
    origin: str | None
    body: dict[str, Any]


@dataclass
class Provider:
    """The provider that runs; ``key`` is the permanent key that it mints for."""

    key: str
    url: str
    asked: list[Asked] = field(default_factory=list[Asked])

    def to(self, path: str) -> list[Asked]:
        """What was asked of a path."""
        return [asked for asked in self.asked if asked.path == path]

    def guarding(self, app: ASGIApp) -> ASGIApp:
        """``app`` for whoever has a credential, whatever page they come from."""

        async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] != "http":
                await app(scope, receive, send)
                return
            headers = {name.decode(): value.decode() for name, value in scope["headers"]}
            body = await _body(receive)
            is_json = headers.get("content-type", "").startswith("application/json")
            credential = headers.get("authorization", "").removeprefix("Bearer ")
            asked = Asked(scope["path"], credential, headers.get("origin"), json.loads(body) if is_json else {})
            self.asked.append(asked)
            if asked.path == MINT and credential != self.key:
                refusal = {"error": {"message": "Incorrect API key provided.", "code": "invalid_api_key"}}
                await JSONResponse(refusal, 401)(scope, receive, send)
                return
            ours = {**scope, "headers": [pair for pair in scope["headers"] if pair[0] != b"origin"]}
            await app(ours, _again(body, receive), send)

        return CORSMiddleware(guarded, allow_origins=["*"], allow_methods=["*"], allow_headers=["*"])


@contextmanager
def provider(script: tuple[str, ...], key: str = "sk-permanent-3c9d") -> Generator[Provider]:
    """A provider in a thread of its own, whose calls hear ``script``."""
    with pytest.MonkeyPatch.context() as patch, socket.create_server(("127.0.0.1", 0)) as bound:
        patch.setattr(Floor, "hold", _play_on)
        patch.setattr(scripted, "BACKCHANNELS", frozenset[str]())
        settings = Settings(voice="local", ears="scripted", mouth="scripted", script=script)
        running = Provider(key, f"http://127.0.0.1:{bound.getsockname()[1]}")
        config = uvicorn.Config(
            running.guarding(create_app(settings)), lifespan="on", log_config=None, timeout_graceful_shutdown=1
        )
        server = uvicorn.Server(config)
        serving = Thread(target=lambda: asyncio.run(server.serve([bound])), name="provider")
        serving.start()
        try:
            yield running
        finally:
            server.should_exit = True
            serving.join(START_S)


def _play_on(_: Floor) -> None:
    """Somebody speaks, which is the client's business."""


async def _body(receive: Receive) -> bytes:
    body = b""
    while True:
        message = await receive()
        body += message.get("body", b"")
        if not message.get("more_body", False):
            return body


def _again(body: bytes, receive: Receive) -> Receive:
    read = False

    async def again() -> Message:
        nonlocal read
        if read:
            return await receive()
        read = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again
