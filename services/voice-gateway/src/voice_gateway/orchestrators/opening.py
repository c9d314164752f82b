"""A session of agents, opened as somebody wants it (O7).

::

    Opening ──> scenario, state of the chat, memory ──> cascade: LocalClient(ears, mouth, cascade)  ──┐
                                                        live:    OpenAI or Gemini, agents, tools    ──┴─> LiveSession
"""

from __future__ import annotations

import asyncio
import datetime as dt
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, Protocol

from voice_gateway.errors import Refused
from voice_gateway.live.config import RealtimeConfig
from voice_gateway.live.errors import InvalidConfig
from voice_gateway.live.events import RealtimeEvent
from voice_gateway.live.input_queue import InputQueue
from voice_gateway.live.port import Capabilities, RealtimeClient
from voice_gateway.live.runner import LiveSession
from voice_gateway.orchestrators.cascade import CascadeOrchestrator, Company
from voice_gateway.orchestrators.handoffs import Handoffs
from voice_gateway.orchestrators.live import Crew, LiveOrchestrator
from voice_gateway.orchestrators.measuring import Tally
from voice_gateway.orchestrators.memory import Recalled, recalled_for, remembered
from voice_gateway.orchestrators.minutes import Minutes
from voice_gateway.orchestrators.orchestra import Orchestra
from voice_gateway.orchestrators.port import Opening, Result, State
from voice_gateway.orchestrators.reading import ScenarioError
from voice_gateway.orchestrators.scenario import RETRIEVE, AgentSpec, ProviderName, Scenario
from voice_gateway.orchestrators.toolbox import AgentTools, Caller, Tool

MAX_VOCABULARY: Final = 100
"""Words that a session's ears are told, where its own are not more already."""
MAX_PHRASES: Final = 1000


class SilentVoice(Refused):
    """There is neither a voice on this machine nor a key of a provider: set TALKDOWN_VOICE to local, or a key."""

    code, status = "voice_silent", 503


class Session(Protocol):
    """A session as whoever carries it needs it."""

    @property
    def queue(self) -> InputQueue:
        """Where what the person says goes in."""
        ...

    def events(self) -> AsyncIterator[RealtimeEvent]:
        """What it tells, to one reader, until it is over."""
        ...

    async def interrupt(self, played_ms: int | None = None) -> None:
        """The person wants silence."""
        ...

    async def close(self) -> None:
        """End it."""
        ...


@dataclass(frozen=True, slots=True)
class Orchestrated:
    """A session that stands, and what it came to be."""

    session: Session
    config: RealtimeConfig
    capabilities: Capabilities
    orchestrator: str
    scenario: str
    agent: str


@dataclass(frozen=True, slots=True)
class _Known:
    """What is settled before anybody speaks."""

    opening: Opening
    orchestra: Orchestra
    provider: ProviderName
    scenario: Scenario
    handoffs: Handoffs
    recalled: Recalled
    fields: dict[str, str]
    tally: Tally
    minutes: Minutes

    def tools_for(self, agent: AgentSpec, extra: Sequence[Tool], live: LiveOrchestrator | None = None) -> AgentTools:
        """What an agent may use here; the tags of the session narrow it further."""
        opening = self.opening
        names = [name for name in agent.tools if opening.retrieval or name != RETRIEVE]
        caller = Caller(opening.chat_id, opening.user_id, agent.name, agent.folders)
        parent = (lambda: live.tracing.current) if live else (lambda: None)
        tools = self.orchestra.tools.bound(names, agent.tool_tags, caller, extra, parent)
        return tools.narrowed(opening.config.tool_tags)


@asynccontextmanager
async def open_orchestrated(opening: Opening, orchestra: Orchestra) -> AsyncGenerator[Orchestrated]:
    """The session for as long as the block runs.

    :class:`~voice_gateway.live.errors.InvalidConfig` says what of the opening is wrong, a
    :class:`~voice_gateway.errors.Refused` that there is no room.
    """
    provider, orchestrator = _way(opening, orchestra)
    known = await _known(opening, orchestra, provider)
    build = _cascade if orchestrator == "cascade" else _live
    session, config, capabilities = build(known)
    try:
        yield Orchestrated(session, config, capabilities, orchestrator, known.scenario.name, known.handoffs.active.name)
    finally:
        await session.close()
        await known.minutes.close()


def _way(opening: Opening, orchestra: Orchestra) -> tuple[ProviderName, str]:
    """The provider and the orchestrator: each follows from the other where one is left out."""
    there = orchestra.providers
    if not there:
        raise SilentVoice
    provider = opening.provider
    if provider is None:
        fitting = [name for name in there if opening.orchestrator is None or _fits(opening.orchestrator, name)]
        if not fitting:
            raise InvalidConfig(f"`orchestrator` cannot be `{opening.orchestrator}` here; leave it out.")
        provider = fitting[0]
    if provider not in there:
        raise InvalidConfig(f"`provider` cannot be `{provider}` here; there are: {', '.join(there)}.")
    orchestrator = opening.orchestrator or ("cascade" if provider == "local" else "live")
    if not _fits(orchestrator, provider):
        needed = "`local`" if orchestrator == "cascade" else "`openai` or `gemini`"
        raise InvalidConfig(f"`orchestrator` `{orchestrator}` needs the provider {needed}, not `{provider}`.")
    return provider, orchestrator


def _fits(orchestrator: str, provider: str) -> bool:
    return (orchestrator == "cascade") == (provider == "local")


