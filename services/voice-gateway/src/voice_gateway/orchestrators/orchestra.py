"""What all sessions of agents share: scenarios, text agents, tools, the store, and the providers that can be had."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from chassis.http import ServiceClient
from contracts.voice import LeavesInCalls
from voice_gateway.agent import Agent
from voice_gateway.errors import VoiceError
from voice_gateway.learning import keep_learning
from voice_gateway.live.port import RealtimeClient
from voice_gateway.opening import Senses
from voice_gateway.orchestrators.chat_store import ChatStore
from voice_gateway.orchestrators.functions import tools_in
from voice_gateway.orchestrators.ours import OurAgent
from voice_gateway.orchestrators.own_code import told
from voice_gateway.orchestrators.reading import BESIDE_NOTES, ScenarioError, load, shipped
from voice_gateway.orchestrators.retrieving import retrieve_documents
from voice_gateway.orchestrators.scenario import RETRIEVE, AgentSpec, ProviderName, Scenario
from voice_gateway.orchestrators.text_agent import TextAgent
from voice_gateway.orchestrators.toolbox import Tool, Tools
from voice_gateway.settings import Settings

log = logging.getLogger(__name__)

USUAL = "notes"
"""The scenario of a folder that brings none."""
GEMINI_URL = "https://generativelanguage.googleapis.com"


class ToolsUnusable(VoiceError):
    """A file of tools cannot be used."""

    code = "invalid_tools"


@dataclass(slots=True)
class Words:
    """The words that only the notes say, the most telling first; a :class:`~voice_gateway.learning.Learner`."""

    known: tuple[str, ...] = ()

    def learn(self, words: tuple[str, ...]) -> None:
        """From now on these."""
        self.known = words


@dataclass(frozen=True, slots=True)
class OfferedScenario:
    """A scenario that a session may name, and who is in it."""

    name: str
    start: str
    agents: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Offer:
    """What an opening may name."""

    orchestrators: tuple[str, ...]
    providers: tuple[str, ...]
    scenarios: tuple[OfferedScenario, ...]
    leaves: tuple[LeavesInCalls, ...] = ()
    problem: str | None = None
    """Why the scenario of the settings, or of the notes, cannot be used."""


@dataclass(frozen=True, slots=True)
class Orchestra:
    """One a process."""

    settings: Settings
    agent: Agent
    store: ChatStore
    tools: Tools
    senses: Senses | None = None
    words: Words = field(default_factory=Words)
    model_agent: TextAgent | None = None

    @property
    def providers(self) -> tuple[ProviderName, ...]:
        """Who may hold a session, the usual one first."""
        settings = self.settings
        there: list[ProviderName] = []
        if self.senses is not None:
            there.append("local")
        if settings.openai_api_key is not None and settings.speaks_realtime:
            there.append("openai")
        if settings.gemini_api_key is not None:
            there.append("gemini")
        return tuple(there)

    def scenario(self, named: str | None = None) -> Scenario:
        """The scenario of a name, or the usual one; :class:`ScenarioError` where it cannot be used."""
        place = self.usual_scenario if named is None else named
        if named is not None and named not in shipped():
            usual = load(self.usual_scenario, self.tools.names)
            if usual.name != named:
                there = ", ".join(sorted({*shipped(), usual.name}))
                raise ScenarioError(named, [(None, f"There is no such scenario; there are: {there}.")])
            return usual
        return load(place, self.tools.names)

    @property
    def usual_scenario(self) -> str:
        """The name or file of the scenario in force: of the settings, else of the notes, else the shipped one."""
        if self.settings.scenario:
            return self.settings.scenario
        if self.settings.folder:
            beside = Path(self.settings.folder) / BESIDE_NOTES
            with contextlib.suppress(OSError):
                if beside.is_file():
                    return str(beside)
        return USUAL

    def agent_for(self, agent: AgentSpec) -> TextAgent:
        """Who writes an agent's answers in a cascade: a model that is asked directly, or our own agent."""
        return self.model_agent or OurAgent(self.agent)

    def client(self, provider: ProviderName) -> RealtimeClient:
        """A client of a live session at a provider."""
        settings = self.settings
        if provider == "openai":
            from voice_gateway.live.clients.openai import OpenAILive

            assert settings.openai_api_key is not None
            return OpenAILive(
                settings.openai_api_key.get_secret_value(),
                base_url=settings.openai_base_url,
                transcription_model=settings.transcription_model,
            )
        from voice_gateway.live.clients.gemini import GeminiLive

        assert settings.gemini_api_key is not None
        return GeminiLive(settings.gemini_api_key.get_secret_value(), base_url=settings.gemini_base_url)

    def model(self, provider: ProviderName) -> str | None:
        """The model of a live session at a provider; None is the client's usual one."""
        return self.settings.realtime_model if provider == "openai" else self.settings.gemini_model

    def offer(self) -> Offer:
        """What an opening may name here."""
        found: dict[str, OfferedScenario] = {}
        problem: str | None = None
        for place in (self.usual_scenario, *shipped()):
            try:
                scenario = load(place, self.tools.names)
            except ScenarioError as error:
                problem = problem or error.outside
                continue
            agents = tuple(agent.name for agent in scenario.agents)
            found.setdefault(scenario.name, OfferedScenario(scenario.name, scenario.start, agents))
        providers = self.providers
        orchestrators = [
            name for name, fits in (("cascade", {"local"}), ("live", {"openai", "gemini"})) if fits & {*providers}
        ]
        return Offer(tuple(orchestrators), providers, tuple(found.values()), self._leaves(), problem)

    def _leaves(self) -> tuple[LeavesInCalls, ...]:
        """What goes to a provider from the sessions that may be opened here."""
        settings = self.settings
        leaves: list[LeavesInCalls] = []
        for provider in self.providers:
            if provider == "local":
                if settings.cascade_answers != "ours":
                    to = _host(settings.provider_url)
                    leaves.append(LeavesInCalls(orchestrator="cascade", what="questions", to=to))
                continue
            url = settings.provider_url if provider == "openai" else settings.gemini_base_url or GEMINI_URL
            leaves.append(LeavesInCalls(orchestrator="live", what="voice", to=_host(url)))
        return tuple(leaves)


