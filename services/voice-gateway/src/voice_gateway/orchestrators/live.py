"""The live orchestrator: a provider answers in speech, and we see to who it is that answers (O2, O3, O4, O6).

::

    person <==> LiveSession <==> provider
                  │  hand_over: is there an edge? ──> it switches at once; late sound of the old agent is dropped
                  └─ events ──> the turn's result, spans, tokens of each agent; the state is saved at its end

``speech_started`` silences the client's playback, and the response in work is cancelled, at the provider or by us.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from contracts.vocabulary import JsonObject
from voice_gateway.live.events import (
    AgentChanged,
    InputTranscript,
    Interrupted,
    OutputTranscript,
    RealtimeEvent,
    SessionUpdate,
    ToolCall,
    ToolResult,
    TurnComplete,
    TurnStarted,
)
from voice_gateway.live.input_queue import InputQueue
from voice_gateway.live.port import Part
from voice_gateway.live.runner import LiveSession
from voice_gateway.orchestrators.handoffs import Handoff, Handoffs
from voice_gateway.orchestrators.live_tracing import LiveTracing
from voice_gateway.orchestrators.measuring import Tally
from voice_gateway.orchestrators.port import Called, Ended, Result, States, no_one
from voice_gateway.orchestrators.prompts import instructions
from voice_gateway.orchestrators.scenario import AgentSpec, ProviderName
from voice_gateway.orchestrators.toolbox import UNTAGGED, AgentTools, Tool

log = logging.getLogger(__name__)

ToolsFor = Callable[[AgentSpec, Sequence[Tool]], AgentTools]


@dataclass(frozen=True, slots=True)
class Crew:
    """What the agents of a live session work with. ``of_chat`` is what an agent without shared context is not told."""

    tools_for: ToolsFor
    states: States
    fields: Mapping[str, str] = field(default_factory=dict[str, str])
    of_person: tuple[str, ...] = ()
    of_chat: tuple[str, ...] = ()
    session: tuple[str, ...] = ()
    provider: ProviderName = "openai"
    voice: str | None = None
    tally: Tally = field(default_factory=Tally)


@dataclass(slots=True)
class _Turn:
    agent: str
    text: str = ""
    answer: list[str] = field(default_factory=list[str])
    partial: str = ""
    calls: dict[str, Called] = field(default_factory=dict[str, Called])
    args: dict[str, JsonObject] = field(default_factory=dict[str, JsonObject])

    def result(self, active: str, tally: Tally) -> Result:
        answer = " ".join(part for part in (*self.answer, self.partial.strip()) if part)
        changed = active != self.agent
        told: JsonObject = {"tokens": tally.told()}
        return Result(answer, self.agent, tuple(self.calls.values()), changed, active if changed else None, told)


class LiveOrchestrator:
    """The agents of one live session. ``ended`` is told of each turn that is over, in order."""

    def __init__(
        self, chat_id: UUID, handoffs: Handoffs, crew: Crew, ended: Ended = no_one, *, parent: str | None = None
    ) -> None:
        self._chat_id, self._handoffs, self._crew, self._ended = chat_id, handoffs, crew, ended
        self._session: LiveSession | None = None
        self._turn: _Turn | None = None
        self._shares = True
        self._saving: asyncio.Task[None] | None = None
        self._dirty = False
        self.tracing = LiveTracing(chat_id, crew.tally, crew.provider, parent)

    @property
    def active(self) -> str:
        """The agent that has the floor."""
        return self._handoffs.active.name

    @property
    def queue(self) -> InputQueue:
        """Where what the person says goes in."""
        return self._open.queue

    def begin(self) -> Part:
        """The agent that the session opens with: one to whom a handoff was still to be made gets the floor now."""
        handoff = self._handoffs.apply()
        return self._part(handoff, greets=handoff is not None)

    def lead(self, session: LiveSession) -> None:
        """From now on it is this session that changes hands."""
        self._session = session

    async def events(self) -> AsyncGenerator[RealtimeEvent]:
        """The session's events, as it is run."""
        try:
            async for event in self._open.events():
                self._see(event)
                yield event
        finally:
            self._over(interrupted=True)
            self.tracing.close()
            await self._settled()

    async def interrupt(self, played_ms: int | None = None) -> None:
        """The person wants silence."""
        await self._open.interrupt(played_ms)

    async def close(self) -> None:
        """End the session."""
        await self._open.close()
        await self._settled()

    @property
    def _open(self) -> LiveSession:
        assert self._session is not None, "lead() comes first"
        return self._session

    def _part(self, handoff: Handoff | None = None, *, greets: bool = False) -> Part:
        agent, crew = self._handoffs.active, self._crew
        if handoff is not None:
            self._shares = handoff.shares_context
        greeting = self._handoffs.greeting(crew.fields) if greets else None
        self._handoffs.arrive()
        told = instructions(
            agent,
            crew.fields,
            memory=(*crew.of_person, *(crew.of_chat if self._shares else ())),
            session=crew.session,
            handoff=handoff,
            greeting=greeting,
        )
        return Part(
            agent.name,
            told,
            crew.tools_for(agent, self._hand_over()),
            agent.voice_at(crew.provider) or crew.voice,
            handoff.shares_context if handoff else True,
            handoff.reason if handoff else "",
        )

    def _hand_over(self) -> list[Tool]:
        spec = self._handoffs.spec()
        if spec is None:
            return []

        async def run(args: JsonObject, _caller: object) -> JsonObject:
            handoff = self._handoffs.request(args)
            self._handoffs.apply()
            await self._open.switch(self._part(handoff, greets=True))
            return {"handed_over_to": handoff.target}

        return [Tool(spec, run, frozenset({UNTAGGED}))]

    def _see(self, event: RealtimeEvent) -> None:
        self.tracing.see(event, self.active)
        match event:
            case TurnStarted():
                self._over(interrupted=True)
                self._handoffs.begin_turn()
                self._turn = _Turn(self.active)
            case SessionUpdate():
                self._handoffs.resumable(event.resumption_handle)
                self._save()
            case AgentChanged():
                self._save()
            case TurnComplete():
                self._over(interrupted=False)
            case Interrupted():
                self._over(interrupted=True)
            case _:
                if self._turn is not None:
                    _note(self._turn, event)

    def _over(self, *, interrupted: bool) -> None:
        turn, self._turn = self._turn, None
        if turn is not None:
            self._ended(turn.text, turn.result(self.active, self._crew.tally), interrupted)
            self._save()

    def _save(self) -> None:
        """Keep the newest state, beside the session."""
        self._dirty = True
        if self._saving is None or self._saving.done():
            self._saving = asyncio.create_task(self._kept())

    async def _kept(self) -> None:
        while self._dirty:
            self._dirty = False
            try:
                await self._crew.states.save(self._chat_id, self._handoffs.state)
            except Exception as error:
                log.warning("the state of a chat was not kept", extra={"error": type(error).__name__})

    async def _settled(self) -> None:
        if self._saving is not None:
            await asyncio.wait({self._saving}, timeout=2.0)


def _note(turn: _Turn, event: RealtimeEvent) -> None:
    match event:
        case InputTranscript(finished=True):
            turn.text = f"{turn.text} {event.text.strip()}".strip()
        case OutputTranscript(finished=True):
            turn.answer.append(event.text.strip())
            turn.partial = ""
        case OutputTranscript():
            turn.partial += event.text
        case ToolCall():
            turn.args[event.id] = event.args or {}
        case ToolResult():
            args = turn.args.get(event.id, {})
            turn.calls[event.id] = Called(event.id, event.name, args, event.result, event.failed)
        case _:
            pass
