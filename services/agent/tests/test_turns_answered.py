"""A question becomes a stored answer: in order, judged, and stored before it is called done."""

from __future__ import annotations

import asyncio
from uuid import uuid4

import pytest
from agent_fakes import AMBER, CODE, FakeSearch, PiecewiseAnswerer
from agent_rig import joined, rig, types, until
from redis.asyncio import Redis

from agent.errors import ModelFailed
from chassis.postgres import Pool
from contracts.events import TurnFinished, TurnRequested
from contracts.frames import Done, Error, Sentence, Sources, Status

ANSWER = "The recovery code is ORCHID-47.[2] It is tested on Mondays.[1]"


@pytest.mark.behaviour("T7", "T5")
async def test_the_frames_of_an_answer_come_in_the_order_of_the_contract(pool: Pool, redis: Redis) -> None:
    async with rig(pool, redis) as agent:
        accepted = await agent.ask()
        frames = await agent.ended(accepted.turn_id)
    kinds = types(frames)
    assert kinds[:4] == ["accepted", "status", "sources", "status"]
    assert [frame.stage for frame in frames if isinstance(frame, Status)] == ["searching", "answering"]
    assert set(kinds[4:-1]) == {"delta", "sentence"}
    assert kinds[-1] == "done"
    done = frames[-1]
    assert isinstance(done, Done)
    assert done.answer == joined(frames) == ANSWER
    sources = next(frame for frame in frames if isinstance(frame, Sources))
    assert done.sources == sources.sources
    assert [source.id for source in done.sources] == [AMBER.id, CODE.id]


@pytest.mark.behaviour("T9")
async def test_each_sentence_carries_the_lines_that_it_rests_on(pool: Pool, redis: Redis) -> None:
    async with rig(pool, redis) as agent:
        frames = await agent.ended((await agent.ask()).turn_id)
    sentences = [frame for frame in frames if isinstance(frame, Sentence)]
    assert [ANSWER[slice(*sentence.span)] for sentence in sentences] == [
        "The recovery code is ORCHID-47.[2]",
        "It is tested on Mondays.[1]",
    ]
    assert [sentence.support[0].source_id for sentence in sentences] == [CODE.id, AMBER.id]


@pytest.mark.behaviour("T5")
async def test_the_answer_is_stored_with_its_sources_and_sentences_before_done_is_sent(
    pool: Pool, redis: Redis
) -> None:
    async with rig(pool, redis) as agent:
        accepted = await agent.ask()
        await agent.ended(accepted.turn_id)
        turn = await agent.ledger.turn(accepted.turn_id)
        chat = await agent.ledger.chat(accepted.chat_id)
    assert turn is not None
    assert (turn.status, turn.answer, turn.question) == ("completed", ANSWER, "What is the code?")
    assert [source.path for source in turn.sources] == ["valves.md", "valves.md"]
    assert [sentence.verdict for sentence in turn.sentences] == ["supported", "supported"]
    assert turn.trace_id == accepted.trace_id
    assert chat.turns == (turn,)


@pytest.mark.behaviour("T5")
async def test_an_answer_that_cannot_be_stored_ends_in_an_error_and_never_in_done(pool: Pool, redis: Redis) -> None:
    async with rig(pool, redis, answerer=PiecewiseAnswerer(gate=(gate := asyncio.Semaphore(3)))) as agent:
        accepted = await agent.ask()
        await agent.deltas(accepted.turn_id, 3)
        async with pool.connection() as connection:
            await connection.execute("alter table agent.answers rename to answers_elsewhere")
        gate.release()
        frames = await agent.ended(accepted.turn_id)
        assert isinstance(frames[-1], Error)
        assert frames[-1].code == "not_stored"
        assert "done" not in types(frames)
        async with pool.connection() as connection:
            await connection.execute("alter table agent.answers_elsewhere rename to answers")
        turn = await agent.ledger.turn(accepted.turn_id)
    assert turn is not None
    assert (turn.status, turn.answer, turn.error_code) == ("failed", None, "not_stored")


@pytest.mark.behaviour("T2")
async def test_turns_of_a_chat_run_one_at_a_time_in_order_and_those_of_two_chats_side_by_side(
    pool: Pool, redis: Redis
) -> None:
    answerer = PiecewiseAnswerer(gate=(gate := asyncio.Semaphore(0)))
    async with rig(pool, redis, answerer=answerer) as agent:
        chat, other = uuid4(), uuid4()
        turns = [await agent.ask(f"Question {number}?", chat) for number in range(3)]
        elsewhere = await agent.ask("Elsewhere?", other)
        await until(lambda: _true(len(answerer.asked) == 2))
        assert [asked.question for asked in answerer.asked] == ["Question 0?", "Elsewhere?"]
        assert types(await agent.frames(turns[1].turn_id)) == ["accepted", "status"]
        for _ in range(4 * 4):
            gate.release()
        for turn in [*turns, elsewhere]:
            await agent.ended(turn.turn_id)
        asked = [one.question for one in answerer.asked if one.question != "Elsewhere?"]
    assert asked == ["Question 0?", "Question 1?", "Question 2?"]


