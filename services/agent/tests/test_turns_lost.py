"""T10: a turn dies honestly: whoever is left says so, within seconds, and nobody runs it again."""

from __future__ import annotations

import asyncio
from uuid import uuid4

import pytest
from agent_fakes import PiecewiseAnswerer
from agent_rig import drop_last_frame, joined, rig, types, until
from redis.asyncio import Redis

from chassis.postgres import Pool
from contracts.frames import Done, Error

pytestmark = pytest.mark.behaviour("T10")


def held(pieces: int = 0) -> tuple[PiecewiseAnswerer, asyncio.Semaphore]:
    gate = asyncio.Semaphore(pieces)
    return PiecewiseAnswerer(gate=gate), gate


async def test_a_turn_whose_worker_died_is_failed_by_another_agent_and_not_run_again(pool: Pool, redis: Redis) -> None:
    dying, _ = held(2)
    answerer = PiecewiseAnswerer()
    # The dying one shows no second heartbeat and never cleans up: its tasks are dropped as a killed process drops them.
    async with (
        rig(pool, redis, answerer=answerer, lost_after_s=0.5, works=False) as other,
        rig(pool, redis, answerer=dying, heartbeat_s=3600, sweeps=False) as killed,
    ):
        accepted = await killed.ask()
        await killed.deltas(accepted.turn_id, 2)
        frames = await other.ended(accepted.turn_id)
        turn = await other.ledger.turn(accepted.turn_id)
        waking = asyncio.create_task(other.workers.claim_turns())
        follow_up = await other.ask("And now?", accepted.chat_id)
        done = await other.ended(follow_up.turn_id)
        waking.cancel()
    assert isinstance(frames[-1], Error)
    assert frames[-1].code == "worker_lost"
    assert turn is not None
    assert (turn.status, turn.answer) == ("failed", None)
    assert types(done)[-1] == "done"
    assert [asked.question for asked in answerer.asked] == ["And now?"]


async def test_a_worker_that_comes_back_after_its_turn_was_given_up_adds_nothing_to_it(
    pool: Pool, redis: Redis
) -> None:
    answerer, gate = held(2)
    async with (
        rig(pool, redis, answerer=answerer, heartbeat_s=3600, sweeps=False) as stalled,
        rig(pool, redis, lost_after_s=0.5, works=False) as other,
    ):
        accepted = await stalled.ask()
        await stalled.deltas(accepted.turn_id, 2)
        await other.ended(accepted.turn_id)
        for _ in range(4):
            gate.release()
        await until(lambda: _idle(stalled.workers.running))
        frames = await other.frames(accepted.turn_id)
        turn = await other.ledger.turn(accepted.turn_id)
    assert types(frames).count("error") == 1
    assert "done" not in types(frames)
    assert turn is not None
    assert (turn.status, turn.answer) == ("failed", None)


async def test_a_turn_that_is_no_longer_ours_is_dropped_at_the_next_heartbeat(pool: Pool, redis: Redis) -> None:
    answerer, _ = held(1)
    async with rig(pool, redis, answerer=answerer, heartbeat_s=0.1, sweeps=False) as agent:
        accepted = await agent.ask()
        await agent.deltas(accepted.turn_id, 1)
        async with pool.connection() as connection:
            await connection.execute("update agent.turns set worker = 'someone else'")
        await until(lambda: _idle(agent.workers.running))
        assert types(await agent.frames(accepted.turn_id))[-1] == "delta"


async def test_a_running_turn_with_a_heartbeat_is_left_alone_however_long_it_takes(pool: Pool, redis: Redis) -> None:
    answerer, gate = held(1)
    async with rig(pool, redis, answerer=answerer, heartbeat_s=0.05, lost_after_s=0.4) as agent:
        accepted = await agent.ask()
        await agent.deltas(accepted.turn_id, 1)
        before = await _heartbeat(pool)
        await until(lambda: _later(pool, before, 0.8))
        for _ in range(3):
            gate.release()
        assert types(await agent.ended(accepted.turn_id))[-1] == "done"


@pytest.mark.behaviour("T5", "T8")
async def test_an_answer_that_was_stored_but_not_called_done_is_called_done_by_a_sweep(
    pool: Pool, redis: Redis
) -> None:
    async with rig(pool, redis) as agent:
        accepted = await agent.ask()
        frames = await agent.ended(accepted.turn_id)
        await until(lambda: _all_told(pool))
        await drop_last_frame(redis, accepted.turn_id)
        assert types(await agent.frames(accepted.turn_id))[-1] != "done"
        async with pool.connection() as connection:
            await connection.execute("update agent.turns set told = false")
        again = await agent.ended(accepted.turn_id)
    assert again == frames
    assert isinstance(again[-1], Done)
    assert again[-1].answer == joined(again)


async def test_a_last_frame_that_stands_already_is_not_written_twice(pool: Pool, redis: Redis) -> None:
    async with rig(pool, redis) as agent, rig(pool, redis) as other:
        accepted = await agent.ask()
        frames = await agent.ended(accepted.turn_id)
        async with pool.connection() as connection:
            await connection.execute("update agent.turns set told = false, ended_at = now() - interval '1 minute'")
        await until(lambda: _all_told(pool))
        assert await other.frames(accepted.turn_id) == frames


async def test_frames_that_are_gone_begin_again_so_that_a_reader_learns_of_the_end(pool: Pool, redis: Redis) -> None:
    answerer, _ = held(1)
    async with (
        rig(pool, redis, lost_after_s=0.5, works=False) as other,
        rig(pool, redis, answerer=answerer, heartbeat_s=3600, sweeps=False) as killed,
    ):
        accepted = await killed.ask()
        await killed.deltas(accepted.turn_id, 1)
        await redis.flushdb()
        frames = await other.ended(accepted.turn_id)
    assert types(frames) == ["accepted", "error"]


async def test_two_agents_end_a_lost_turn_once(pool: Pool, redis: Redis) -> None:
    dying, _ = held(1)
    async with (
        rig(pool, redis, lost_after_s=0.5, works=False),
        rig(pool, redis, lost_after_s=0.5, works=False) as two,
    ):
        async with rig(pool, redis, answerer=dying, heartbeat_s=3600, sweeps=False) as killed:
            turns = [await killed.ask(chat_id=uuid4()) for _ in range(5)]
            for turn in turns:
                await killed.frames(turn.turn_id)
            for turn in turns:
                assert types(await two.ended(turn.turn_id)).count("error") == 1
        await until(lambda: _all_told(pool))
        for turn in turns:
            assert types(await two.frames(turn.turn_id)).count("error") == 1


async def _idle(running: frozenset[object]) -> bool:
    return not running


async def _heartbeat(pool: Pool) -> float:
    async with pool.connection() as connection:
        cursor = await connection.execute("select extract(epoch from max(heartbeat_at))::float8 as at from agent.turns")
        row = await cursor.fetchone()
    assert row is not None
    return row["at"]


async def _later(pool: Pool, before: float, seconds: float) -> bool:
    return await _heartbeat(pool) > before + seconds


async def _all_told(pool: Pool) -> bool:
    async with pool.connection() as connection:
        row = await (await connection.execute("select bool_and(told) as told from agent.turns")).fetchone()
    return row is not None and bool(row["told"])
