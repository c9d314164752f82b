"""Text agents, a store and a scenario for tests of orchestrators: each does what a test writes down."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from contracts.vocabulary import JsonObject
from voice_gateway.errors import AnswerFailed
from voice_gateway.live.events import RealtimeEvent
from voice_gateway.live.port import Line, ToolSpec
from voice_gateway.orchestrators.cascade import CascadeOrchestrator, Company
from voice_gateway.orchestrators.handoffs import Handoffs
from voice_gateway.orchestrators.port import Called, Context, Ended, Result, State, no_one
from voice_gateway.orchestrators.reading import read
from voice_gateway.orchestrators.scenario import AgentSpec, Scenario
from voice_gateway.orchestrators.text_agent import Asked, Call, Delta, Written
from voice_gateway.orchestrators.toolbox import AgentTools, Caller, Tool, Tools

CHAT = UUID("c2a1b7f4-95a4-4d08-8b64-7a0f2d6c9e21")
HOLD = object()
"""In a script: wait there until somebody cancels."""

SCENARIO = """
name: house
start: concierge
fields: {visitor: the visitor}
agents:
  - name: concierge
    instructions: You greet {visitor}.
    greeting: Welcome.
    return_greeting: Welcome back.
    voice: {local: low, openai: marin}
    tools: [retrieve_documents, echo]
  - name: safety
    instructions: You keep {visitor} safe.
    greeting: This is safety.
    return_greeting: Safety again.
    voice: high
    tools: [retrieve_documents]
    folders: [safety]
  - name: secret
    instructions: You know nothing of before.
handoffs:
  - {from: concierge, to: safety, when: danger, phrases: [safety specialist, is it safe]}
  - {from: safety, to: concierge, when: all else, phrases: [the concierge]}
  - {from: concierge, to: secret, when: secrets, shares_context: false}
  - {from: secret, to: concierge, when: all else}
"""


def scenario(text: str = SCENARIO) -> Scenario:
    """The scenario of the tests."""
    return read(text, "house.yaml")


async def until(holds: Callable[[], object]) -> None:
    """Wait until something holds, with a bound."""
    async with asyncio.timeout(5):
        while not holds():  # noqa: ASYNC110 - what makes it hold tells nobody
            await asyncio.sleep(0)


def call(name: str, args: JsonObject | None, call_id: str = "call_1") -> Call:
    """A call that a model makes."""
    return Call(call_id, name, args)


def hand_over(agent: str, reason: str = "It is about safety.", call_id: str = "call_1") -> Call:
    """The call that hands over."""
    return Call(call_id, "hand_over", {"agent": agent, "reason": reason})


@dataclass
class ScriptedTurn:
    """One turn: the next round of the script each time."""

    agent: ScriptedAgent
    asked: Asked
    heard_characters: list[int] = field(default_factory=list[int])

    async def round(self, results: Sequence[Called], *, tools: bool = True) -> AsyncGenerator[Written]:
        """Write what the script says."""
        self.agent.results.append(tuple(results))
        self.agent.offered.append(tuple(spec.name for spec in self.asked.tools) if tools else ())
        try:
            for part in self.agent.rounds.pop(0):
                if part is HOLD:
                    await asyncio.Event().wait()
                elif isinstance(part, str):
                    yield Delta(part)
                elif isinstance(part, AnswerFailed):
                    raise part
                else:
                    assert isinstance(part, Written)
                    yield part
        except (asyncio.CancelledError, GeneratorExit):
            self.agent.broken += 1
            raise

    def heard(self, characters: int) -> None:
        """Note it."""
        self.heard_characters.append(characters)


@dataclass
class ScriptedAgent:
    """Writes ``rounds`` one after the other, whoever is asked."""

    rounds: list[list[object]]
    decides: bool = True
    turns: list[ScriptedTurn] = field(default_factory=list[ScriptedTurn])
    results: list[tuple[Called, ...]] = field(default_factory=list[tuple[Called, ...]])
    offered: list[tuple[str, ...]] = field(default_factory=list[tuple[str, ...]])
    broken: int = 0

    @property
    def asked(self) -> list[Asked]:
        """What was asked."""
        return [turn.asked for turn in self.turns]

    def begin(self, asked: Asked) -> ScriptedTurn:
        """Note the turn."""
        self.turns.append(ScriptedTurn(self, asked))
        return self.turns[-1]


@dataclass
class MemoryStates:
    """Keeps states, or fails to."""

    kept: dict[UUID, State] = field(default_factory=dict[UUID, State])
    saves: list[State] = field(default_factory=list[State])
    hangs: bool = False

    async def load(self, chat_id: UUID) -> State:
        """The kept state."""
        return self.kept.get(chat_id, State())

    async def save(self, chat_id: UUID, state: State) -> None:
        """Keep it."""
        if self.hangs:
            await asyncio.Event().wait()
        self.kept[chat_id] = state
        self.saves.append(state)


def echo() -> Tool:
    """A tool that gives back what it got, and fails when it is told to."""

    async def run(args: JsonObject, caller: Caller) -> JsonObject:
        if args.get("hang"):
            await asyncio.Event().wait()
        if args.get("fail"):
            raise RuntimeError("a secret of the tool")
        return {"echo": args, "user": caller.user_id, "folders": list(caller.folders)}

    return Tool(ToolSpec("echo", "Gives back.", {"type": "object"}), run, frozenset({"test"}))


@dataclass
class Stage:
    """A cascade, what it spoke and told, and in which voice."""

    cascade: CascadeOrchestrator
    handoffs: Handoffs
    states: MemoryStates
    agent: ScriptedAgent
    spoken: list[str] = field(default_factory=list[str])
    voices: list[str | None] = field(default_factory=list[str | None])
    told: list[RealtimeEvent] = field(default_factory=list[RealtimeEvent])
    hold_speech: asyncio.Event | None = None

    async def speak(self, text: str, voice: str | None = None) -> None:
        """Note the chunk, and wait where a test says so."""
        self.spoken.append(text)
        self.voices.append(voice)
        if self.hold_speech is not None:
            await self.hold_speech.wait()

    async def turn(self, text: str, history: Sequence[Line] = (), memory: Sequence[str] = ()) -> Result:
        """One turn, to its end."""
        context = Context(CHAT, text, tuple(history), memory=tuple(memory))
        return await self.cascade.process_turn(context, self.speak, self.told.append)


def stage(
    *rounds: Iterable[object],
    decides: bool = True,
    state: State | None = None,
    text: str = SCENARIO,
    of_chat: tuple[str, ...] = (),
    of_person: tuple[str, ...] = (),
    ended: Ended = no_one,
    fields: Mapping[str, str] | None = None,
    agent: ScriptedAgent | None = None,
) -> Stage:
    """A cascade over a scripted text agent."""
    writer = agent or ScriptedAgent([list(one) for one in rounds], decides)
    handoffs, states = Handoffs(scenario(text), state), MemoryStates()
    tools = Tools([echo()])

    def tools_for(spec: AgentSpec, extra: Sequence[Tool]) -> AgentTools:
        return tools.bound(spec.tools, spec.tool_tags, Caller(CHAT, "mara", spec.name, spec.folders), extra)

    company = Company(
        lambda _: writer,
        tools_for,
        states,
        fields or {"visitor": "Mara"},
        of_person,
        of_chat,
        ended=ended,
    )
    return Stage(CascadeOrchestrator(handoffs, company), handoffs, states, writer)
