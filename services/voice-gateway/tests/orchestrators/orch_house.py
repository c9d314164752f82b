"""The agent's store and the retriever as a gateway sees them, over real HTTP, slow or failing where a test wants it."""

from __future__ import annotations

import asyncio
import datetime as dt
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import uvicorn
from fastapi import FastAPI, Request, Response

from contracts.live import (
    ChatLine,
    ChatLines,
    ChatState,
    Fact,
    LinesTold,
    Memories,
    Memory,
    ProfileCard,
    TokensTold,
    TurnRemembered,
)
from contracts.search import Passage, SearchRequest, SearchResult, Vocabulary
from contracts.turns import Refusal

NOW = dt.datetime(2026, 3, 14, 9, 26, tzinfo=dt.UTC)


@dataclass
class House:
    """What is kept, what was asked, and how it behaves."""

    states: dict[str, ChatState] = field(default_factory=dict[str, ChatState])
    lines: list[tuple[str, str, str]] = field(default_factory=list[tuple[str, str, str]])
    remembered: list[tuple[str, TurnRemembered]] = field(default_factory=list[tuple[str, TurnRemembered]])
    spent: list[Any] = field(default_factory=list[Any])
    memories: tuple[Memory, ...] = ()
    facts: tuple[str, ...] = ()
    earlier: tuple[ChatLine, ...] = ()
    asked: list[str] = field(default_factory=list[str])
    searched: list[SearchRequest] = field(default_factory=list[SearchRequest])
    passages: tuple[Passage, ...] = ()
    hangs: bool = False
    fails: bool = False
    url: str = ""

    def app(self) -> FastAPI:
        """Both services in one."""
        app = FastAPI()

        @app.middleware("http")
        async def behave(request: Request, call_next: Any) -> Response:  # pyright: ignore[reportUnusedFunction]
            if request.url.path != "/vocabulary":
                self.asked.append(f"{request.method} {request.url.path}?{request.url.query}".rstrip("?"))
            if self.hangs:
                await asyncio.sleep(30)
            if self.fails:
                return Response(Refusal(code="internal", message="No.").model_dump_json(), 500)
            answer: Response = await call_next(request)
            return answer

        @app.get("/chats/{chat}/state")
        async def state(chat: str) -> ChatState:  # pyright: ignore[reportUnusedFunction]
            return self.states.get(chat, ChatState())

        @app.put("/chats/{chat}/state")
        async def keep(chat: str, state: ChatState) -> ChatState:  # pyright: ignore[reportUnusedFunction]
            self.states[chat] = state
            return state

        @app.get("/chats/{chat}/lines")
        async def lines(chat: str, most: int) -> ChatLines:  # pyright: ignore[reportUnusedFunction]
            return ChatLines(lines=self.earlier[-most:])

        @app.post("/chats/{chat}/lines", status_code=204)
        async def told(chat: str, told: LinesTold) -> None:  # pyright: ignore[reportUnusedFunction]
            self.lines += [(line.role, line.text, line.agent or "") for line in told.lines]

        @app.post("/chats/{chat}/tokens", status_code=204)
        async def tokens(chat: str, told: TokensTold) -> None:  # pyright: ignore[reportUnusedFunction]
            self.spent += told.spent

        @app.post("/people/{person}/memories", status_code=204)
        async def remember(person: str, turn: TurnRemembered) -> None:  # pyright: ignore[reportUnusedFunction]
            self.remembered.append((person, turn))

        @app.get("/people/{person}/memories")
        async def recall(person: str, query: str, most: int) -> Memories:  # pyright: ignore[reportUnusedFunction]
            return Memories(memories=self.memories[:most])

        @app.get("/people/{person}/profile")
        async def profile(person: str) -> ProfileCard:  # pyright: ignore[reportUnusedFunction]
            return ProfileCard(user_id=person, facts=tuple(Fact(text=text, said_at=NOW) for text in self.facts))

        @app.post("/search")
        async def search(asked: SearchRequest) -> SearchResult:  # pyright: ignore[reportUnusedFunction]
            self.searched.append(asked)
            return SearchResult(corpus_version=1, language="en", passages=self.passages)

        @app.get("/vocabulary")
        async def vocabulary() -> Vocabulary:  # pyright: ignore[reportUnusedFunction]
            return Vocabulary(corpus_version=1, words=("ORCHID-47", "Fern House"))

        return app


@asynccontextmanager
async def housed() -> AsyncGenerator[House]:
    """Serve it on a free port."""
    house = House()
    config = uvicorn.Config(house.app(), port=0, log_level="error", lifespan="off")
    server = uvicorn.Server(config)
    running = asyncio.create_task(server.serve())
    try:
        async with asyncio.timeout(10):
            while not server.started:  # noqa: ASYNC110 - uvicorn tells nobody
                await asyncio.sleep(0.01)
        house.url = f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
        yield house
    finally:
        server.should_exit, server.force_exit = True, True
        await running
