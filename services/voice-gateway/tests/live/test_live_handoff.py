"""An agent gives the floor to another from inside its tool (L1, L3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from live_fakes import LIKE_GEMINI, LIKE_OPENAI, Diary, ScriptedClient, Tools, reading
from virtual_time import in_virtual_time

from contracts.vocabulary import JsonObject
from voice_gateway.live.config import RealtimeConfig
from voice_gateway.live.errors import ConnectionLost
from voice_gateway.live.events import (
    AgentChanged,
    InputTranscript,
    OutputTranscript,
    Reconnecting,
    ResponseEnded,
    ResponseStarted,
    ToolCall,
    TurnComplete,
)
from voice_gateway.live.input_queue import InputQueue
from voice_gateway.live.port import Capabilities, Line, Part, ToolSpec
from voice_gateway.live.runner import LiveSession
from voice_gateway.live.seeding import HANDED


class Concierge:
    """Hands over to the safety agent when its one tool is called."""

    def __init__(self, *, voice: str | None = None, shares_context: bool = True) -> None:
        self.session: LiveSession
        self._part = Part(
            "safety", ("You are the safety agent.",), Tools(), voice, shares_context, reason="about a valve"
        )

    def specs(self, tags: Sequence[str] | None = None) -> Sequence[ToolSpec]:
        return [ToolSpec("hand_over", "Hand over.", {"type": "object", "properties": {}})]

    async def call(self, name: str, args: JsonObject) -> JsonObject:
        await self.session.switch(self._part)
        return {"handed_over": True}


async def handed_over(client: ScriptedClient, tools: Concierge) -> LiveSession:
    """A question, a handoff with a few words, and the answer of the other agent."""
    diary = Diary()
    tools.session = LiveSession(
        client, RealtimeConfig(voice="marin"), queue=InputQueue(), tools=tools, hooks=[diary], agent="concierge"
    )
    async with reading(tools.session.events()) as reader:
        await client.until(lambda: bool(client.connects))
        client.tell(InputTranscript(text="Is the valve safe?", finished=True), ResponseStarted(response_id="r1"))
        client.tell(OutputTranscript(text="One moment.", finished=True))
        client.tell(ToolCall(id="c1", name="hand_over", args={}), OutputTranscript(text="I am still talking."))
        client.tell(ResponseEnded(response_id="r1", calls=("c1",)))
        changed = await reader.until(AgentChanged)
        assert (changed.agent, changed.previous, changed.reason) == ("safety", "concierge", "about a valve")
        await client.until(lambda: client.count("respond") + client.count("text") == 1)
        client.tell(ResponseStarted(response_id="r2"), OutputTranscript(text="It is.", finished=True))
        client.tell(ResponseEnded(response_id="r2"))
        await reader.until(TurnComplete)
        assert [event.text for event in reader.all(OutputTranscript)] == ["One moment.", "It is."]
        assert not [event for event in reader.all(Reconnecting) if event.reason != "drop"], "nothing was lost"
    assert diary.entries[1:3] == ["turn 1", "end 1"], "a handoff is within the turn"
    assert tools.session.history == (Line("user", "Is the valve safe?"), Line("assistant", "One moment. It is."))
    return tools.session


@pytest.mark.behaviour("L1")
def test_within_the_connection_the_result_is_sent_and_the_other_agent_answers() -> None:
    async def scene() -> None:
        client = ScriptedClient(LIKE_OPENAI)
        await handed_over(client, Concierge())
        assert len(client.connects) == 1
        (config,) = client.all("update")
        assert isinstance(config, RealtimeConfig)
        assert config.instructions == ("You are the safety agent.",)
        assert client.all("result") == [("c1", {"handed_over": True})]
        assert client.count("respond") == 1

    in_virtual_time(scene())


@pytest.mark.behaviour("L1", "L3")
@pytest.mark.parametrize(
    ("can", "voice"), [(LIKE_GEMINI, None), (LIKE_OPENAI, "cedar"), (replace(LIKE_OPENAI, session_s=3_600.0), "cedar")]
)
def test_over_a_new_connection_the_question_is_asked_again_and_no_result_sent(
    can: Capabilities, voice: str | None
) -> None:
    async def scene() -> None:
        client = ScriptedClient(can)
        await handed_over(client, Concierge(voice=voice))
        first, second = client.connects
        assert (second.handle, second.tools) == (None, ())
        assert second.config.instructions == ("You are the safety agent.",)
        assert second.config.voice == (voice or first.config.voice)
        assert client.all("text") == ["Is the valve safe?"]
        assert client.count("result") == client.count("respond") == 0

    in_virtual_time(scene())


@pytest.mark.behaviour("L1")
def test_a_context_that_is_not_shared_stays_with_the_agent_before() -> None:
    async def scene() -> None:
        client = ScriptedClient(LIKE_OPENAI)
        await handed_over(client, Concierge(shares_context=False))
        assert len(client.connects) == 2, "what a connection knows cannot be taken back"
        assert client.all("text") == [HANDED]
        assert client.count("reseed") == 0

    in_virtual_time(scene())


@pytest.mark.behaviour("L1", "L3")
def test_what_an_agent_may_not_know_it_is_not_told_after_a_lost_connection_either() -> None:
    async def scene() -> None:
        client = ScriptedClient(LIKE_OPENAI)
        session = LiveSession(client, RealtimeConfig(), queue=InputQueue(), tools=Tools())
        async with reading(session.events()) as reader:
            await client.until(lambda: bool(client.connects))
            for number, question in enumerate(("A secret", "A question"), 1):
                client.tell(InputTranscript(text=question, finished=True), ResponseStarted(response_id=f"r{number}"))
                client.tell(OutputTranscript(text="Yes.", finished=True), ResponseEnded(response_id=f"r{number}"))
                await reader.until(TurnComplete, number)
                if number == 1:
                    await session.switch(Part("other", ("You are new.",), Tools(), shares_context=False))
            client.drop()
            await client.until(lambda: client.count("reseed") == 1)
        assert client.all("reseed") == [(Line("user", "A question"), Line("assistant", "Yes."))]
        assert session.history[0] == Line("user", "A secret"), "the conversation itself is whole"

    in_virtual_time(scene())


@pytest.mark.behaviour("L3")
def test_a_handoff_whose_connection_fails_is_made_by_the_next_one() -> None:
    async def scene() -> None:
        client = ScriptedClient(LIKE_GEMINI)
        client.refusals = [None, ConnectionLost(), ConnectionLost()]
        await handed_over(client, Concierge())
        assert len(client.connects) == 4
        assert client.all("text") == ["Is the valve safe?"]

    in_virtual_time(scene())