@pytest.mark.behaviour("T2")
async def test_a_failed_turn_does_not_block_the_next(pool: Pool, redis: Redis) -> None:
    answerer = PiecewiseAnswerer(gate=(gate := asyncio.Semaphore(0)), fails=lambda: ModelFailed())
    async with rig(pool, redis, answerer=answerer) as agent:
        chat = uuid4()
        first, second = await agent.ask("One?", chat), await agent.ask("Two?", chat)
        for _ in range(8):
            gate.release()
        ends = [(await agent.ended(turn.turn_id))[-1] for turn in (first, second)]
    assert [end.code for end in ends if isinstance(end, Error)] == ["model_failed", "model_failed"]


@pytest.mark.behaviour("T11")
@pytest.mark.parametrize(
    ("fails", "code"), [(ModelFailed, "model_failed"), (lambda: RuntimeError("sk-secret in the notes"), "internal")]
)
async def test_a_failure_is_one_plain_sentence_and_leaves_no_answer(
    pool: Pool, redis: Redis, fails: type[Exception], code: str
) -> None:
    async with rig(pool, redis, answerer=PiecewiseAnswerer(fails=fails)) as agent:
        accepted = await agent.ask()
        frames = await agent.ended(accepted.turn_id)
        turn = await agent.ledger.turn(accepted.turn_id)
    last = frames[-1]
    assert isinstance(last, Error)
    assert last.code == code
    assert "secret" not in last.message
    assert last.message.endswith(".")
    assert turn is not None
    assert (turn.status, turn.answer, turn.error_code) == ("failed", None, code)


@pytest.mark.behaviour("T11")
async def test_a_search_that_fails_and_an_empty_answer_are_said_to_be_so(pool: Pool, redis: Redis) -> None:
    async with rig(pool, redis, search=FakeSearch(fails=True)) as agent:
        last = (await agent.ended((await agent.ask()).turn_id))[-1]
        assert isinstance(last, Error)
        assert last.code == "search_failed"
    async with rig(pool, redis, answerer=PiecewiseAnswerer(pieces=["  \n"])) as agent:
        last = (await agent.ended((await agent.ask()).turn_id))[-1]
        assert isinstance(last, Error)
        assert last.code == "model_failed"


@pytest.mark.behaviour("T5", "T2")
async def test_a_hint_that_is_lost_loses_no_turn(pool: Pool, redis: Redis) -> None:
    async with (
        rig(pool, redis, works=False, sweeps=False) as front,
        rig(pool, redis) as back,
    ):
        front.bus.lost = True
        accepted = await front.ask()
        assert types(await back.ended(accepted.turn_id))[-1] == "done"


@pytest.mark.behaviour("E1")
async def test_a_hint_that_comes_again_never_runs_a_turn_again(pool: Pool, redis: Redis) -> None:
    answerer = PiecewiseAnswerer(gate=(gate := asyncio.Semaphore(1)))
    async with rig(pool, redis, answerer=answerer) as agent, rig(pool, redis, answerer=answerer) as other:
        accepted = await agent.ask()
        await agent.deltas(accepted.turn_id, 1)
        hint = TurnRequested(turn_id=accepted.turn_id, chat_id=accepted.chat_id)
        for _ in range(3):
            await agent.workers.on_turn_requested(hint)
            await other.workers.on_turn_requested(hint)
        for _ in range(3):
            gate.release()
        await agent.ended(accepted.turn_id)
        await other.workers.on_turn_requested(hint)
        await until(lambda: _true(agent.bus.events or other.bus.events))
    assert len(answerer.asked) == 1


@pytest.mark.behaviour("T15", "E1")
async def test_the_end_of_a_turn_is_announced_with_its_times(pool: Pool, redis: Redis) -> None:
    async with rig(pool, redis) as agent:
        accepted = await agent.ask()
        await until(lambda: _true(len(agent.bus.events) == 2))
    requested, finished = agent.bus.events
    assert requested == TurnRequested(turn_id=accepted.turn_id, chat_id=accepted.chat_id)
    assert isinstance(finished, TurnFinished)
    assert (finished.turn_id, finished.status, finished.abstained) == (accepted.turn_id, "completed", False)
    assert finished.first_delta_ms is not None
    assert 0 <= finished.waited_ms <= finished.first_delta_ms <= finished.total_ms
    assert finished.input_tokens is None


@pytest.mark.behaviour("T2")
async def test_only_so_many_turns_run_at_once_in_one_process(pool: Pool, redis: Redis) -> None:
    answerer = PiecewiseAnswerer(gate=(gate := asyncio.Semaphore(0)))
    async with rig(pool, redis, answerer=answerer, at_once=2) as agent:
        turns = [await agent.ask() for _ in range(4)]
        await until(lambda: _true(len(answerer.asked) == 2))
        assert len(agent.workers.running) == 2
        for _ in range(16):
            gate.release()
        for turn in turns:
            await agent.ended(turn.turn_id)
    assert len(answerer.asked) == 4


async def _true(value: object) -> bool:
    return bool(value)
