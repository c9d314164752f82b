"""A session around a local client, its queue in a test's hand."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from local_fakes import CHAT, HandCascade

from contracts.vocabulary import JsonObject
from voice_gateway.live.clients.local import LocalClient
from voice_gateway.live.config import RealtimeConfig
from voice_gateway.live.events import AudioDelta, OutputTranscript, RealtimeEvent
from voice_gateway.live.input_queue import InputQueue
from voice_gateway.live.port import Line, ToolSpec
from voice_gateway.live.runner import LiveSession
from voice_gateway.opening import Senses
from voice_gateway.scripted import ScriptedEars, ScriptedMouth


class NoTools:
    """The cascade has its own."""

    def specs(self, tags: Sequence[str] | None = None) -> Sequence[ToolSpec]:
        """None."""
        return ()

    async def call(self, name: str, args: JsonObject) -> JsonObject:
        """Nobody calls."""
        raise AssertionError(name)


@dataclass
class Held:
    """A session that runs, and what it told."""

    session: LiveSession
    cascade: HandCascade
    told: list[RealtimeEvent] = field(default_factory=list[RealtimeEvent])

    @property
    def queue(self) -> InputQueue:
        """Its input."""
        return self.session.queue

    @property
    def history(self) -> tuple[Line, ...]:
        """The lines of its turns."""
        return self.session.history

    def of(self, kind: str) -> list[Any]:
        """The events of a kind."""
        return [event for event in self.told if event.type == kind]

    @property
    def kinds(self) -> list[str]:
        """What was told, sound and the words beside it each once."""
        kinds: list[str] = []
        for event in self.told:
            name = "output" if isinstance(event, AudioDelta | OutputTranscript) else event.type
            if not kinds or kinds[-1] != name:
                kinds.append(name)
        return kinds

    async def until(self, kind: str, count: int = 1) -> None:
        """Wait for the ``count``-th event of a kind."""
        async with asyncio.timeout(600):
            while len(self.of(kind)) < count:  # noqa: ASYNC110 - an event of any kind
                await asyncio.sleep(0.02)


@asynccontextmanager
async def local_session(
    *script: str, cascade: HandCascade | None = None, config: RealtimeConfig | None = None
) -> AsyncGenerator[Held]:
    """A session that stands, and is closed at the end."""
    cascade, config = cascade or HandCascade(), config or RealtimeConfig()
    client = LocalClient(Senses(ScriptedEars(script or ("What is the code?",)), ScriptedMouth()), cascade, CHAT)
    held = Held(LiveSession(client, config, queue=InputQueue(), tools=NoTools()), cascade)

    async def read() -> None:
        async for event in held.session.events():
            held.told.append(event)

    reading = asyncio.create_task(read())
    await asyncio.sleep(0.1)
    try:
        yield held
    finally:
        await held.session.close()
        async with asyncio.timeout(60):
            await reading
