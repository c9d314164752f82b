"""A small service for the tests of the server; ``python chassis_app.py FD GRACE`` runs it until it is told to stop."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import TypedDict

from fastapi import FastAPI, Request, WebSocket
from fastapi.responses import StreamingResponse

from chassis.refusals import Refuse, refusal
from chassis.server import health_of, run, service
from chassis.settings import ServiceSettings
from contracts.turns import TurnAsked


class State(TypedDict):
    """What the lifespan gives to requests."""

    word: str


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncGenerator[State]:
    """Give one word."""
    yield {"word": "amber"}


def make(settings: ServiceSettings, *, around: object = lifespan) -> FastAPI:
    """An app with a route for each way a request may go."""
    app = service("sample", lifespan if around is lifespan else around, settings)  # type: ignore[arg-type]

    async def word(request: Request) -> dict[str, str]:
        return {"word": request.state.word}

    async def ask(asked: TurnAsked) -> dict[str, str]:
        return {"question": asked.question}

    async def breaks() -> None:
        raise RuntimeError("a secret that must not be repeated")

    async def refuses() -> None:
        raise Refuse(429, "too_many_turns", "This chat has four questions already.", retry_after=2)

    async def hangs() -> None:
        print("hanging", flush=True)
        await asyncio.Event().wait()

    async def tells(request: Request) -> StreamingResponse:
        async def lines() -> AsyncGenerator[bytes]:
            print("streaming", flush=True)
            yield b"begun\n"
            await health_of(request.app).stopping.wait()
            yield b"stopping\n"

        return StreamingResponse(lines(), media_type="application/x-ndjson")

    for path, method, handler in (
        ("/word", "GET", word),
        ("/ask", "POST", ask),
        ("/breaks", "GET", breaks),
        ("/refuses", "GET", refuses),
        ("/hangs", "GET", hangs),
        ("/tells", "GET", tells),
    ):
        app.add_api_route(path, handler, methods=[method], response_model=None)

    async def denied(socket: WebSocket) -> None:
        await socket.send_denial_response(refusal(429, "too_many_sessions", "All are taken.", {"retry-after": "5"}))

    async def forgotten(socket: WebSocket) -> None:
        """Say nothing at all to it."""

    app.add_api_websocket_route("/denied", denied)
    app.add_api_websocket_route("/forgotten", forgotten)
    return app


if __name__ == "__main__":
    given = ServiceSettings(listen_fd=int(sys.argv[1]), grace_s=float(sys.argv[2]))
    run(make(given), given)
