"""The services behind web as small fakes over real HTTP; their answers are the contract's own examples."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import httpx2
import uvicorn
from fastapi import FastAPI
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.types import ASGIApp

from chassis.frames import FrameWriter
from contracts.frames import Accepted, Delta, Done, Frame
from contracts.turns import Turn, TurnAsked

EXAMPLES = Path(__file__).parents[3] / "contracts" / "examples"
TOKEN = "the-token-of-the-command-line"
TRACE_ID = "4bf92f3577b34da6a3ce929d0e0e4736"


def example(name: str) -> dict[str, Any]:
    """An example of the contract."""
    return json.loads((EXAMPLES / f"{name}.json").read_text())


def stored(turn_id: UUID, **changes: Any) -> Turn:
    """A stored turn, as the contract's example has it, with some fields changed."""
    return Turn.model_validate({**example("agent.turn"), "turn_id": str(turn_id), **changes})


def running(turn_id: UUID, **changes: Any) -> Turn:
    """A turn that is being answered, its worker alive."""
    now = datetime.now(UTC).isoformat()
    fields = {"status": "running", "answer": None, "ended_at": None, "asked_at": now, "heartbeat_at": now, **changes}
    return stored(turn_id, **fields)


@dataclass
class Behind:
    """What the services behind web hold, and what they were asked."""

    frames: FrameWriter
    turns: dict[UUID, Turn] = field(default_factory=dict[UUID, Turn])
    asked: list[TurnAsked] = field(default_factory=list[TurnAsked])
    told: list[tuple[str, dict[str, Any]]] = field(default_factory=list[tuple[str, dict[str, Any]]])
    manifest: dict[str, Any] = field(default_factory=lambda: example("retriever.manifest"))
    files: dict[str, Any] = field(default_factory=lambda: example("ingestor.files"))
    offer: dict[str, Any] | None = field(default_factory=lambda: example("voice.live.offer"))
    refusal: tuple[int, dict[str, str]] | None = None
    script: tuple[Frame, ...] = (Delta(text="ORCHID-"), Delta(text="47"), Done(answer="ORCHID-47", sources=()))
    headers: list[dict[str, str]] = field(default_factory=list[dict[str, str]])

    @property
    def app(self) -> Starlette:
        """All services under one address, each below its name."""
        agent = [
            Route("/turns", self._accept, methods=["POST"]),
            Route("/turns/{turn_id:uuid}", self._turn),
            Route("/turns/{turn_id:uuid}/{what}", self._told, methods=["POST"]),
            Route("/chats/{chat_id:uuid}", self._chat),
            Route("/people/{user_id}/{what}", self._person, methods=["GET", "DELETE"]),
        ]
        retriever = [
            Route("/manifest", self._manifest),
            Route("/documents/{path:path}", self._document),
        ]
        ingestor = [Route("/files", self._files), Route("/refresh", self._refresh, methods=["POST"])]
        voice = [
            Route("/v1/realtime/client_secrets", self._secret, methods=["POST"]),
            Route("/v1/graph/live", self._offer),
        ]
        named = {"agent": agent, "retriever": retriever, "ingestor": ingestor, "voice": voice}
        ready = Route("/health/ready", self._ready)
        return Starlette(routes=[Mount(f"/{name}", routes=[*routes, ready]) for name, routes in named.items()])

    async def begin(self, turn: Turn, *frames: Frame) -> list[str]:
        """Store a turn and write frames of it; their cursors."""
        self.turns[turn.turn_id] = turn
        return await self.frames.append(turn.turn_id, *frames)

    async def _accept(self, request: Request) -> Response:
        self.headers.append(dict(request.headers))
        if self.refusal is not None:
            status, headers = self.refusal
            return JSONResponse({"code": "busy", "message": "This chat has four questions already."}, status, headers)
        asked = TurnAsked.model_validate_json(await request.body())
        turn_id = uuid4()
        self.asked.append(asked)
        await self.begin(running(turn_id), Accepted(turn_id=turn_id, trace_id=TRACE_ID), *self.script)
        return JSONResponse({"turn_id": str(turn_id), "chat_id": str(asked.chat_id), "trace_id": TRACE_ID}, 202)

    async def _turn(self, request: Request) -> Response:
        turn = self.turns.get(request.path_params["turn_id"])
        if turn is None:
            return JSONResponse({"code": "not_found", "message": "No such turn."}, 404)
        return Response(turn.model_dump_json(), media_type="application/json")

    async def _told(self, request: Request) -> Response:
        self.told.append((request.path_params["what"], json.loads(await request.body())))
        return Response(status_code=204)

    async def _chat(self, request: Request) -> Response:
        return JSONResponse({**example("agent.chat"), "chat_id": str(request.path_params["chat_id"])})

    async def _person(self, request: Request) -> Response:
        user_id, what = request.path_params["user_id"], request.path_params["what"]
        if request.method == "DELETE":
            self.told.append((what, {"erased": user_id}))
            return Response(status_code=204)
        found = example("agent.profile" if what == "profile" else "agent.memories")
        return JSONResponse({**found, "user_id": user_id})

    async def _manifest(self, request: Request) -> Response:
        return JSONResponse(self.manifest)

    async def _files(self, request: Request) -> Response:
        return JSONResponse(self.files)

    async def _document(self, request: Request) -> Response:
        path, version = request.path_params["path"], request.query_params.get("version")
        if path.startswith("gone"):
            return JSONResponse({"code": "not_found", "message": "There is no such note."}, 404)
        found = example("retriever.document")
        return JSONResponse({**found, "path": path, "changed": version not in (None, found["version"])})

    async def _refresh(self, request: Request) -> Response:
        self.told.append(("refresh", json.loads(await request.body())))
        return JSONResponse(example("ingestor.refresh.response"))

    async def _secret(self, request: Request) -> Response:
        self.headers.append(dict(request.headers))
        return JSONResponse(example("voice.client-secret"))

    async def _offer(self, request: Request) -> Response:
        return JSONResponse({}, 500) if self.offer is None else JSONResponse(self.offer)

    async def _ready(self, request: Request) -> Response:
        return JSONResponse({"service": "fake", "status": "ready", "mode": "local", "corpus": self.manifest["state"]})


