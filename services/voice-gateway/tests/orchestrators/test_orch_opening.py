"""O7: a session is opened with its settings, and a wrong one is refused in a sentence."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from orch_fakes import CHAT, SCENARIO, ScriptedAgent
from orch_house import NOW, House, housed
from orch_provider import GEMINI, OPENAI, Provider
from pydantic import SecretStr
from voice_session_fakes import HandAgent

from chassis.http import open_client
from contracts.frames import Delta, Done
from contracts.live import ChatLine, ChatState, Memory
from contracts.search import Filter
from voice_gateway.live.config import RealtimeConfig
from voice_gateway.live.errors import InvalidConfig
from voice_gateway.live.events import (
    AgentChanged,
    AudioDelta,
    InputTranscript,
    OutputTranscript,
    RealtimeEvent,
    ResponseEnded,
    ResponseStarted,
    ToolCall,
    ToolResult,
    TurnComplete,
    Usage,
)
from voice_gateway.opening import Senses
from voice_gateway.orchestrators.opening import Orchestrated, SilentVoice, open_orchestrated
from voice_gateway.orchestrators.orchestra import Orchestra, ToolsUnusable, open_orchestra
from voice_gateway.orchestrators.port import Opening
from voice_gateway.orchestrators.reading import ScenarioError
from voice_gateway.scripted import ScriptedEars, ScriptedMouth
from voice_gateway.settings import Settings

pytestmark = pytest.mark.behaviour("O7")
ANSWER = (Delta(text="The code is ORCHID-47 [1]."), Done(answer="The code is ORCHID-47 [1].", sources=()))


@pytest.fixture
async def house() -> AsyncIterator[House]:
    async with housed() as house:
        yield house


@asynccontextmanager
async def orchestra(
    house: House, tmp_path: Path, agent: HandAgent | None = None, *, senses: bool = True, **settings: Any
) -> AsyncGenerator[Orchestra]:
    (tmp_path / "talkdown.yaml").write_text(SCENARIO.replace("tools: [retrieve_documents, echo]", ""))
    chosen = Settings().model_copy(update={"folder": str(tmp_path), "memory_s": 0.5, **settings})
    ears = Senses(ScriptedEars((), 4), ScriptedMouth()) if senses else None
    async with (
        open_client(house.url, "agent") as service,
        open_client(house.url, "retriever") as retriever,
        open_orchestra(chosen, agent or HandAgent(ANSWER), service, retriever, ears) as made,
    ):
        async with asyncio.timeout(5):
            while not made.words.known:  # noqa: ASYNC110 - who learns tells nobody
                await asyncio.sleep(0.01)
        yield made


def serve(monkeypatch: pytest.MonkeyPatch, provider: Provider) -> None:
    """Whoever is asked for, it is this provider."""

    def client(_: Orchestra, name: str) -> Provider:
        return provider

    monkeypatch.setattr(Orchestra, "client", client)


async def told(opened: Orchestrated, kind: type[RealtimeEvent], count: int = 1) -> list[RealtimeEvent]:
    """What the session tells until so many of a kind are there."""
    events: list[RealtimeEvent] = []
    async with asyncio.timeout(10):
        async for event in opened.session.events():
            events.append(event)
            if sum(isinstance(one, kind) for one in events) == count:
                return events
    raise AssertionError(f"only {events}")


async def test_a_typed_question_is_answered_aloud_in_a_cascade_and_the_state_is_kept(
    house: House, tmp_path: Path
) -> None:
    agent = HandAgent(ANSWER)
    async with orchestra(house, tmp_path, agent) as made, open_orchestrated(Opening(CHAT), made) as opened:
        assert (opened.orchestrator, opened.scenario, opened.agent) == ("cascade", "house", "concierge")
        assert opened.config.vocabulary == ("ORCHID-47", "Fern House")
        opened.session.queue.send_text("What is the code?")
        events = await told(opened, TurnComplete)
    assert any(isinstance(event, AudioDelta) for event in events)
    said = [event.text for event in events if isinstance(event, OutputTranscript)]
    assert "ORCHID-47" in "".join(said)
    assert "[1]" not in "".join(said)
    assert house.states[str(CHAT)].active == "concierge"
    assert [turn.said for _, turn in house.remembered] == ["What is the code?"]
    assert house.lines == []  # the agent keeps its own turns


async def test_a_phrase_changes_hands_in_a_cascade_and_the_specialist_searches_in_its_folder(
    house: House, tmp_path: Path
) -> None:
    agent = HandAgent(ANSWER)
    async with orchestra(house, tmp_path, agent) as made, open_orchestrated(Opening(CHAT), made) as opened:
        opened.session.queue.send_text("Safety specialist, what is the code?")
        events = await told(opened, TurnComplete)
    changed = [event for event in events if isinstance(event, AgentChanged)]
    assert [event.agent for event in changed] == ["safety"]
    assert agent.asked == ["what is the code?"]
    assert agent.within == [Filter(folders=("safety",))]
    assert house.states[str(CHAT)] == ChatState(active="safety", visited=("safety",))
    async with orchestra(house, tmp_path, agent) as made, open_orchestrated(Opening(CHAT), made) as opened:
        assert opened.agent == "safety"


async def test_a_live_session_is_opened_with_agent_phrases_voice_memory_and_fields(
    house: House, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider = Provider(OPENAI)
    serve(monkeypatch, provider)
    house.facts = ("My name is Mara.",)
    opening = Opening(
        CHAT,
        provider="openai",
        agent="safety",
        phrases=("Merrow",),
        config=RealtimeConfig(instructions=("Speak slowly, {visitor}.",), voice="cedar", vocabulary=("quay",)),
        fields={"visitor": "Mara"},
    )
    async with (
        orchestra(house, tmp_path, openai_api_key=SecretStr("k")) as made,
        open_orchestrated(opening, made) as opened,
    ):
        assert (opened.orchestrator, opened.agent) == ("live", "safety")
        reading = asyncio.create_task(told(opened, TurnComplete))
        await provider.until(lambda: provider.configs)
        provider.tell(InputTranscript(text="Hello.", finished=True), ResponseStarted(response_id="r1"))
        provider.tell(OutputTranscript(text="Yes?", finished=True), ResponseEnded(response_id="r1"))
        provider.tell(Usage(response_id="r1", model="m", input_tokens=5, output_tokens=6))
        await reading
        config = provider.configs[0]
    assert config.vocabulary == ("Merrow", "quay", "ORCHID-47", "Fern House")
    assert config.voice == "high"  # the agent's own, before the session's
    assert config.model == "gpt-realtime-2.1"
    assert "My name is Mara." in config.instructions[0]
    assert config.instructions[1:] == ("You keep Mara safe.", "Speak slowly, Mara.")
    assert ("user", "Hello.", "") in house.lines
    assert ("assistant", "Yes?", "") in house.lines


async def test_retrieval_is_a_tool_that_searches_in_the_agents_folders_and_can_be_left_out(
    house: House, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider = Provider(GEMINI)
    serve(monkeypatch, provider)
    opening = Opening(CHAT, provider="gemini", agent="safety")
    async with orchestra(house, tmp_path, gemini_api_key=SecretStr("k")) as made:
        async with open_orchestrated(opening, made) as opened:
            reading = asyncio.create_task(told(opened, ToolResult))
            await provider.until(lambda: provider.configs)
            provider.tell(InputTranscript(text="The code?", finished=True))
            provider.dispatch("r1", ToolCall(id="c", name="retrieve_documents", args={"query": "code"}))
            result = (await reading)[-1]
        assert isinstance(result, ToolResult)
        assert result.result["passages"] == []
        assert "the notes do not hold it" in result.result["notice"]
        assert house.searched[0].filter == Filter(folders=("safety",))
        assert provider.tools[0] == ("retrieve_documents", "hand_over")
        async with open_orchestrated(replace(opening, retrieval=False), made) as opened:
            reading = asyncio.create_task(told(opened, ToolResult))
            await provider.until(lambda: len(provider.tools) == 2)
            reading.cancel()
            assert provider.tools[1] == ("hand_over",)


@pytest.mark.parametrize(
    ("opening", "says"),
    [
        (Opening(CHAT, provider="gemini"), "`provider` cannot be `gemini` here; there are: local, openai"),
        (Opening(CHAT, orchestrator="live", provider="local"), "`live` needs the provider `openai` or `gemini`"),
        (Opening(CHAT, orchestrator="cascade", provider="openai"), "`cascade` needs the provider `local`"),
        (Opening(CHAT, agent="butler"), "`agent` cannot be `butler`; in `house` there are: concierge, safety, secret"),
        (Opening(CHAT, scenario="manor"), "There is no such scenario; there are: house, notes"),
        (Opening(CHAT, retrieval=False), "`retrieval` cannot be off here"),
        (Opening(CHAT, phrases=("x",) * 1001), "`phrases` has at most 1,000 words"),
    ],
)
async def test_what_cannot_be_opened_is_refused_in_a_sentence(
    house: House, tmp_path: Path, opening: Opening, says: str
) -> None:
    async with orchestra(house, tmp_path, openai_api_key=SecretStr("k")) as made:
        with pytest.raises(InvalidConfig) as caught:
            async with open_orchestrated(opening, made):
                pass
    assert says in caught.value.message


async def test_no_phrase_of_a_session_gives_way_to_the_words_of_the_notes(house: House, tmp_path: Path) -> None:
    phrases = tuple(f"word {number}" for number in range(150))
    async with orchestra(house, tmp_path) as made:
        async with open_orchestrated(Opening(CHAT, phrases=phrases), made) as opened:
            assert opened.config.vocabulary == phrases
        async with open_orchestrated(Opening(CHAT, phrases=phrases[:99]), made) as opened:
            assert opened.config.vocabulary == (*phrases[:99], "ORCHID-47")


async def test_without_a_voice_or_a_key_there_is_no_session(house: House, tmp_path: Path) -> None:
    async with orchestra(house, tmp_path, senses=False) as made:
        assert made.offer().orchestrators == ()
        with pytest.raises(SilentVoice):
            async with open_orchestrated(Opening(CHAT), made):
                pass


CHAT_ONLY: dict[str, Any] = {"openai_api_key": SecretStr("none"), "openai_base_url": "https://me:pw@models.lan/v1"}


@pytest.mark.parametrize(
    ("settings", "providers", "leaves"),
    [
        ({}, ("local",), []),
        (CHAT_ONLY, ("local",), []),
        ({**CHAT_ONLY, "cascade_answers": "chat"}, ("local",), [("cascade", "questions", "models.lan")]),
        ({**CHAT_ONLY, "realtime": True}, ("local", "openai"), [("live", "voice", "models.lan")]),
        ({**CHAT_ONLY, "voice": "openai"}, ("local", "openai"), [("live", "voice", "models.lan")]),
        ({"openai_api_key": SecretStr("k")}, ("local", "openai"), [("live", "voice", "api.openai.com")]),
        (
            {**CHAT_ONLY, "gemini_api_key": SecretStr("g")},
            ("local", "gemini"),
            [("live", "voice", "generativelanguage.googleapis.com")],
        ),
    ],
)
async def test_a_provider_that_speaks_is_offered_where_one_was_set_and_what_leaves_is_told(
    house: House,
    tmp_path: Path,
    settings: dict[str, Any],
    providers: tuple[str, ...],
    leaves: list[tuple[str, str, str]],
) -> None:
    async with orchestra(house, tmp_path, **settings) as made:
        offer = made.offer()
    assert offer.providers == providers
    assert ("live" in offer.orchestrators) == (len(providers) > 1)
    assert [(one.orchestrator, one.what, one.to) for one in offer.leaves] == leaves


async def test_what_may_be_named_is_offered_and_a_broken_scenario_is_told(house: House, tmp_path: Path) -> None:
    async with orchestra(house, tmp_path, openai_api_key=SecretStr("k")) as made:
        offer = made.offer()
        assert (offer.orchestrators, offer.providers, offer.problem) == (("cascade", "live"), ("local", "openai"), None)
        assert [one.name for one in offer.scenarios] == ["house", "notes"]
        assert offer.scenarios[0].agents == ("concierge", "safety", "secret")
        (tmp_path / "talkdown.yaml").write_text("name: house\n")
        assert [one.name for one in made.offer().scenarios] == ["notes"]
        assert (made.offer().problem or "").startswith("talkdown.yaml, line 1: ")
        with pytest.raises(InvalidConfig, match="has no `start`") as refused:
            async with open_orchestrated(Opening(CHAT), made):
                pass
        assert str(tmp_path) not in refused.value.message, "where the notes lie is nobody's business"
        with pytest.raises(ScenarioError, match=r"talkdown\.yaml") as told_here:
            made.scenario()
        assert str(tmp_path) in told_here.value.message, "who runs this is told the whole path"
        async with open_orchestrated(Opening(CHAT, scenario="notes"), made) as opened:
            assert opened.scenario == "notes"


@pytest.mark.parametrize("voice", ["../../x", "Pavarotti"])
async def test_a_voice_that_this_machine_lacks_is_refused_before_the_session_is_said_to_stand(
    house: House, tmp_path: Path, voice: str
) -> None:
    async with orchestra(house, tmp_path) as made:
        with pytest.raises(InvalidConfig, match=r"`voice` cannot be .*; there are: tone"):
            async with open_orchestrated(Opening(CHAT, config=RealtimeConfig(voice=voice)), made):
                pass
        async with open_orchestrated(Opening(CHAT, config=RealtimeConfig(voice="tone")), made) as opened:
            assert opened.config.voice == "tone"


async def test_a_folder_without_a_scenario_has_the_usual_one(house: House, tmp_path: Path) -> None:
    async with orchestra(house, tmp_path) as made:
        (tmp_path / "talkdown.yaml").unlink()
        async with open_orchestrated(Opening(CHAT), made) as opened:
            assert (opened.scenario, opened.agent) == ("notes", "notes")


async def test_a_scenario_or_tools_of_the_settings_that_are_wrong_stop_the_start(house: House, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("def tide(day):\n    'When.'\n")
    with pytest.raises(ScenarioError):
        async with orchestra(house, tmp_path, scenario=str(tmp_path / "none.yaml")):
            pass
    with pytest.raises(ToolsUnusable, match="has no type hint"):
        async with orchestra(house, tmp_path, tools=(str(tmp_path / "mine.py"),)):
            pass


@pytest.mark.behaviour("L7")
@pytest.mark.parametrize("how", ["hangs", "fails"])
async def test_a_store_that_hangs_or_fails_opens_the_session_all_the_same(
    house: House, tmp_path: Path, how: str
) -> None:
    house.memories = (Memory(chat_id=CHAT, said="x", answered="y", said_at=NOW),)
    async with orchestra(house, tmp_path) as made:
        setattr(house, how, True)
        async with asyncio.timeout(5):
            async with open_orchestrated(Opening(CHAT), made) as opened:
                assert opened.agent == "concierge"
                opened.session.queue.send_text("What is the code?")
                await told(opened, TurnComplete)


@pytest.mark.behaviour("L10")
async def test_the_tags_of_a_session_narrow_what_a_cascades_model_may_call(house: House, tmp_path: Path) -> None:
    writer = ScriptedAgent([["Yes, of course."], ["Yes, of course."]])
    async with orchestra(house, tmp_path) as plain:
        made = replace(plain, model_agent=writer)
        for tags in (None, ("other",)):
            opening = Opening(CHAT, config=RealtimeConfig(tool_tags=tags), retrieval=True)
            async with open_orchestrated(opening, made) as opened:
                opened.session.queue.send_text("Is it open?")
                await told(opened, TurnComplete)
    assert [[spec.name for spec in asked.tools] for asked in writer.asked] == [
        ["retrieve_documents", "hand_over"],
        ["hand_over"],
    ]
    assert [line[1] for line in house.lines] == ["Is it open?", "Yes, of course."] * 2


@pytest.mark.behaviour("O4")
async def test_an_agent_that_shares_no_context_is_told_nothing_of_the_chat_in_a_later_session_either(
    house: House, tmp_path: Path
) -> None:
    agent = HandAgent(ANSWER)
    house.earlier = (ChatLine(role="user", text="A secret.", said_at=NOW),)
    house.states[str(CHAT)] = ChatState(active="secret", visited=("concierge", "secret"))
    async with orchestra(house, tmp_path, agent) as made:
        for expected in (True, False):
            async with open_orchestrated(Opening(CHAT), made) as opened:
                opened.session.queue.send_text("Hello?")
                await told(opened, TurnComplete)
            assert (agent.since[-1] is not None) is expected
            house.states[str(CHAT)] = ChatState(active="safety", visited=("concierge", "safety"))
