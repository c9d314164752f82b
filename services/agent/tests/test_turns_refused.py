"""What is refused before anything is stored: too many turns, and a Redis that is gone."""

from __future__ import annotations

import asyncio
from uuid import uuid4

import pytest
from agent_fakes import PiecewiseAnswerer
from agent_rig import Rig, rig, types
from redis.asyncio import Redis

from agent.accepting import Limits
from agent.errors import NotAccepting, StorageFull, TooManyTurns
from chassis.frames import FrameWriter
from chassis.postgres import Pool
from chassis.redis import connect


async def stored(pool: Pool) -> int:
    async with pool.connection() as connection:
        row = await (await connection.execute("select count(*) as turns from agent.turns")).fetchone()
    assert row is not None
    return row["turns"]


@pytest.mark.behaviour("T2")
async def test_the_fifth_open_turn_of_a_chat_is_refused_with_a_plain_sentence_and_a_time_to_wait(
    pool: Pool, redis: Redis
) -> None:
    async with rig(pool, redis, works=False, sweeps=False) as agent:
        chat = uuid4()
        for number in range(4):
            await agent.ask(f"Question {number}?", chat)
        with pytest.raises(TooManyTurns, match="4 questions of this chat are still open") as refused:
            await agent.ask("One more?", chat)
        assert (refused.value.status, refused.value.retry_after) == (429, 2)
        assert await stored(pool) == 4
        await agent.ask("Another chat?")


@pytest.mark.behaviour("T2")
async def test_the_hundred_and_first_chat_is_refused_while_the_others_may_go_on(pool: Pool, redis: Redis) -> None:
    async with rig(pool, redis, works=False, sweeps=False) as agent:
        chats = [uuid4() for _ in range(100)]
        await asyncio.gather(*(agent.ask(chat_id=chat) for chat in chats))
        with pytest.raises(TooManyTurns):
            await agent.ask()
        await agent.ask("A second question in an open chat?", chats[0])
        assert await stored(pool) == 101


@pytest.mark.behaviour("T2")
async def test_the_limits_hold_exactly_when_everybody_asks_two_agents_at_once(pool: Pool, redis: Redis) -> None:
    chat = uuid4()

    async def ask(agent: Rig) -> bool:
        try:
            await agent.ask(chat_id=chat)
        except TooManyTurns:
            return False
        return True

    async with (
        rig(pool, redis, works=False, sweeps=False) as one,
        rig(pool, redis, works=False, sweeps=False) as two,
    ):
        taken = await asyncio.gather(*(ask(agent) for agent in (one, two) * 8))
    assert taken.count(True) == 4


@pytest.mark.behaviour("T2")
async def test_a_chat_takes_another_question_when_one_of_its_turns_has_ended(pool: Pool, redis: Redis) -> None:
    answerer = PiecewiseAnswerer(gate=(gate := asyncio.Semaphore(0)))
    async with rig(pool, redis, answerer=answerer, limits=Limits(turns_in_chat=1)) as agent:
        first = await agent.ask(chat_id=(chat := uuid4()))
        with pytest.raises(TooManyTurns):
            await agent.ask(chat_id=chat)
        for _ in range(8):
            gate.release()
        await agent.ended(first.turn_id)
        await agent.ended((await agent.ask(chat_id=chat)).turn_id)


@pytest.mark.behaviour("T1", "T5")
async def test_a_question_whose_first_frame_cannot_be_written_is_not_stored(pool: Pool, redis: Redis) -> None:
    gone = connect("redis://127.0.0.1:9/0")
    async with rig(pool, redis, works=False, sweeps=False) as agent:
        reception = type(agent.reception)(
            agent.pool, FrameWriter(gone), agent.bus, agent.workers.wake, agent.reception.limits
        )
        object.__setattr__(agent, "reception", reception)
        with pytest.raises(NotAccepting):
            await agent.ask()
        assert await stored(pool) == 0
        assert agent.bus.events == []
    await gone.aclose()


@pytest.mark.behaviour("T1", "T5")
async def test_a_full_disk_is_called_by_its_name(pool: Pool, redis: Redis) -> None:
    async with rig(pool, redis, works=False, sweeps=False) as agent:
        async with pool.connection() as connection:
            await connection.execute(
                """CREATE FUNCTION agent.full() RETURNS trigger LANGUAGE plpgsql AS $$
                   BEGIN RAISE EXCEPTION 'could not extend file' USING ERRCODE = 'disk_full'; END $$"""
            )
            await connection.execute(
                "CREATE TRIGGER full_disk BEFORE INSERT ON agent.turns FOR EACH ROW EXECUTE FUNCTION agent.full()"
            )
        with pytest.raises(StorageFull, match="make room") as refused:
            await agent.ask()
        assert refused.value.status == 503
        assert await stored(pool) == 0


@pytest.mark.behaviour("T7")
async def test_the_first_frame_stands_before_the_question_is_answered_for(pool: Pool, redis: Redis) -> None:
    async with rig(pool, redis, works=False, sweeps=False) as agent:
        accepted = await agent.ask()
        (first,) = await agent.frames(accepted.turn_id)
    assert types([first]) == ["accepted"]
    assert first.model_dump(include={"turn_id", "trace_id"}) == {
        "turn_id": accepted.turn_id,
        "trace_id": accepted.trace_id,
    }