@dataclass
class Running:
    """Web as a browser reaches it: ``page`` is a client that sends what the page's own requests send."""

    url: str
    page: httpx2.AsyncClient
    behind: Behind
    app: FastAPI


class QuietServer(uvicorn.Server):
    """uvicorn without a hand on the process's signals."""

    @contextlib.contextmanager
    def capture_signals(self) -> Any:
        yield


@asynccontextmanager
async def serving(app: ASGIApp) -> AsyncGenerator[str]:
    """Serve an app on a free port; its address."""
    bound = socket.create_server(("127.0.0.1", 0))
    server = QuietServer(uvicorn.Config(app, lifespan="on", log_config=None, timeout_graceful_shutdown=1))
    task = asyncio.create_task(server.serve(sockets=[bound]))
    try:
        await until(lambda: server.started or task.done())
        yield f"http://127.0.0.1:{bound.getsockname()[1]}"
    finally:
        server.should_exit = True
        await task
        bound.close()


async def until(holds: Callable[[], object], within_s: float = 60.0) -> None:
    """Wait for a condition; it must hold within ``within_s`` seconds."""
    async with asyncio.timeout(within_s):
        while not holds():  # noqa: ASYNC110 - what is waited for is another's, and has no event
            await asyncio.sleep(0.005)


def closed_port() -> str:
    """An address where nothing answers."""
    with socket.create_server(("127.0.0.1", 0)) as bound:
        return f"http://127.0.0.1:{bound.getsockname()[1]}"
