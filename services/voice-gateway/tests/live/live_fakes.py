"""A provider's client that does what a test tells it, and what a session needs around it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TypeVar

from contracts.vocabulary import JsonObject
from voice_gateway.live.config import RealtimeConfig
from voice_gateway.live.errors import ConnectionLost
from voice_gateway.live.events import RealtimeEvent, ResponseEnded, ResponseStarted, ToolCall
from voice_gateway.live.hooks import Hooks
from voice_gateway.live.port import Activity, Capabilities, Line, ToolError, ToolSpec

E = TypeVar("E", bound=RealtimeEvent)

LIKE_OPENAI = Capabilities("openai", 24_000, 24_000, images=True, truncation=True, changes_agent=True)
LIKE_GEMINI = Capabilities("gemini", 16_000, 24_000, images=True, resumption=True, answers_tools=True)


@dataclass(frozen=True)
class Connected:
    """A connection as it was asked for."""

    config: RealtimeConfig
    tools: tuple[str, ...]
    handle: str | None


class ScriptedClient:
    """Keeps what it is sent, and tells what :meth:`tell` is given; ``refusals`` are what the next connects raise."""

    def __init__(self, capabilities: Capabilities = LIKE_OPENAI) -> None:
        self.capabilities = capabilities
        self.connects: list[Connected] = []
        self.refusals: list[Exception | None] = []
        self.sent: list[tuple[str, object]] = []
        self.closed = 0
        self._events: asyncio.Queue[RealtimeEvent | Exception] = asyncio.Queue()
        self._news = asyncio.Event()

    def tell(self, *events: RealtimeEvent | Exception) -> None:
        """Events for the session; an exception ends the connection."""
        for event in events:
            self._events.put_nowait(event)

    def drop(self) -> None:
        """The connection is lost."""
        self.tell(ConnectionLost())

    def dispatch(self, response: str, *calls: ToolCall) -> None:
        """A response that holds these calls and nothing else."""
        ids = tuple(call.id for call in calls)
        self.tell(ResponseStarted(response_id=response), *calls, ResponseEnded(response_id=response, calls=ids))

    def count(self, kind: str) -> int:
        """How often something was sent."""
        return sum(1 for sent, _ in self.sent if sent == kind)

    def all(self, kind: str) -> list[object]:
        """What was sent of a kind."""
        return [what for sent, what in self.sent if sent == kind]

    async def until(self, done: Callable[[], bool]) -> None:
        """Wait until what was sent fulfils a condition."""
        async with asyncio.timeout(60):
            while not done():
                self._news.clear()
                await self._news.wait()

    def _note(self, kind: str, what: object) -> None:
        self.sent.append((kind, what))
        self._news.set()

    async def connect(self, config: RealtimeConfig, tools: Sequence[ToolSpec], resume_handle: str | None) -> None:
        self.connects.append(Connected(config, tuple(tool.name for tool in tools), resume_handle))
        self._events = asyncio.Queue()
        self._news.set()
        refusal = self.refusals.pop(0) if self.refusals else None
        if refusal is not None:
            raise refusal

    async def update(self, config: RealtimeConfig, tools: Sequence[ToolSpec]) -> None:
        self._note("update", config)

    async def send_audio(self, pcm: bytes) -> None:
        self._note("audio", pcm)

    async def send_text(self, text: str) -> None:
        self._note("text", text)

    async def send_image(self, data: bytes, mime_type: str) -> None:
        self._note("image", data)

    async def send_activity(self, kind: Activity) -> None:
        self._note("activity", kind)

    async def send_tool_result(self, call_id: str, name: str, result: JsonObject) -> None:
        self._note("result", (call_id, result))

    async def respond(self) -> None:
        self._note("respond", None)

    async def interrupt(self, played_ms: int | None = None) -> None:
        self._note("interrupt", played_ms)

    async def reseed(self, lines: Sequence[Line]) -> None:
        self._note("reseed", tuple(lines))

    async def receive(self) -> AsyncIterator[RealtimeEvent]:
        while True:
            event = await self._events.get()
            if isinstance(event, Exception):
                raise event
            yield event

    async def close(self) -> None:
        self.closed += 1
        self._news.set()


class Tools:
    """Tools that are plain coroutines."""

    def __init__(self, **tools: Callable[[JsonObject], Awaitable[JsonObject]]) -> None:
        self._tools = tools

    def specs(self, tags: Sequence[str] | None = None) -> Sequence[ToolSpec]:
        names = [name for name in self._tools if tags is None or name in tags]
        return [ToolSpec(name, f"The tool {name}.", {"type": "object", "properties": {}}) for name in names]

    async def call(self, name: str, args: JsonObject) -> JsonObject:
        return await self._tools[name](args)


@dataclass
class Diary(Hooks):
    """Hooks that write down when they were called."""

    entries: list[str] = field(default_factory=list[str])

    async def session_started(self) -> None:
        self.entries.append("session")

    async def turn_started(self, turn: int) -> None:
        self.entries.append(f"turn {turn}")

    async def turn_ended(self, turn: int) -> None:
        self.entries.append(f"end {turn}")

    async def session_ended(self, turns: int) -> None:
        self.entries.append(f"closed after {turns}")


@dataclass
class Stored:
    """Where lines are kept."""

    lines: list[tuple[int, str, str]] = field(default_factory=list[tuple[int, str, str]])
    fails: bool = False

    async def store(self, turn: int, line: Line) -> None:
        if self.fails:
            raise ToolError("no store")
        self.lines.append((turn, line.role, line.text))


class Reader:
    """Reads a session's events in a task of its own, and waits for one."""

    def __init__(self, patience_s: float) -> None:
        self._patience_s = patience_s
        self.events: list[RealtimeEvent] = []
        self.ended = False
        self._news = asyncio.Event()

    async def read(self, events: AsyncIterator[RealtimeEvent]) -> None:
        async for event in events:
            self.events.append(event)
            self._news.set()
        self.ended = True
        self._news.set()

    def all(self, kind: type[E]) -> list[E]:
        """The events of a kind so far."""
        return [event for event in self.events if isinstance(event, kind)]

    async def until(self, kind: type[E], count: int = 1) -> E:
        """Wait for the ``count``-th event of a kind."""
        await self.wait(lambda: len(self.all(kind)) >= count)
        return self.all(kind)[count - 1]

    async def end(self) -> None:
        """Wait until the session is over."""
        await self.wait(lambda: self.ended)

    async def wait(self, done: Callable[[], bool]) -> None:
        """Wait until what was read fulfils a condition."""
        async with asyncio.timeout(self._patience_s):
            while not done():
                assert not self.ended, f"the session is over: {self.events[-3:]}"
                self._news.clear()
                await self._news.wait()


@asynccontextmanager
async def reading(events: AsyncIterator[RealtimeEvent], patience_s: float = 60) -> AsyncGenerator[Reader]:
    """Read events meanwhile; ``patience_s`` is how long one of them may be waited for."""
    reader = Reader(patience_s)
    task = asyncio.create_task(reader.read(events))
    try:
        yield reader
    finally:
        task.cancel()
        await asyncio.wait({task})
        if not task.cancelled():
            task.result()
