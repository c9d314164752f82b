"""Stop, speech over an answer, deadlines and shutting down: each ends a turn in its own way, and says so."""

from __future__ import annotations

import asyncio
from uuid import uuid4

import pytest
from agent_fakes import FakeSearch, PiecewiseAnswerer
from agent_rig import joined, rig, types, until
from redis.asyncio import Redis

from agent.accepting import Limits
from agent.errors import TurnUnknown
from chassis.postgres import Pool
from contracts.frames import Error
from contracts.turns import CancelRequested, Turn

STOP = CancelRequested(reason="stopped")


def held(pieces: int = 0) -> tuple[PiecewiseAnswerer, asyncio.Semaphore]:
    gate = asyncio.Semaphore(pieces)
    return PiecewiseAnswerer(gate=gate), gate


@pytest.mark.behaviour("T5")
async def test_stop_ends_a_running_turn_as_cancelled_and_keeps_no_answer(pool: Pool, redis: Redis) -> None:
    answerer, _ = held(2)
    async with rig(pool, redis, answerer=answerer, heartbeat_s=60) as agent:
        accepted = await agent.ask()
        await agent.deltas(accepted.turn_id, 2)
        assert (await agent.canceller.cancel(accepted.turn_id, STOP)).status == "running"
        frames = await agent.ended(accepted.turn_id)
        turn = await agent.ledger.turn(accepted.turn_id)
    assert isinstance(frames[-1], Error)
    assert frames[-1].code == "cancelled"
    assert turn is not None
    assert (turn.status, turn.answer, turn.sources) == ("cancelled", None, ())


@pytest.mark.behaviour("T5", "V11")
async def test_an_interruption_keeps_the_answer_so_far_and_how_much_of_it_was_heard(pool: Pool, redis: Redis) -> None:
    answerer, _ = held(3)
    async with rig(pool, redis, answerer=answerer, heartbeat_s=60) as agent:
        accepted = await agent.ask()
        await agent.deltas(accepted.turn_id, 3)
        await agent.canceller.cancel(accepted.turn_id, CancelRequested(reason="interrupted", heard=17))
        frames = await agent.ended(accepted.turn_id)
        turn = await agent.ledger.turn(accepted.turn_id)
        (past,) = await agent.ledger.history(accepted.chat_id)
    assert isinstance(frames[-1], Error)
    assert frames[-1].code == "interrupted"
    assert turn is not None
    assert (turn.status, turn.heard) == ("interrupted", 17)
    assert turn.answer == joined(frames)
    assert len(turn.sources) == 2
    assert past.known_answer == "The recovery code"


@pytest.mark.behaviour("T5")
async def test_a_turn_that_another_agent_runs_is_stopped_at_once(pool: Pool, redis: Redis) -> None:
    answerer, _ = held(1)
    async with (
        rig(pool, redis, answerer=answerer, heartbeat_s=60) as worker,
        rig(pool, redis, works=False, sweeps=False) as front,
    ):
        await until(lambda: _subscribers(redis, 2))
        accepted = await worker.ask()
        await worker.deltas(accepted.turn_id, 1)
        await front.canceller.cancel(accepted.turn_id, STOP)
        assert types(await worker.ended(accepted.turn_id))[-1] == "error"


@pytest.mark.behaviour("T5")
async def test_a_stop_whose_signal_was_lost_is_seen_by_the_heartbeat(pool: Pool, redis: Redis) -> None:
    answerer, _ = held(1)
    async with rig(pool, redis, answerer=answerer, heartbeat_s=0.05) as agent:
        accepted = await agent.ask()
        await agent.deltas(accepted.turn_id, 1)
        async with pool.connection() as connection:
            await connection.execute("update agent.turns set cancel_reason = 'stopped'")
        frames = await agent.ended(accepted.turn_id)
    assert isinstance(frames[-1], Error)
    assert frames[-1].code == "cancelled"


@pytest.mark.behaviour("T2")
async def test_a_cancelled_waiting_turn_never_starts_and_the_next_one_does(pool: Pool, redis: Redis) -> None:
    answerer, gate = held(1)
    async with rig(pool, redis, answerer=answerer) as agent:
        chat = uuid4()
        first, second, third = [await agent.ask(f"Question {number}?", chat) for number in range(3)]
        await agent.deltas(first.turn_id, 1)
        assert (await agent.canceller.cancel(second.turn_id, STOP)).status == "cancelled"
        frames = await agent.ended(second.turn_id)
        for _ in range(8):
            gate.release()
        await agent.ended(third.turn_id)
    assert types(frames) == ["accepted", "status", "error"]
    assert [asked.question for asked in answerer.asked] == ["Question 0?", "Question 2?"]


@pytest.mark.behaviour("T5")
async def test_a_stop_that_comes_while_the_answer_is_stored_is_honoured(pool: Pool, redis: Redis) -> None:
    answerer, gate = held(3)
    async with rig(pool, redis, answerer=answerer, heartbeat_s=60, sweeps=False) as agent:
        accepted = await agent.ask()
        await agent.deltas(accepted.turn_id, 3)
        async with pool.connection() as connection:
            await connection.execute("update agent.turns set cancel_reason = 'stopped'")
        gate.release()
        frames = await agent.ended(accepted.turn_id)
        turn = await agent.ledger.turn(accepted.turn_id)
    assert types(frames)[-1] == "error"
    assert turn is not None
    assert (turn.status, turn.answer) == ("cancelled", None)


