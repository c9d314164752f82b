"""Talkdown's own agent as a text agent: asked within folders, interrupted with what was heard."""

from __future__ import annotations

import asyncio
import datetime as dt
from contextlib import aclosing
from typing import Any
from uuid import uuid4

import pytest
from orch_fakes import CHAT, until
from voice_fakes import FakeAgent, serving
from voice_session_fakes import HandAgent

from chassis.frames import FrameHub
from chassis.http import open_client
from chassis.redis import connect
from contracts.frames import AnyFrame, Done, Error
from contracts.frames import Delta as DeltaFrame
from contracts.search import Filter
from contracts.turns import CancelRequested
from voice_gateway.agent import HttpAgent
from voice_gateway.errors import AgentUnreachable, AnswerFailed
from voice_gateway.orchestrators.ours import OurAgent, OurTurn
from voice_gateway.orchestrators.text_agent import Accepted, Asked, Delta

SINCE = dt.datetime(2026, 3, 14, 9, 26, tzinfo=dt.UTC)
WHOLE: tuple[AnyFrame, ...] = (DeltaFrame(text="The code "), Done(answer="The code is ORCHID-47.", sources=()))


def turn_of(agent: HandAgent, text: str = "The code?") -> OurTurn:
    return OurAgent(agent).begin(Asked(CHAT, text, (), within=Filter(folders=("safety",)), since=SINCE))


async def written(turn: OurTurn) -> list[Any]:
    async with aclosing(turn.round(())) as parts:
        return [part async for part in parts]


async def test_it_is_asked_within_the_folders_and_gives_what_the_answer_holds_to_its_end() -> None:
    agent = HandAgent(WHOLE)
    accepted, *deltas = await written(turn_of(agent))
    assert isinstance(accepted, Accepted)
    assert accepted.turn_id == agent.turns[0]
    assert deltas == [Delta("The code "), Delta("is ORCHID-47.")]
    assert (agent.asked, agent.within, agent.since) == (["The code?"], [Filter(folders=("safety",))], [SINCE])
    assert agent.how == []


async def test_a_turn_that_is_broken_off_is_interrupted_there_with_what_was_heard() -> None:
    agent = HandAgent((DeltaFrame(text="The code "),))
    turn = turn_of(agent)
    reading = asyncio.create_task(written(turn))
    await until(lambda: agent.following)
    turn.heard(3)
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading
    assert agent.how == [CancelRequested(reason="interrupted", heard=3)]


async def test_a_question_on_its_way_is_withdrawn_and_one_that_nobody_heard_of_counts_as_unheard() -> None:
    agent = HandAgent(WHOLE, hold=asyncio.Event())
    turn = turn_of(agent)
    reading = asyncio.create_task(written(turn))
    await until(lambda: agent.asked)
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading
    assert agent.how == [CancelRequested(reason="interrupted", heard=0)]


async def test_an_answer_that_is_interrupted_after_its_end_is_told_once_with_what_was_heard() -> None:
    agent = HandAgent(WHOLE)
    turn = turn_of(agent)
    await written(turn)
    turn.heard(4)
    turn.heard(9)
    assert agent.how == [CancelRequested(reason="interrupted", heard=4)]


async def test_a_failed_turn_is_its_sentence_and_is_not_interrupted_too() -> None:
    agent = HandAgent((Error(code="model_failed", message="The model did not finish; ask again."),))
    with pytest.raises(AnswerFailed, match="did not finish") as caught:
        await written(turn_of(agent))
    assert caught.value.failure == "model_failed"
    assert agent.how == []


@pytest.mark.parametrize(("text", "says"), [(" ", "Nothing was asked"), ("x" * 2001, "longer than a question may be")])
async def test_what_is_no_question_is_not_asked(text: str, says: str) -> None:
    agent = HandAgent(WHOLE)
    with pytest.raises(AnswerFailed, match=says):
        await written(turn_of(agent, text))
    assert agent.asked == []


async def test_an_agent_that_is_gone_is_said_to_be_so() -> None:
    agent = HandAgent(WHOLE, failure=AgentUnreachable())
    with pytest.raises(AgentUnreachable):
        await written(turn_of(agent))


async def test_over_http_the_folders_and_the_moment_reach_the_agent(agent: FakeAgent, valkey_url: str) -> None:
    async with serving(agent.app()) as url, open_client(url, "agent") as client:
        redis = connect(valkey_url)
        async with FrameHub(redis) as frames:
            http = HttpAgent(client, frames)
            asked = Asked(uuid4(), "The code?", (), within=Filter(folders=("safety",)), since=SINCE)
            async with aclosing(OurAgent(http).begin(asked).round(())) as parts:
                deltas = [part.text async for part in parts if isinstance(part, Delta)]
            await http.close()
        await redis.aclose()
    assert "".join(deltas) == "The code is ORCHID-47 [1]."
    assert (agent.asked[0].filter.folders, agent.asked[0].history_since) == (("safety",), SINCE)
