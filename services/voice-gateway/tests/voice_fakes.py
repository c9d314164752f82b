"""An agent that answers over real HTTP and real Redis frames as it is told to, and servers on free ports."""

from __future__ import annotations

import asyncio
import contextlib
import datetime as dt
import socket
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from uuid import UUID, uuid4

import httpx2
import uvicorn
from fastapi import FastAPI, Request, Response

from chassis.frames import FrameWriter
from contracts.frames import Accepted, Delta, Done, Error, Frame, Status
from contracts.turns import (
    CancelRequested,
    Heard,
    PrefetchAccepted,
    PrefetchAsked,
    PrefetchedAnswer,
    Refusal,
    Turn,
    TurnAccepted,
    TurnAsked,
    TurnStatus,
)
from contracts.voice import ClientSecret
from voice_gateway.sessions import Sessions

Play = Callable[["FakeAgent", UUID], Awaitable[None]]
ANSWER = ("The code ", "is ORCHID-47 [1].")


async def answer_whole(agent: FakeAgent, turn_id: UUID) -> None:
    """Write a complete answer."""
    for part in ANSWER:
        await agent.write(turn_id, Delta(text=part))
    await agent.write(turn_id, Done(answer="".join(ANSWER), sources=()))


async def fail_midway(agent: FakeAgent, turn_id: UUID) -> None:
    """Write the beginning of an answer, and then why it ends."""
    await agent.write(turn_id, Delta(text=ANSWER[0]))
    await agent.write(turn_id, Error(code="model_failed", message="The model did not finish its answer; ask again."))


async def begin_only(agent: FakeAgent, turn_id: UUID) -> None:
    """Write the first words, and then nothing more until it is stopped."""
    await agent.write(turn_id, Delta(text=ANSWER[0]))


@dataclass
class FakeAgent:
    """What was asked, cancelled and looked up, and how the next turns are played."""

    frames: FrameWriter
    play: Play = answer_whole
    refusal: tuple[int, Refusal] | None = None
    hold: asyncio.Event | None = None
    asked: list[TurnAsked] = field(default_factory=list[TurnAsked])
    traceparents: list[str | None] = field(default_factory=list[str | None])
    turns: list[UUID] = field(default_factory=list[UUID])
    cancelled: list[UUID] = field(default_factory=list[UUID])
    how: list[CancelRequested] = field(default_factory=list[CancelRequested])
    heard: list[tuple[UUID, int]] = field(default_factory=list[tuple[UUID, int]])
    guessed: list[str] = field(default_factory=list[str])
    looked: list[UUID] = field(default_factory=list[UUID])
    stored: dict[UUID, Turn] = field(default_factory=dict[UUID, Turn])
    _chats: dict[UUID, UUID] = field(default_factory=dict[UUID, UUID])
    _running: set[UUID] = field(default_factory=set[UUID])
    _playing: set[asyncio.Task[None]] = field(default_factory=set[asyncio.Task[None]])

    async def write(self, turn_id: UUID, *frames: Frame) -> None:
        """Append frames to a turn; the last one is stored, for whoever has not read it yet and asks."""
        for frame in frames:
            if isinstance(frame, Done):
                self.stored.setdefault(turn_id, self._turn(turn_id, "completed", frame.answer))
        await self.frames.append(turn_id, *frames)

    def _turn(self, turn_id: UUID, status: TurnStatus, answer: str | None = None) -> Turn:
        now = dt.datetime.now(dt.UTC)
        return Turn(
            turn_id=turn_id,
            chat_id=self._chats.get(turn_id, turn_id),
            trace_id=uuid4().hex,
            question="?",
            status=status,
            answer=answer,
            asked_at=now,
            heartbeat_at=now,
        )

    def app(self) -> FastAPI:
        """The agent's routes as the contract has them."""
        app = FastAPI()

        @app.post("/turns", status_code=202)
        async def take(request: Request, asked: TurnAsked) -> Response:  # pyright: ignore[reportUnusedFunction]
            if self.hold is not None:
                await self.hold.wait()
            if self.refusal is not None:
                status, body = self.refusal
                return Response(body.model_dump_json(), status, media_type="application/json")
            self.asked.append(asked)
            self.traceparents.append(request.headers.get("traceparent"))
            turn_id = uuid4()
            self.turns.append(turn_id)
            self._chats[turn_id] = asked.chat_id
            self._running.add(turn_id)
            accepted = TurnAccepted(turn_id=turn_id, chat_id=asked.chat_id, trace_id=uuid4().hex)
            await self.write(turn_id, Accepted(turn_id=turn_id, trace_id=accepted.trace_id), Status(stage="searching"))
            playing = asyncio.create_task(_play(self.play(self, turn_id)))
            self._playing.add(playing)
            playing.add_done_callback(self._playing.discard)
            playing.add_done_callback(lambda _: self._running.discard(turn_id))
            return Response(accepted.model_dump_json(), 202, media_type="application/json")

        @app.get("/turns/{turn_id}")
        async def look(turn_id: UUID) -> Response:  # pyright: ignore[reportUnusedFunction]
            self.looked.append(turn_id)
            if turn_id in self.stored:
                return Response(self.stored[turn_id].model_dump_json(), media_type="application/json")
            if turn_id in self._running:
                return Response(self._turn(turn_id, "running").model_dump_json(), media_type="application/json")
            return Response(Refusal(code="not_found", message="No.").model_dump_json(), 404)

        @app.post("/turns/{turn_id}/heard", status_code=202)
        async def hear(turn_id: UUID, heard: Heard) -> Response:  # pyright: ignore[reportUnusedFunction]
            self.heard.append((turn_id, heard.characters))
            return Response("{}", 202, media_type="application/json")

        @app.post("/prefetch", status_code=202)
        async def prefetch(asked: PrefetchAsked) -> PrefetchAccepted:  # pyright: ignore[reportUnusedFunction]
            self.guessed.append(asked.question)
            return PrefetchAccepted(prefetch_id=uuid4())

        @app.get("/prefetch/{prefetch_id}")
        async def prefetched(prefetch_id: UUID) -> PrefetchedAnswer:  # pyright: ignore[reportUnusedFunction]
            return PrefetchedAnswer(prefetch_id=prefetch_id, ready=True, answer="".join(ANSWER))

        @app.post("/turns/{turn_id}/cancel", status_code=202)
        async def cancel(turn_id: UUID, how: CancelRequested) -> Response:  # pyright: ignore[reportUnusedFunction]
            self.cancelled.append(turn_id)
            self.how.append(how)
            await self.write(turn_id, Error(code="cancelled", message="You stopped this answer."))
            return Response("{}", 202, media_type="application/json")

        return app


