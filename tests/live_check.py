"""The scenarios of a live session against the real services: ``make live-check``.

Runs for each provider whose key is in the environment, and writes what it measured (seconds, tokens, cost) into
``tests/artifacts/live-check.json``. It costs some cents, needs the network, and is part of no other command.

``OPENAI_API_KEY``, ``GEMINI_API_KEY``  which providers are asked; none set: it says so, and exits with 2
``OPENAI_BASE_URL``, ``GEMINI_BASE_URL``  where they are, if elsewhere
``TALKDOWN_LIVE_CHECK_PRICES``  dollars for a million tokens in and out, as ``openai=4/16,gemini=3/12``; unset: no cost
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

from recordings import QUESTION, RATE, Recordings

from contracts.vocabulary import JsonObject
from voice_gateway.live.clients.gemini import GeminiLive
from voice_gateway.live.clients.openai import OpenAILive
from voice_gateway.live.config import RealtimeConfig
from voice_gateway.live.events import (
    AudioDelta,
    Failure,
    InputTranscript,
    OutputTranscript,
    RealtimeEvent,
    Reconnected,
    ToolCall,
    TurnComplete,
    Usage,
)
from voice_gateway.live.input_queue import InputQueue
from voice_gateway.live.port import Part, RealtimeClient, ToolSpec
from voice_gateway.live.runner import LiveSession

RESULTS = Path(__file__).with_name("artifacts") / "live-check.json"
SCENARIO_S = 60.0
FRAME_S = 0.02
FRAME = int(RATE * FRAME_S) * 2
CODE = "ORCHID-47"
BRIEF = RealtimeConfig(instructions=("Answer in one short sentence.",))
NO_KEY = (
    "live-check asks the real services, and needs a key: set OPENAI_API_KEY, or GEMINI_API_KEY, or both.\n"
    "It costs some cents. Set TALKDOWN_LIVE_CHECK_PRICES=openai=4/16,gemini=3/12 (dollars for a million tokens in and"
    " out) to be told how many."
)


@dataclass
class Measured:
    """One scenario. Seconds are None where nothing was heard; ``cost`` is in dollars, None without prices."""

    provider: str
    scenario: str
    passed: bool = False
    first_sound_s: float | None = None
    whole_s: float | None = None
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = None
    said: str = ""
    problem: str = ""


class Keys:
    """The tools of the scenarios; ``second`` takes longer than ``first``."""

    def specs(self, tags: Sequence[str] | None = None) -> Sequence[ToolSpec]:
        """Two tools without arguments."""
        nothing: JsonObject = {"type": "object", "properties": {}}
        return [
            ToolSpec("first_half", "The first half of the recovery code.", nothing),
            ToolSpec("second_half", "The second half of the recovery code.", nothing),
        ]

    async def call(self, name: str, args: JsonObject) -> JsonObject:
        """Half a code."""
        await asyncio.sleep(0.2 if name == "first_half" else 0.6)
        return {"half": CODE.split("-")[0 if name == "first_half" else 1]}


@dataclass
class Talk:
    """A session in work, and what came of it."""

    session: LiveSession
    measured: Measured
    turns: int = 0
    heard: str = ""
    tools: set[str] = field(default_factory=set[str])
    reconnected: int = 0
    asked_at: float = 0.0
    news: asyncio.Event = field(default_factory=asyncio.Event)

    async def ask(self, text: str) -> str:
        """Ask in writing, and wait for the whole answer."""
        turn, self.measured.said, self.asked_at = self.turns + 1, "", time.perf_counter()
        self.session.queue.send_text(text)
        await self.until(lambda: self.turns >= turn)
        self.measured.whole_s = time.perf_counter() - self.asked_at
        return self.measured.said

    async def until(self, done: Callable[[], bool]) -> None:
        """Wait until what came fulfils a condition."""
        while not done():
            self.news.clear()
            await self.news.wait()

    async def read(self) -> None:
        """Take the session's events."""
        async for event in self.session.events():
            self._take(event)
            self.news.set()
        raise RuntimeError(self.measured.problem or "the session ended by itself")

    def _take(self, event: RealtimeEvent) -> None:
        measured = self.measured
        match event:
            case AudioDelta() if measured.first_sound_s is None:
                measured.first_sound_s = time.perf_counter() - self.asked_at
            case OutputTranscript(finished=False):
                measured.said += event.text
            case Usage():
                measured.input_tokens += event.input_tokens or 0
                measured.output_tokens += event.output_tokens or 0
            case InputTranscript(finished=True):
                self.heard += event.text
            case ToolCall():
                self.tools.add(event.name)
            case TurnComplete():
                self.turns += 1
            case Reconnected():
                self.reconnected += 1
            case Failure():
                measured.problem = f"{event.code}: {event.message}"
            case _:
                pass


async def answers(talk: Talk, client: RealtimeClient) -> bool:
    """A turn in writing is answered aloud."""
    said = await talk.ask("What is two plus two? Say the number.")
    return bool(said) and talk.measured.first_sound_s is not None


async def spoken(talk: Talk, client: RealtimeClient) -> bool:
    """A question aloud, as a microphone gives it, is understood and answered."""
    pcm = await asyncio.to_thread(question)
    for start in range(0, len(pcm), FRAME):
        talk.session.queue.send_audio(pcm[start : start + FRAME], RATE)
        await asyncio.sleep(FRAME_S)
    talk.asked_at = time.perf_counter()
    quiet = asyncio.create_task(_silence(talk.session.queue))
    try:
        await talk.until(lambda: talk.turns > 0)
    finally:
        quiet.cancel()
    talk.measured.whole_s = time.perf_counter() - talk.asked_at
    return "valve" in talk.heard.lower() and talk.measured.first_sound_s is not None


