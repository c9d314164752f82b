"""A local client, what it tells, and a cascade whose every chunk a test writes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from voice_gateway.live.clients.local import LocalClient
from voice_gateway.live.config import RealtimeConfig
from voice_gateway.live.events import AgentChanged, AudioDelta, OutputTranscript, RealtimeEvent, TurnStarted
from voice_gateway.opening import Senses
from voice_gateway.orchestrators.port import Context, Result, Speak, Tell
from voice_gateway.scripted import ScriptedEars, ScriptedMouth, tone

CHAT = UUID("00000000-0000-4000-8000-000000000001")
TURN = UUID("00000000-0000-4000-8000-000000000002")
SILENCE_MS = b"\0" * 48


@dataclass
class HandCascade:
    """Speaks ``chunks`` (an agent between them gets the floor), and then waits, or fails, if it is told to."""

    chunks: Sequence[str | AgentChanged | Exception] = ("The code is ORCHID-47.", "It opens the amber valve.")
    stays: bool = False
    contexts: list[Context] = field(default_factory=list[Context])
    was_heard: list[str] = field(default_factory=list[str])
    spoken: list[str] = field(default_factory=list[str])
    voice: str | None = None
    cancelled: int = 0
    running: int = 0

    @property
    def active(self) -> str:
        """Always the same one."""
        return "concierge"

    async def process_turn(self, context: Context, speak: Speak, tell: Tell) -> Result:
        """Speak what is written down."""
        self.contexts.append(context)
        self.running += 1
        assert self.running == 1, "one turn at a time"
        try:
            tell(TurnStarted(turn=0, turn_id=TURN, trace_id="0" * 32))
            for chunk in self.chunks:
                match chunk:
                    case str():
                        await speak(chunk, self.voice)
                        self.spoken.append(chunk)
                    case Exception():
                        raise chunk
                    case _:
                        tell(chunk)
            if self.stays:
                await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        finally:
            self.running -= 1
        return Result(" ".join(self.spoken), self.active)

    def heard(self, text: str) -> None:
        """Note it."""
        self.was_heard.append(text)


@dataclass
class Local:
    """A local client in a test's hand."""

    client: LocalClient
    cascade: HandCascade
    ears: ScriptedEars
    mouth: ScriptedMouth
    told: list[tuple[float, RealtimeEvent]] = field(default_factory=list[tuple[float, RealtimeEvent]])

    async def say(self, speech_ms: int = 300, pause_ms: int = 700) -> None:
        """Say something aloud in real time, and be silent after it."""
        sound = tone(speech_ms) + SILENCE_MS * pause_ms
        for start in range(0, len(sound), 960):
            await self.client.send_audio(sound[start : start + 960])
            await asyncio.sleep(0.02)

    async def until(self, kind: str, count: int = 1) -> RealtimeEvent:
        """The ``count``-th event of a kind, when it is there."""
        async with asyncio.timeout(600):
            while len(found := self.of(kind)) < count:  # noqa: ASYNC110 - an event of any kind
                await asyncio.sleep(0.02)
        return found[count - 1]

    def of(self, kind: str) -> list[Any]:
        """The events of a kind."""
        return [event for _, event in self.told if event.type == kind]

    def at(self, kind: str, count: int = 1) -> float:
        """When the ``count``-th event of a kind was told."""
        return [at for at, event in self.told if event.type == kind][count - 1]

    @property
    def kinds(self) -> list[str]:
        """What was told, sound and the words beside it each once."""
        kinds: list[str] = []
        for _, event in self.told:
            name = "output" if isinstance(event, AudioDelta | OutputTranscript) else event.type
            if not kinds or kinds[-1] != name:
                kinds.append(name)
        return kinds

    @property
    def sound_ms(self) -> int:
        """How much sound came."""
        return sum(len(event.data) for event in self.of("audio_delta")) // 48

    @property
    def words(self) -> str:
        """The words beside it."""
        return "".join(event.text for event in self.of("output_transcript") if not event.finished)


@asynccontextmanager
async def local(
    *script: str,
    cascade: HandCascade | None = None,
    config: RealtimeConfig | None = None,
    played_ms: int | None = None,
    places: int = 4,
    delay_s: float = 0.0,
) -> AsyncGenerator[Local]:
    """A client that is connected, and gives its place back."""
    ears, mouth = ScriptedEars(script or ("What is the code?",), places), ScriptedMouth(delay_s)
    cascade = cascade or HandCascade()
    client = LocalClient(Senses(ears, mouth), cascade, CHAT, played_ms=lambda: played_ms)
    await client.connect(config or RealtimeConfig(), (), None)
    held = Local(client, cascade, ears, mouth)

    async def read() -> None:
        async for event in client.receive():
            held.told.append((asyncio.get_running_loop().time(), event))

    reading = asyncio.create_task(read())
    try:
        yield held
    finally:
        await client.close()
        await client.close()
        async with asyncio.timeout(5):
            await reading
        assert len(ears) == 0, "the place at the ears was not given back"
        others = asyncio.all_tasks() - {asyncio.current_task()}
        assert not others, f"tasks are left behind: {others}"