@dataclass
class Gateway:
    """A running gateway: where it is, the agent behind it, and a client for its routes."""

    url: str
    agent: FakeAgent
    http: httpx2.AsyncClient
    sessions: Callable[[], Sessions]

    @property
    def ws_url(self) -> str:
        """The address of its WebSocket."""
        return self.url.replace("http", "ws", 1) + "/v1/realtime"

    async def mint(self, **body: object) -> ClientSecret:
        """A credential."""
        answer = await self.http.post("/v1/realtime/client_secrets", json=body)
        assert answer.status_code == 200, answer.text
        return ClientSecret.model_validate_json(answer.content)


async def _play(play: Awaitable[None]) -> None:
    await play


class QuietServer(uvicorn.Server):
    """A server inside a test: it takes no signals from the test runner."""

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        """Leave the signals alone."""
        yield


def free_socket() -> socket.socket:
    """A socket that listens on a free loopback port."""
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    return listening


@asynccontextmanager
async def serving(app: FastAPI) -> AsyncGenerator[str]:
    """Serve ``app`` on a free port; gives its address."""
    bound = free_socket()
    config = uvicorn.Config(app, lifespan="on", log_config=None, timeout_graceful_shutdown=2)
    server = QuietServer(config)
    running = asyncio.create_task(server.serve(sockets=[bound]))
    try:
        await until(lambda: server.started or running.done())
        yield f"http://127.0.0.1:{bound.getsockname()[1]}"
    finally:
        server.should_exit = True
        await running
        with contextlib.suppress(OSError):
            bound.close()


async def until(holds: Callable[[], object], within_s: float = 10.0) -> None:
    """Wait for a condition; it must hold within ``within_s`` seconds."""
    async with asyncio.timeout(within_s):
        while not holds():  # noqa: ASYNC110 - a condition of any kind sets no event
            await asyncio.sleep(0.005)