async def _silence(queue: InputQueue) -> None:
    while True:
        queue.send_audio(bytes(FRAME), RATE)
        await asyncio.sleep(FRAME_S)


def question() -> bytes:
    """A question about a valve, spoken by the voice of this machine."""
    with tempfile.TemporaryDirectory() as folder:
        return Recordings(Path(folder), {"question": QUESTION}).spoken("question").pcm


async def tools(talk: Talk, client: RealtimeClient) -> bool:
    """Two tools, and one answer after both."""
    said = await talk.ask("Look up both halves of the recovery code, then say the whole code letter by letter.")
    return talk.tools == {"first_half", "second_half"} and talk.turns == 1 and bool(said)


async def interruption(talk: Talk, client: RealtimeClient) -> bool:
    """A long answer is stopped, and the next one comes."""
    talk.asked_at = time.perf_counter()
    talk.session.queue.send_text("Count slowly from one to one hundred.")
    await talk.until(lambda: talk.measured.first_sound_s is not None)
    await talk.session.interrupt(200)
    said = await talk.ask("Say only the word done.")
    return "done" in said.lower()


async def lost(talk: Talk, client: RealtimeClient) -> bool:
    """The socket is closed underneath; the conversation goes on, and remembers."""
    await talk.ask("My favourite valve is the amber one. Say only: noted.")
    await client.close()
    await talk.until(lambda: talk.reconnected > 0)
    return "amber" in (await talk.ask("Which valve is my favourite?")).lower()


async def handoff(talk: Talk, client: RealtimeClient) -> bool:
    """Another agent takes the floor."""
    await talk.ask("Say hello.")
    await talk.session.switch(Part("second", ("Whatever you are asked, say only the word orchid.",), Keys()))
    return "orchid" in (await talk.ask("Who are you?")).lower()


Scenario = Callable[[Talk, RealtimeClient], Awaitable[bool]]
SCENARIOS: tuple[Scenario, ...] = (answers, spoken, tools, interruption, lost, handoff)


@asynccontextmanager
async def talking(client: RealtimeClient, measured: Measured) -> AsyncGenerator[Talk]:
    """A session with a provider, read meanwhile."""
    session = LiveSession(client, BRIEF, queue=InputQueue(), tools=Keys())
    talk = Talk(session, measured)
    reading = asyncio.create_task(talk.read())
    watching = asyncio.current_task()
    assert watching is not None
    reading.add_done_callback(lambda task: watching.cancel() if not task.cancelled() else None)
    try:
        yield talk
    finally:
        reading.cancel()
        await asyncio.wait({reading})
        await session.close()


async def run(provider: str, client: RealtimeClient, scenario: Scenario, price: tuple[float, float] | None) -> Measured:
    """One scenario; what goes wrong is in what is measured."""
    measured = Measured(provider, scenario.__name__)
    try:
        async with asyncio.timeout(SCENARIO_S), talking(client, measured) as talk:
            measured.passed = await scenario(talk, client)
    except TimeoutError:
        measured.problem = measured.problem or f"nothing within {SCENARIO_S:g} s"
    except asyncio.CancelledError:
        measured.problem = measured.problem or "the session ended by itself"
    if price is not None:
        measured.cost = (measured.input_tokens * price[0] + measured.output_tokens * price[1]) / 1_000_000
    return measured


def clients() -> dict[str, Callable[[], RealtimeClient]]:
    """How a client of each provider is made whose key is there."""
    made: dict[str, Callable[[], RealtimeClient]] = {}
    if key := os.environ.get("OPENAI_API_KEY", "").strip():
        made["openai"] = lambda: OpenAILive(key, base_url=os.environ.get("OPENAI_BASE_URL") or None)
    if other := os.environ.get("GEMINI_API_KEY", "").strip():
        made["gemini"] = lambda: GeminiLive(other, base_url=os.environ.get("GEMINI_BASE_URL") or None)
    return made


def prices(told: str) -> dict[str, tuple[float, float]]:
    """Dollars for a million tokens in and out, by provider; ``ValueError`` says how they are written."""
    found: dict[str, tuple[float, float]] = {}
    for part in filter(None, told.split(",")):
        try:
            provider, _, figures = part.partition("=")
            given, made = map(float, figures.split("/"))
        except ValueError:
            raise ValueError(
                f"TALKDOWN_LIVE_CHECK_PRICES is written as openai=4/16,gemini=3/12, not {told!r}."
            ) from None
        found[provider.strip()] = (given, made)
    return found


def write(results: Path, found: Sequence[Measured]) -> None:
    """Keep what was measured."""
    results.parent.mkdir(parents=True, exist_ok=True)
    results.write_text(json.dumps([asdict(measured) for measured in found], indent=2) + "\n")
    print(f"written to {results}")


async def check(results: Path = RESULTS) -> int:
    """Every scenario at every provider there is a key for; the exit code."""
    made = clients()
    if not made:
        print(NO_KEY)
        return 2
    cost = prices(os.environ.get("TALKDOWN_LIVE_CHECK_PRICES", ""))
    found: list[Measured] = []
    for provider, client in made.items():
        for scenario in SCENARIOS:
            measured = await run(provider, client(), scenario, cost.get(provider))
            found.append(measured)
            figures = f"{measured.first_sound_s or 0:5.2f} s to the first sound, {measured.output_tokens} tokens out"
            verdict = "ok" if measured.passed else "FAILED"
            print(f"{provider:7} {measured.scenario:13} {verdict}  {figures}  {measured.problem}")
    write(results, found)
    return 0 if all(measured.passed for measured in found) else 1


if __name__ == "__main__":
    try:
        sys.exit(asyncio.run(check()))
    except ValueError as problem:
        sys.exit(str(problem))
