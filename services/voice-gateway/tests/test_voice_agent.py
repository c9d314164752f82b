"""Following a turn when its agent, its frames, or its worker are gone."""

from __future__ import annotations

import asyncio
import datetime as dt
from collections.abc import AsyncGenerator
from uuid import UUID, uuid4

import pytest
from voice_fakes import FakeAgent, answer_whole, begin_only, serving, until

from chassis.frames import FrameHub
from chassis.http import open_client
from chassis.redis import open_redis
from contracts.frames import AnyFrame, Delta, Done, Error
from contracts.turns import Turn, TurnStatus
from voice_gateway.agent import HttpAgent
from voice_gateway.errors import AgentUnreachable, AnswerLost


@pytest.fixture
async def asking(agent: FakeAgent, valkey_url: str) -> AsyncGenerator[HttpAgent]:
    async with (
        serving(agent.app()) as url,
        open_client(url, "agent") as client,
        open_redis(valkey_url) as redis,
        FrameHub(redis) as hub,
    ):
        asking = HttpAgent(client, hub, silent_s=0.05, lost_s=4.0)
        yield asking
        await asking.close()


def stored(turn_id: UUID, status: TurnStatus, **changed: object) -> Turn:
    now = dt.datetime.now(dt.UTC)
    turn = Turn(turn_id=turn_id, chat_id=uuid4(), trace_id="0" * 32, question="?", status=status, asked_at=now)
    return turn.model_copy(update={"heartbeat_at": now, **changed})


async def read(asking: HttpAgent, turn_id: UUID) -> list[AnyFrame]:
    return [frame async for frame in asking.follow(turn_id)]


async def test_frames_are_followed_to_the_last_one(asking: HttpAgent, agent: FakeAgent) -> None:
    turn = await asking.ask(uuid4(), "What is the code?")
    frames = await read(asking, turn.turn_id)
    assert [frame.type for frame in frames] == ["accepted", "status", "delta", "delta", "done"]


async def test_a_slow_answer_is_waited_for_while_its_heart_beats(asking: HttpAgent, agent: FakeAgent) -> None:
    agent.play = begin_only
    turn = await asking.ask(uuid4(), "What is the code?")
    agent.stored[turn.turn_id] = stored(turn.turn_id, "running")
    frames = asking.follow(turn.turn_id)
    while not isinstance(await anext(frames), Delta):
        pass
    rest = asyncio.create_task(anext(frames))
    await until(lambda: len(agent.looked) >= 3)
    assert not rest.done()
    await agent.write(turn.turn_id, Done(answer="The code ", sources=()))
    assert await rest == Done(answer="The code ", sources=())
    await frames.aclose()


async def test_a_turn_whose_frames_are_gone_is_told_from_what_is_stored(asking: HttpAgent, agent: FakeAgent) -> None:
    turn_id = uuid4()
    agent.stored[turn_id] = stored(turn_id, "completed", answer="The code is ORCHID-47.")
    assert await read(asking, turn_id) == [Done(answer="The code is ORCHID-47.", sources=())]


@pytest.mark.parametrize("status", ["failed", "cancelled", "interrupted"])
async def test_a_turn_that_ended_otherwise_is_told_with_its_sentence(
    asking: HttpAgent, agent: FakeAgent, status: TurnStatus
) -> None:
    turn_id = uuid4()
    agent.stored[turn_id] = stored(turn_id, status, error_code="deadline", error_message="Too long; ask again.")
    assert await read(asking, turn_id) == [Error(code="deadline", message="Too long; ask again.")]


async def test_a_turn_whose_heart_stopped_is_lost(asking: HttpAgent, agent: FakeAgent) -> None:
    turn_id = uuid4()
    beat = dt.datetime.now(dt.UTC) - dt.timedelta(seconds=10)
    agent.stored[turn_id] = stored(turn_id, "running", heartbeat_at=beat)
    with pytest.raises(AnswerLost):
        await read(asking, turn_id)


async def test_an_agent_that_does_not_answer_is_said_to_be_unavailable(valkey_url: str) -> None:
    async with (
        open_client("http://127.0.0.1:9", "agent") as client,
        open_redis(valkey_url) as redis,
        FrameHub(redis) as hub,
    ):
        asking = HttpAgent(client, hub, silent_s=0.05)
        with pytest.raises(AgentUnreachable):
            await asking.ask(uuid4(), "What is the code?")
        with pytest.raises(AgentUnreachable):
            await read(asking, uuid4())


async def test_without_redis_the_agent_says_what_became_of_the_turn(agent: FakeAgent) -> None:
    agent.play = answer_whole
    turn_id = uuid4()
    agent.stored[turn_id] = stored(turn_id, "completed", answer="Stored.")
    async with (
        serving(agent.app()) as url,
        open_client(url, "agent") as client,
        open_redis("redis://127.0.0.1:9/0") as redis,
        FrameHub(redis) as hub,
    ):
        asking = HttpAgent(client, hub, silent_s=0.05)
        assert await read(asking, turn_id) == [Done(answer="Stored.", sources=())]
