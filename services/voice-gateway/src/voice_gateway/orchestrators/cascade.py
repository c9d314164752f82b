"""The cascade: what was heard is answered by a text agent, and spoken chunk by chunk while it is written (O1, O3, O4).

::

    user text ─> handoff left over, or asked for by a phrase? ──┐
        └─> active agent: rounds of text and tools ── hand_over ─┴─> the turn's boundary: floor, greeting,
                     │                                                new agent answers
                     └─> chunks ─> speak

One turn at a time. Cancelling it is an interruption: what was written and not yet spoken is forgotten, and a handoff
that was decided and not made yet is made with the next turn.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Final

from opentelemetry.trace import Span, get_current_span

from chassis import conventions, telemetry
from contracts.search import Filter
from contracts.vocabulary import JsonObject
from voice_gateway.errors import AnswerFailed
from voice_gateway.live.events import AgentChanged, ToolCall, ToolResult, TurnStarted, Usage
from voice_gateway.live.port import Line, ToolSpec
from voice_gateway.orchestrators.handoffs import Handoff, Handoffs
from voice_gateway.orchestrators.measuring import FIRST_TOKEN, Tally
from voice_gateway.orchestrators.port import Called, Context, Ended, Result, Speak, States, Tell, no_one
from voice_gateway.orchestrators.prompts import instructions
from voice_gateway.orchestrators.scenario import AgentSpec, ProviderName
from voice_gateway.orchestrators.speech import Speech, Spoken, heard_of_answer
from voice_gateway.orchestrators.text_agent import Accepted, Asked, Call, Calling, Delta, Spent, TextAgent, Writing
from voice_gateway.orchestrators.toolbox import UNTAGGED, AgentTools, Tool

MAX_ROUNDS: Final = 5
"""Rounds of tools in one turn (O5); after them the model answers without."""
FIRST_CHUNK: Final = "first_chunk"
"""What happens in the span of an agent when its first words are on their way to the mouth."""
NO_ANSWER: Final = "The model gave no answer; ask again."
SAVE_S: Final = 2.0


@dataclass(frozen=True, slots=True)
class Company:
    """Who and what a cascade works with: text agents, tools, and what is known of the person.

    ``of_chat`` is what an agent without shared context is not told; ``recall`` finds what is remembered of what a
    person says, and never fails.
    """

    agent_for: Callable[[AgentSpec], TextAgent]
    tools_for: Callable[[AgentSpec, Sequence[Tool]], AgentTools]
    states: States
    fields: Mapping[str, str] = field(default_factory=dict[str, str])
    of_person: tuple[str, ...] = ()
    of_chat: tuple[str, ...] = ()
    session: tuple[str, ...] = ()
    provider: ProviderName = "local"
    tally: Tally = field(default_factory=Tally)
    ended: Ended = no_one
    recall: Callable[[str], Awaitable[tuple[str, ...]]] | None = None


@dataclass(slots=True)
class _Turn:
    """One turn on its way."""

    context: Context
    speak: Speak
    tell: Tell
    text: str
    spoken: list[Spoken] = field(default_factory=list[Spoken])
    calls: list[Called] = field(default_factory=list[Called])
    metadata: JsonObject = field(default_factory=dict[str, object])
    writing: Writing | None = None
    span: Span | None = None
    asked_at: float | None = None
    heard: str | None = None

    def result(self, first: str, active: str) -> Result:
        """How it was answered so far; of an interrupted turn what was heard."""
        text = " ".join(chunk.text for chunk in self.spoken) if self.heard is None else self.heard
        changed = active != first
        return Result(text, first, tuple(self.calls), changed, active if changed else None, self.metadata)


class CascadeOrchestrator:
    """The cascade of one session; :class:`~voice_gateway.orchestrators.port.Cascade`."""

    def __init__(self, handoffs: Handoffs, company: Company) -> None:
        self._handoffs, self._company = handoffs, company
        self._free = asyncio.Lock()
        self._turn: _Turn | None = None
        self._known_from = 0
        self._since: dt.datetime | None = None

    @property
    def active(self) -> str:
        """The agent that has the floor."""
        return self._handoffs.active.name

    @property
    def voice(self) -> str | None:
        """Its voice; None is the usual one."""
        return self._handoffs.active.voice_at(self._company.provider)

    def forget_before(self, lines: int) -> None:
        """The agent that has the floor was never told what was said before: so many lines, until now."""
        self._known_from, self._since = lines, dt.datetime.now(dt.UTC)

    async def process_turn(self, context: Context, speak: Speak, tell: Tell) -> Result:
        """Answer one turn; see :class:`~voice_gateway.orchestrators.port.Cascade`."""
        async with self._free:
            turn = self._turn = _Turn(context, speak, tell, context.user_text)
            self._handoffs.begin_turn()
            first, interrupted = self.active, True
            try:
                await self._answered(turn)
                interrupted = False
            finally:
                turn.metadata["tokens"] = self._company.tally.told()
                result = turn.result(first, self.active)
                self._company.ended(context.user_text, result, interrupted)
                await self._save(context)
            return result

    def heard(self, text: str) -> None:
        """The newest turn was interrupted, and so much of what it spoke was heard."""
        if self._turn is not None:
            self._turn.heard = text
            if self._turn.writing is not None:
                self._turn.writing.heard(heard_of_answer(self._turn.spoken, text))

    async def _answered(self, turn: _Turn) -> None:
        handoffs = self._handoffs
        if handoffs.pending is None and not self._company.agent_for(handoffs.active).decides:
            beside = handoffs.by_phrase(turn.text)
            turn.text = turn.text if beside is None else beside
        if handoffs.pending is None:
            handoffs.arrive()
            await self._answer(turn)
        if (handoff := handoffs.pending) is not None:
            await self._change(turn, handoff)

    async def _change(self, turn: _Turn, handoff: Handoff) -> None:
        """The turn's boundary: the floor changes hands, and the new agent answers."""
        if handoff.shares_context:
            self._known_from, self._since = 0, None
        else:
            self.forget_before(len(turn.context.history))
        self._handoffs.apply()
        agent = self._handoffs.active
        turn.tell(AgentChanged(agent=agent.name, previous=handoff.source, reason=handoff.reason))
        greeting = self._handoffs.greeting(self._company.fields)
        self._handoffs.arrive()
        said = greeting or (None if turn.text else f"This is {agent.name}.")
        if said:
            await self._say(turn, Spoken(said))
        if turn.text:
            await self._answer(turn, handoff)

    async def _answer(self, turn: _Turn, handoff: Handoff | None = None) -> None:
        """The active agent's part of a turn, to its end or to where it hands over."""
        agent, company = self._handoffs.active, self._company
        writer = company.agent_for(agent)
        tools = company.tools_for(agent, [*self._hand_over(handoff)]) if writer.decides else None
        memory = await company.recall(turn.text) if company.recall and writer.decides else ()
        asked = self._asked(turn, agent, handoff, tools.specs() if tools else (), memory)
        turn.writing = writing = writer.begin(asked)
        # What another agent said stands for nothing in this one's answer.
        turn.spoken = [Spoken(chunk.text) for chunk in turn.spoken]
        attributes = {
            conventions.GEN_AI_OPERATION: conventions.INVOKE_AGENT,
            conventions.GEN_AI_AGENT_NAME: agent.name,
            conventions.GEN_AI_CONVERSATION_ID: str(turn.context.chat_id),
        }
        with telemetry.span(f"{conventions.INVOKE_AGENT} {agent.name}", attributes) as current:
            turn.span = current
            before, said = company.tally.of(agent.name), len(turn.spoken)
            turn.asked_at = time.perf_counter()
            try:
                results: Sequence[Called] = ()
                for number in range(MAX_ROUNDS + 1):
                    calls = await self._round(turn, writing, results, current, tools=number < MAX_ROUNDS)
                    if not calls and len(turn.spoken) == said:
                        raise AnswerFailed(NO_ANSWER, failure="model_failed")
                    if not calls or tools is None:
                        return
                    results = await self._called(turn, tools, calls)
                    if self._handoffs.pending is not None:
                        return
            finally:
                turn.span = None
                spent = company.tally.of(agent.name)
                if spent != before:
                    current.set_attributes(
                        {
                            conventions.GEN_AI_INPUT_TOKENS: spent[0] - before[0],
                            conventions.GEN_AI_OUTPUT_TOKENS: spent[1] - before[1],
                        }
                    )

    async def _round(
        self, turn: _Turn, writing: Writing, results: Sequence[Called], current: Span, *, tools: bool
    ) -> list[Call]:
        """One round of an answer, spoken while it is written; the calls in it."""
        speech, calls, silent = Speech(), list[Call](), False
        agent = self.active
        async with aclosing(writing.round(results, tools=tools)) as written:
            async for part in written:
                match part:
                    case Accepted():
                        turn.metadata |= {"turn_id": str(part.turn_id), "trace_id": part.trace_id}
                        turn.tell(TurnStarted(turn=0, turn_id=part.turn_id, trace_id=part.trace_id))
                        current.set_attribute(conventions.TURN_ID, str(part.turn_id))
                    case Delta() if not silent:
                        if turn.asked_at is not None:
                            waited, turn.asked_at = time.perf_counter() - turn.asked_at, None
                            FIRST_TOKEN.record(waited, {conventions.GEN_AI_AGENT_NAME: agent})
                            current.set_attribute(conventions.FIRST_TOKEN_S, round(waited, 6))
                        for chunk in speech.feed(part.text):
                            await self._say(turn, chunk)
                    case Calling() | Call():
                        silent = True
                        speech.drop()
                        if isinstance(part, Call):
                            calls.append(part)
                    case Spent():
                        self._company.tally.add(agent, part.model, part.input_tokens, part.output_tokens)
                        turn.tell(
                            Usage(model=part.model, input_tokens=part.input_tokens, output_tokens=part.output_tokens)
                        )
                    case _:
                        pass
        if not silent:
            for chunk in speech.finish():
                await self._say(turn, chunk)
        return calls if tools else []

    async def _called(self, turn: _Turn, tools: AgentTools, calls: Sequence[Call]) -> list[Called]:
        """The results of all calls of a round, in their order; each is told when it is there."""

        async def one(call: Call) -> Called:
            turn.tell(ToolCall(id=call.id, name=call.name, args=call.args))
            called = await tools.answered(call)
            turn.tell(ToolResult(id=call.id, name=call.name, result=called.result, failed=called.failed))
            return called

        async with asyncio.TaskGroup() as group:
            running = [group.create_task(one(call)) for call in calls]
        results = [task.result() for task in running]
        turn.calls += results
        return results

    async def _say(self, turn: _Turn, chunk: Spoken) -> None:
        if not turn.spoken:
            # Of the agent, and not of the model whose stream is open meanwhile.
            (turn.span or get_current_span()).add_event(FIRST_CHUNK)
        turn.spoken.append(chunk)
        await turn.speak(chunk.text, self.voice)

    def _asked(
        self,
        turn: _Turn,
        agent: AgentSpec,
        handoff: Handoff | None,
        tools: Sequence[ToolSpec],
        recalled: Sequence[str],
    ) -> Asked:
        context, company = turn.context, self._company
        history: Sequence[Line] = context.history[self._known_from :]
        memory = [*company.of_person, *(company.of_chat if self._since is None else ())]
        memory += dict.fromkeys((*context.memory, *recalled))
        fields = {**company.fields, **{name: said for name, said in context.metadata.items() if isinstance(said, str)}}
        told = instructions(agent, fields, memory=memory, session=company.session, handoff=handoff)
        return Asked(
            context.chat_id,
            turn.text,
            told,
            tuple(history),
            tuple(tools),
            agent.model,
            Filter(folders=agent.folders),
            self._since,
        )

    def _hand_over(self, handoff: Handoff | None) -> list[Tool]:
        """The tool that hands over; none for who got the floor in this turn, since its first handoff counts."""
        spec = None if handoff is not None else self._handoffs.spec()
        if spec is None:
            return []

        async def run(args: JsonObject, _caller: object) -> JsonObject:
            wanted = self._handoffs.request(args)
            return {"handed_over_to": wanted.target}

        return [Tool(spec, run, frozenset({UNTAGGED}))]

    async def _save(self, context: Context) -> None:
        """Keep the state, interrupted or not; whoever cancels waits no longer than the bound."""
        saving = asyncio.ensure_future(self._company.states.save(context.chat_id, self._handoffs.state))
        try:
            await asyncio.wait_for(asyncio.shield(saving), SAVE_S)
        except TimeoutError:
            saving.cancel()
        except asyncio.CancelledError:
            await asyncio.wait({saving}, timeout=SAVE_S)
            raise
