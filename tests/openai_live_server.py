"""A provider of OpenAI's Realtime API over a WebSocket, as a server of its own that answers as a test wrote down.

::

    async with openai_live(Script(answers=[Say("Good day.")])) as provider:
        client = AsyncOpenAI(api_key=provider.key, base_url=provider.url)

It listens by loudness, transcribes to the script's ``heard`` one by one, and answers by ``answers`` or ``brain``.
What it is sent and what it sends is checked against the ``openai`` package's own types, strictly; what was wrong is in
``provider.wrong``, which a test that ends well finds empty. :func:`openai_live_in_thread` is for tests without a loop.
"""

from __future__ import annotations

import asyncio
import contextlib
import http
import json
from collections.abc import AsyncGenerator, Callable, Generator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, urlsplit

from openai_live_session import Answer, Say, Session
from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response

KEY = "sk-of-the-fake"
Brain = Callable[[Session], Answer]


@dataclass
class Script:
    """What the provider does: ``heard`` are the transcripts of utterances, ``answers`` the next responses in order.

    ``brain`` decides in place of ``answers`` from the session's instructions, tools and items. ``refuse`` are the HTTP
    statuses with which the next connections are refused, None lets one in, ``refuse_responses`` the codes of the errors
    with which the next wishes for a response are. ``pace_s`` is the pause before each piece of
    an answer's sound; a real provider is faster than speech.
    """

    answers: list[Answer] = field(default_factory=list[Answer])
    heard: list[str] = field(default_factory=list[str])
    brain: Brain | None = None
    refuse: list[int | None] = field(default_factory=list[int | None])
    refuse_responses: list[str] = field(default_factory=list[str])
    pace_s: float = 0.0

    def answer(self, session: Session) -> Answer:
        """The next response."""
        if self.brain is not None:
            return self.brain(session)
        return self.answers.pop(0) if self.answers else (Say(f"You said: {session.last_text or 'nothing'}."),)


@dataclass
class Provider:
    """The provider that runs; ``sessions`` are its connections, the newest last."""

    url: str
    script: Script
    key: str = KEY
    sessions: list[Session] = field(default_factory=list[Session])
    wrong: list[str] = field(default_factory=list[str])
    refused: int = 0
    news: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def session(self) -> Session:
        """The newest connection."""
        return self.sessions[-1]

    async def until(self, done: Callable[[], bool], timeout_s: float = 10.0) -> None:
        """Wait until there is a session, and a condition holds that what was received can fulfil."""
        async with asyncio.timeout(timeout_s):
            while not (self.sessions and done()):
                self.news.clear()
                await self.news.wait()


@asynccontextmanager
async def openai_live(script: Script | None = None) -> AsyncGenerator[Provider]:
    """The provider on a free port, until the end of the block."""
    provider = Provider("", script or Script())
    async with _serving(provider) as server:
        port = next(iter(server.sockets)).getsockname()[1]
        provider.url = f"http://127.0.0.1:{port}/v1"
        yield provider


@contextmanager
def openai_live_in_thread(script: Script | None = None) -> Generator[Provider]:
    """The same in a thread, for tests that have no loop of their own; do not call ``until`` of it."""
    provider = Provider("", script or Script())
    loop = asyncio.new_event_loop()
    stack = contextlib.AsyncExitStack()
    thread = Thread(target=loop.run_forever, daemon=True)
    thread.start()
    server = asyncio.run_coroutine_threadsafe(stack.enter_async_context(_serving(provider)), loop).result(30)
    provider.url = f"http://127.0.0.1:{next(iter(server.sockets)).getsockname()[1]}/v1"
    try:
        yield provider
    finally:
        asyncio.run_coroutine_threadsafe(stack.aclose(), loop).result(30)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(30)
        loop.close()


@asynccontextmanager
async def _serving(provider: Provider) -> AsyncGenerator[Server]:
    def gate(connection: ServerConnection, request: Request) -> Response | None:
        status = provider.script.refuse.pop(0) if provider.script.refuse else None
        if request.headers.get("authorization") != f"Bearer {provider.key}":
            status = 401
        if status is None:
            return None
        provider.refused += 1
        return connection.respond(http.HTTPStatus(status), "no")

    async def hold(connection: ServerConnection) -> None:
        request = connection.request
        assert request is not None
        model = parse_qs(urlsplit(request.path).query).get("model", [""])[0]
        session = Session(connection, model, provider.script, provider.wrong, provider.news)
        provider.sessions.append(session)
        with contextlib.suppress(ConnectionClosed):
            await session.run()
        await session.stop()

    async with serve(
        hold, "127.0.0.1", 0, process_request=gate, max_size=32 * 1024 * 1024, close_timeout=0.5
    ) as server:
        yield server


def said(events: Sequence[Any]) -> list[str]:
    """The types of raw events, for a failed test to show."""
    return [json.loads(event)["type"] if isinstance(event, str | bytes) else event["type"] for event in events]