def _host(url: str) -> str:
    """Whom an address belongs to, as anybody may be told: without a user or a password."""
    return urlsplit(url).netloc.rpartition("@")[2]


def check(settings: Settings) -> None:
    """Look at the files that the settings name, before anything is served; a :class:`VoiceError` is the sentence."""
    names = {RETRIEVE, *(tool.name for tool in _functions(settings))}
    if settings.mcp:
        from voice_gateway.orchestrators.mcp_servers import servers_in

        servers_in(settings.mcp)
    if settings.scenario:
        load(settings.scenario, None if settings.mcp else names)


def _functions(settings: Settings) -> list[Tool]:
    tools: list[Tool] = []
    for place in settings.tools:
        try:
            tools += tools_in(place)
        except Exception as error:
            raise ToolsUnusable(f"TALKDOWN_TOOLS: {place} cannot be used: {told(error)}") from error
    return tools


@asynccontextmanager
async def open_orchestra(
    settings: Settings, agent: Agent, agent_service: ServiceClient, retriever: ServiceClient, senses: Senses | None
) -> AsyncGenerator[Orchestra]:
    """Bring it together; its tools are closed for certain at the end."""
    tools = Tools([retrieve_documents(retriever), *await asyncio.to_thread(_functions, settings)])
    words = Words()
    async with AsyncExitStack() as stack:
        if settings.mcp:
            await stack.enter_async_context(_mcp(settings.mcp, tools))
        model_agent = await stack.enter_async_context(open_model_agent(settings))
        learning = asyncio.create_task(keep_learning(words, retriever.raw, settings.max_words))
        stack.callback(learning.cancel)
        orchestra = Orchestra(
            settings, agent, ChatStore(agent_service, timeout_s=settings.memory_s), tools, senses, words, model_agent
        )
        try:
            await asyncio.to_thread(orchestra.scenario)
        except ScenarioError as error:
            if settings.scenario and not settings.mcp:
                raise
            # A server of tools may come later, and notes are written while this runs: sessions say what is wrong.
            log.warning("the scenario cannot be used as it is", extra={"problem": error.message})
        yield orchestra


@asynccontextmanager
async def _mcp(place: str, tools: Tools) -> AsyncGenerator[None]:
    from voice_gateway.orchestrators.mcp_servers import servers_in
    from voice_gateway.orchestrators.mcp_tools import open_servers

    async with open_servers(servers_in(place), tools):
        yield


@asynccontextmanager
async def open_model_agent(settings: Settings) -> AsyncGenerator[TextAgent | None]:
    """The model that answers in a cascade, where the settings ask for one."""
    if settings.cascade_answers == "ours":
        yield None
        return
    from voice_gateway.orchestrators.models import open_model

    async with open_model(settings) as model:
        yield model