@pytest.mark.behaviour("T5")
async def test_what_has_ended_stays_as_it_is_when_it_is_stopped_again(pool: Pool, redis: Redis) -> None:
    async with rig(pool, redis) as agent:
        accepted = await agent.ask()
        before = await agent.ended(accepted.turn_id)
        turn = await agent.canceller.cancel(accepted.turn_id, STOP)
        assert turn.status == "completed"
        assert await agent.frames(accepted.turn_id) == before
        with pytest.raises(TurnUnknown):
            await agent.canceller.cancel(uuid4(), STOP)
        with pytest.raises(TurnUnknown):
            await agent.canceller.heard(uuid4(), 3)


@pytest.mark.behaviour("V11", "T5")
@pytest.mark.parametrize(("heard", "status"), [(17, "interrupted"), (None, "completed"), (2**40, "completed")])
async def test_speech_over_an_answer_that_is_complete_keeps_what_was_heard(
    pool: Pool, redis: Redis, heard: int | None, status: str
) -> None:
    async with rig(pool, redis) as agent:
        accepted = await agent.ask()
        await agent.ended(accepted.turn_id)
        turn = await agent.canceller.cancel(accepted.turn_id, CancelRequested(reason="interrupted", heard=heard))
        (past,) = await agent.ledger.history(accepted.chat_id)
    assert turn.status == status
    assert past.known_answer == ("The recovery code" if heard == 17 else turn.answer)


@pytest.mark.behaviour("V11")
async def test_what_was_heard_only_grows_and_never_exceeds_the_answer(pool: Pool, redis: Redis) -> None:
    async with rig(pool, redis) as agent:
        accepted = await agent.ask()
        await agent.ended(accepted.turn_id)
        heard: list[Turn] = [await agent.canceller.heard(accepted.turn_id, many) for many in (10, 4, 2**40)]
    assert [turn.heard for turn in heard] == [10, 10, len(heard[0].answer or "")]


@pytest.mark.behaviour("T3")
async def test_a_turn_past_its_deadline_fails_with_deadline_its_wait_included(pool: Pool, redis: Redis) -> None:
    answerer, _ = held(1)
    async with rig(pool, redis, answerer=answerer, limits=Limits(deadline_s=1.0)) as agent:
        chat = uuid4()
        running, waiting = await agent.ask("One?", chat), await agent.ask("Two?", chat)
        ends = [(await agent.ended(turn.turn_id))[-1] for turn in (running, waiting)]
        stored = [await agent.ledger.turn(turn.turn_id) for turn in (running, waiting)]
    assert [end.code for end in ends if isinstance(end, Error)] == ["deadline", "deadline"]
    assert [turn.status for turn in stored if turn] == ["failed", "failed"]


@pytest.mark.behaviour("T3")
async def test_a_search_that_never_ends_is_ended_by_the_deadline(pool: Pool, redis: Redis) -> None:
    async with rig(
        pool, redis, search=FakeSearch(hold=asyncio.Event()), limits=Limits(deadline_s=0.5), sweeps=False
    ) as agent:
        last = (await agent.ended((await agent.ask()).turn_id))[-1]
    assert isinstance(last, Error)
    assert last.code == "deadline"


@pytest.mark.behaviour("E3")
async def test_shutting_down_gives_running_turns_their_grace_and_then_ends_them(pool: Pool, redis: Redis) -> None:
    answerer, _ = held(1)
    async with rig(pool, redis, answerer=answerer, grace_s=0.2) as agent:
        accepted = await agent.ask()
        await agent.deltas(accepted.turn_id, 1)
    frames = await agent.frames(accepted.turn_id)
    turn = await agent.ledger.turn(accepted.turn_id)
    assert isinstance(frames[-1], Error)
    assert frames[-1].code == "stopping"
    assert turn is not None
    assert (turn.status, turn.error_code) == ("failed", "stopping")


@pytest.mark.behaviour("E3")
async def test_a_turn_that_ends_within_the_grace_is_answered(pool: Pool, redis: Redis) -> None:
    answerer, gate = held(1)
    async with rig(pool, redis, answerer=answerer, grace_s=10) as agent:
        accepted, waiting = await agent.ask(chat_id=(chat := uuid4())), await agent.ask(chat_id=chat)
        await agent.deltas(accepted.turn_id, 1)
        for _ in range(3):
            asyncio.get_running_loop().call_later(0.05, gate.release)
    assert types(await agent.frames(accepted.turn_id))[-1] == "done"
    assert types(await agent.frames(waiting.turn_id)) == ["accepted", "status"]


async def _subscribers(redis: Redis, least: int) -> bool:
    ((_, count),) = await redis.pubsub_numsub("talkdown.agent.cancelled")
    return count >= least
