"""The agent as a process of its own, as it is run, and a retriever for it that answers over a real socket."""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from uuid import UUID, uuid4

import httpx2
import uvicorn
from agent_fakes import AMBER, CODE, found
from agent_rig import until
from fastapi import FastAPI, Request, Response

from contracts.search import SearchRequest, SearchResult
from contracts.turns import Turn, TurnAccepted


@dataclass
class Agent:
    """A running agent."""

    process: asyncio.subprocess.Process
    http: httpx2.AsyncClient
    lines: list[str] = field(default_factory=list[str])

    async def ask(self, question: str = "What is the code?", chat_id: UUID | None = None) -> TurnAccepted:
        """Ask, as web does."""
        response = await self.http.post("/turns", json={"chat_id": str(chat_id or uuid4()), "question": question})
        assert response.status_code == 202, response.text
        return TurnAccepted.model_validate_json(response.content)

    async def turn(self, turn_id: UUID) -> Turn:
        """Read a turn."""
        return Turn.model_validate_json((await self.http.get(f"/turns/{turn_id}")).content)


@asynccontextmanager
async def agent_process(
    postgres_url: str, valkey_url: str, retriever_url: str, **settings: object
) -> AsyncGenerator[Agent]:
    """Run ``python -m agent`` until the block is left, ready when the block begins."""
    bound = socket.socket()
    bound.bind(("127.0.0.1", 0))
    bound.listen(128)
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith(("TALKDOWN_", "OPENAI_"))},
        "TALKDOWN_MODE": "simulated",
        "TALKDOWN_POSTGRES_URL": postgres_url,
        "TALKDOWN_REDIS_URL": valkey_url,
        "TALKDOWN_RETRIEVER_URL": retriever_url,
        "TALKDOWN_LISTEN_FD": str(bound.fileno()),
        **{name: str(value) for name, value in settings.items()},
    }
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "agent",
        env=environment,
        pass_fds=(bound.fileno(),),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    port = bound.getsockname()[1]
    bound.close()
    async with httpx2.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=20, trust_env=False) as http:
        agent = Agent(process, http)
        reading = asyncio.create_task(_read(process, agent.lines))
        try:
            await until(lambda: _ready(agent), lambda: "\n".join(agent.lines))
            yield agent
        finally:
            if process.returncode is None:
                process.kill()
            await process.wait()
            await reading


@asynccontextmanager
async def retriever_server(result: SearchResult | None = None) -> AsyncGenerator[str]:
    """A retriever that finds the same for everything; gives its address."""
    app = FastAPI(openapi_url=None)
    answer = result or found(AMBER, CODE)

    @app.post("/search")
    async def search(asked: SearchRequest, request: Request) -> Response:
        del asked, request
        return Response(answer.model_dump_json(), media_type="application/json")

    server = uvicorn.Server(uvicorn.Config(app, log_config=None, lifespan="off", access_log=False))
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        serving = asyncio.create_task(server.serve([bound]))
        await until(lambda: _started(server))
        try:
            yield f"http://127.0.0.1:{bound.getsockname()[1]}"
        finally:
            server.should_exit = True
            await serving


async def _read(process: asyncio.subprocess.Process, lines: list[str]) -> None:
    assert process.stdout is not None
    async for line in process.stdout:
        lines.append(line.decode().rstrip())


async def _ready(agent: Agent) -> bool:
    assert agent.process.returncode is None, "\n".join(agent.lines)
    try:
        return (await agent.http.get("/health/ready")).status_code == 200
    except httpx2.TransportError:
        return False


async def _started(server: uvicorn.Server) -> bool:
    return server.started