async def _known(opening: Opening, orchestra: Orchestra, provider: ProviderName) -> _Known:
    settings = orchestra.settings
    try:
        scenario = await asyncio.to_thread(orchestra.scenario, opening.scenario)
    except ScenarioError as error:
        raise InvalidConfig(error.outside) from error
    if opening.agent is not None and scenario.find(opening.agent) is None:
        there = ", ".join(agent.name for agent in scenario.agents)
        raise InvalidConfig(f"`agent` cannot be `{opening.agent}`; in `{scenario.name}` there are: {there}.")
    if len(opening.phrases) > MAX_PHRASES:
        raise InvalidConfig(f"`phrases` has at most {MAX_PHRASES:,} words for the ears.")
    state, recalled = await asyncio.gather(
        _loaded(opening, orchestra),
        remembered(
            orchestra.store,
            opening.chat_id,
            opening.user_id,
            within_s=settings.memory_s,
            recall=settings.memory_recall,
        ),
    )
    fields = {
        **scenario.fields,
        **opening.fields,
        "scenario": scenario.name,
        "today": dt.date.today().isoformat(),
        "user_id": opening.user_id,
    }
    tally = Tally()
    minutes = Minutes(
        orchestra.store,
        opening.chat_id,
        opening.user_id,
        tally,
        transcripts=settings.keep_transcripts,
        memory=settings.memory_write,
    )
    handoffs = Handoffs(scenario, state, start=opening.agent)
    if handoffs.secluded:
        recalled = replace(recalled, earlier=())
    return _Known(opening, orchestra, provider, scenario, handoffs, recalled, fields, tally, minutes)


async def _loaded(opening: Opening, orchestra: Orchestra) -> State:
    try:
        async with asyncio.timeout(orchestra.settings.memory_s):
            return await orchestra.store.load(opening.chat_id)
    except TimeoutError:
        return State()


def _config(known: _Known) -> RealtimeConfig:
    """The session's settings, with the words that its ears listen for: its own phrases, and those of the notes."""
    opening = known.opening
    own = tuple(dict.fromkeys((*opening.phrases, *opening.config.vocabulary)))
    of_notes = known.orchestra.words.known[: max(0, MAX_VOCABULARY - len(own))]
    return opening.config.model_copy(update={"vocabulary": tuple(dict.fromkeys((*own, *of_notes)))})


def _cascade(known: _Known) -> tuple[Session, RealtimeConfig, Capabilities]:
    from voice_gateway.live.clients.local import LocalClient

    opening, orchestra, store = known.opening, known.orchestra, known.orchestra.store
    if not opening.retrieval and not orchestra.agent_for(known.handoffs.active).decides:
        raise InvalidConfig(
            "`retrieval` cannot be off here: answers come from the notes alone. Set TALKDOWN_CASCADE_ANSWERS to"
            " responses or chat for a model that can do without."
        )
    assert orchestra.senses is not None, "a local provider has ears and a mouth"
    voice, voices = opening.config.voice, orchestra.senses.means.voices
    if voice is not None and voice not in voices:
        raise InvalidConfig(f"`voice` cannot be `{voice[:64]}` here; there are: {', '.join(voices)}.")
    recall = (
        partial(recalled_for, store, opening.user_id, within_s=orchestra.settings.memory_s)
        if orchestra.settings.memory_recall
        else None
    )
    minutes = known.minutes

    def ended(said: str, result: Result, interrupted: bool) -> None:
        minutes.ended(said, result, interrupted, lines="turn_id" not in result.metadata)

    company = Company(
        orchestra.agent_for,
        known.tools_for,
        store,
        known.fields,
        known.recalled.of_person(),
        known.recalled.of_chat(),
        opening.config.instructions,
        "local",
        known.tally,
        ended,
        recall,
    )
    cascade = CascadeOrchestrator(known.handoffs, company)
    if known.handoffs.secluded:
        cascade.forget_before(0)
    client = LocalClient(orchestra.senses, cascade, opening.chat_id, played_ms=opening.played_ms)
    config = _config(known)
    tools = known.tools_for(known.handoffs.active, ())
    session = LiveSession(
        client, config, queue=InputQueue(), tools=tools, played_ms=opening.played_ms, agent=cascade.active
    )
    return session, config, client.capabilities


def _live(known: _Known) -> tuple[Session, RealtimeConfig, Capabilities]:
    opening, orchestra = known.opening, known.orchestra
    config = _config(known)
    crew = Crew(
        lambda agent, extra: known.tools_for(agent, extra, live),
        orchestra.store,
        known.fields,
        known.recalled.of_person(),
        known.recalled.of_chat(),
        opening.config.instructions,
        known.provider,
        config.voice,
        known.tally,
    )
    live = LiveOrchestrator(opening.chat_id, known.handoffs, crew, known.minutes.ended, parent=opening.traceparent)
    handle = known.handoffs.state.resume_handle
    part = live.begin()
    client: RealtimeClient = orchestra.client(known.provider)
    config = config.model_copy(
        update={
            "instructions": part.instructions,
            "voice": part.voice,
            "model": config.model or orchestra.model(known.provider),
        }
    )
    session = LiveSession(
        client,
        config,
        queue=InputQueue(),
        tools=part.tools,
        transcripts=known.minutes,
        resume_handle=handle,
        played_ms=opening.played_ms,
        agent=part.agent,
    )
    live.lead(session)
    return live, config, client.capabilities
