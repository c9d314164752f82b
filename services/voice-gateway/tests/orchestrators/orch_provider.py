"""A provider of live sessions that tells what a test says, and notes what it is sent."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence

from contracts.vocabulary import JsonObject
from voice_gateway.live.config import RealtimeConfig
from voice_gateway.live.events import RealtimeEvent, ResponseEnded, ResponseStarted, ToolCall
from voice_gateway.live.port import Activity, Capabilities, Line, ToolSpec

OPENAI = Capabilities("openai", 24_000, 24_000, images=True, truncation=True, changes_agent=True, changes_voice=True)
GEMINI = Capabilities("gemini", 16_000, 24_000, resumption=True, answers_tools=True)


class Provider:
    """A :class:`~voice_gateway.live.port.RealtimeClient` in a test's hand."""

    def __init__(self, capabilities: Capabilities = OPENAI) -> None:
        self.capabilities = capabilities
        self.configs: list[RealtimeConfig] = []
        self.tools: list[tuple[str, ...]] = []
        self.handles: list[str | None] = []
        self.sent: list[tuple[str, object]] = []
        self._events: asyncio.Queue[RealtimeEvent] = asyncio.Queue()

    def tell(self, *events: RealtimeEvent) -> None:
        """The provider says these."""
        for event in events:
            self._events.put_nowait(event)

    def dispatch(self, response: str, *calls: ToolCall) -> None:
        """A response of calls alone."""
        ids = tuple(call.id for call in calls)
        self.tell(ResponseStarted(response_id=response), *calls, ResponseEnded(response_id=response, calls=ids))

    def all(self, kind: str) -> list[object]:
        """What was sent of a kind."""
        return [what for sent, what in self.sent if sent == kind]

    async def until(self, holds: Callable[[], object]) -> None:
        """Wait for something to hold."""
        async with asyncio.timeout(10):
            while not holds():  # noqa: ASYNC110 - the session tells nobody what it sends
                await asyncio.sleep(0.001)

    async def connect(self, config: RealtimeConfig, tools: Sequence[ToolSpec], resume_handle: str | None) -> None:
        self._events = asyncio.Queue()
        self.handles.append(resume_handle)
        self._take(config, tools)

    async def update(self, config: RealtimeConfig, tools: Sequence[ToolSpec]) -> None:
        self._take(config, tools)
        self.sent.append(("update", config))

    async def send_audio(self, pcm: bytes) -> None:
        self.sent.append(("audio", pcm))

    async def send_text(self, text: str) -> None:
        self.sent.append(("text", text))

    async def send_image(self, data: bytes, mime_type: str) -> None:
        self.sent.append(("image", mime_type))

    async def send_activity(self, kind: Activity) -> None:
        self.sent.append(("activity", kind))

    async def send_tool_result(self, call_id: str, name: str, result: JsonObject) -> None:
        self.sent.append(("result", (call_id, result)))

    async def respond(self) -> None:
        self.sent.append(("respond", None))

    async def interrupt(self, played_ms: int | None = None) -> None:
        self.sent.append(("interrupt", played_ms))

    async def reseed(self, lines: Sequence[Line]) -> None:
        self.sent.append(("reseed", tuple(lines)))

    async def receive(self) -> AsyncIterator[RealtimeEvent]:
        while True:
            yield await self._events.get()

    async def close(self) -> None:
        self.sent.append(("close", None))

    def _take(self, config: RealtimeConfig, tools: Sequence[ToolSpec]) -> None:
        self.configs.append(config)
        self.tools.append(tuple(tool.name for tool in tools))
