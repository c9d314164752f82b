"""Answers prepared on a guess: adopted when the text is the same, forgotten soon, never stored nor counted."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from uuid import UUID, uuid4

import pytest
from agent_fakes import FakeSearch, PiecewiseAnswerer, no_history
from agent_rig import joined, rig, types, until
from redis.asyncio import Redis

from agent.answering import Conversation
from agent.errors import TurnUnknown
from agent.history import PastTurn
from agent.prefetching import MOST, Prefetches
from agent.scripted import Scripted
from chassis.postgres import Pool

pytestmark = pytest.mark.behaviour("T5")
CHAT = uuid4()


class Clock:
    """A clock that tests move."""

    seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def search() -> FakeSearch:
    return FakeSearch()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def prefetches(search: FakeSearch, clock: Clock) -> AsyncGenerator[Prefetches]:
    kept = Prefetches(search, no_history, PiecewiseAnswerer(), lifetime_s=5, now=clock)
    yield kept
    await kept.close()


async def test_what_was_prepared_is_adopted_by_the_same_question_once(prefetches: Prefetches) -> None:
    name = prefetches.prepare(CHAT, "What is the code?")
    prepared = await prefetches.adopt(name, CHAT, Conversation("What is the code?"))
    assert prepared is not None
    assert "".join(piece.text for piece in prepared.pieces).startswith("The recovery code is ORCHID-47.")
    assert await prefetches.adopt(name, CHAT, Conversation("What is the code?")) is None


@pytest.mark.parametrize("question", ["What is the cod?", "What is the code of it?"])
async def test_another_text_adopts_nothing(prefetches: Prefetches, question: str) -> None:
    name = prefetches.prepare(CHAT, "What is the code?")
    assert await prefetches.adopt(name, CHAT, Conversation(question)) is None


@pytest.mark.parametrize("question", ["what is the code", "What is the code.", " What  is the code ?"])
async def test_marks_and_case_make_no_other_question(prefetches: Prefetches, question: str) -> None:
    prefetches.prepare(CHAT, "What is the code?")
    assert await prefetches.adopt(None, CHAT, Conversation(question)) is not None


async def test_what_was_said_meanwhile_can_make_it_another_question(search: FakeSearch) -> None:
    past = [PastTurn("Where is the pump?", "In the cellar.")]

    async def history(chat_id: UUID) -> tuple[PastTurn, ...]:
        return tuple(past)

    kept = Prefetches(search, history, Scripted(), lifetime_s=5)
    kept.prepare(CHAT, "And its code?")
    await until(lambda: _true(search.asked))
    past.append(PastTurn("Where is the amber valve?", "In the pump room."))
    assert await kept.adopt(None, CHAT, Conversation("And its code?", tuple(past))) is None
    kept.prepare(CHAT, "Where is the keeper's house?")
    past.append(PastTurn("Where is the dock?", "At the bay."))
    assert await kept.adopt(None, CHAT, Conversation("Where is the keeper's house?", tuple(past))) is not None
    await kept.close()


async def test_the_prepared_answer_may_be_learnt_and_is_adopted_all_the_same(
    prefetches: Prefetches, search: FakeSearch
) -> None:
    search.hold = asyncio.Event()
    name = prefetches.prepare(CHAT, "What is the code?")
    early = await prefetches.answer(name, 0)
    assert (early.ready, early.answer) == (False, None)
    search.hold.set()
    learnt = await prefetches.answer(name, 60)
    assert learnt.ready
    assert (learnt.answer or "").startswith("The recovery code is ORCHID-47.")
    assert await prefetches.adopt(None, CHAT, Conversation("What is the code?")) is not None
    with pytest.raises(TurnUnknown):
        await prefetches.answer(name, 0)


async def test_a_guess_that_failed_is_ready_and_has_no_answer(prefetches: Prefetches, search: FakeSearch) -> None:
    search.fails = True
    name = prefetches.prepare(CHAT, "What is the code?")
    learnt = await prefetches.answer(name, 60)
    assert (learnt.ready, learnt.answer) == (True, None)


async def test_a_wish_about_the_answer_itself_is_not_guessed_at(prefetches: Prefetches, search: FakeSearch) -> None:
    prefetches.prepare(CHAT, "Go on, please.")
    assert await prefetches.adopt(None, CHAT, Conversation("Go on, please.")) is None
    assert search.asked == []


async def test_another_chat_and_an_unknown_name_adopt_nothing(prefetches: Prefetches) -> None:
    name = prefetches.prepare(CHAT, "What is the code?")
    assert await prefetches.adopt(name, uuid4(), Conversation("What is the code?")) is None
    assert await prefetches.adopt(uuid4(), CHAT, Conversation("What is the code?")) is None


async def test_it_is_forgotten_after_its_lifetime(prefetches: Prefetches, clock: Clock) -> None:
    name = prefetches.prepare(CHAT, "What is the code?")
    clock.seconds = 5.0
    assert await prefetches.adopt(name, CHAT, Conversation("What is the code?")) is None


async def test_it_is_forgotten_when_the_corpus_has_changed(prefetches: Prefetches, search: FakeSearch) -> None:
    name = prefetches.prepare(CHAT, "What is the code?")
    await until(lambda: _true(search.asked))
    search.version += 1
    assert await prefetches.adopt(name, CHAT, Conversation("What is the code?")) is None


async def test_a_newer_guess_of_a_chat_ends_the_older_one(prefetches: Prefetches, search: FakeSearch) -> None:
    search.hold = asyncio.Event()
    older = prefetches.prepare(CHAT, "What is")
    newer = prefetches.prepare(CHAT, "What is the code?")
    search.hold.set()
    assert await prefetches.adopt(newer, CHAT, Conversation("What is the code?")) is not None
    assert await prefetches.adopt(older, CHAT, Conversation("What is")) is None


async def test_a_search_that_fails_prepares_nothing_and_harms_nothing(
    prefetches: Prefetches, search: FakeSearch
) -> None:
    search.fails = True
    name = prefetches.prepare(CHAT, "What is the code?")
    assert await prefetches.adopt(name, CHAT, Conversation("What is the code?")) is None


async def test_only_so_many_are_kept(prefetches: Prefetches) -> None:
    first = prefetches.prepare(chat := uuid4(), "First?")
    for _ in range(MOST):
        prefetches.prepare(uuid4(), "More?")
    assert await prefetches.adopt(first, chat, Conversation("First?")) is None


async def test_where_every_answer_costs_money_nothing_is_prepared(search: FakeSearch) -> None:
    prefetches = Prefetches(search, no_history, None, lifetime_s=5)
    name = prefetches.prepare(CHAT, "What is the code?")
    assert await prefetches.adopt(name, CHAT, Conversation("What is the code?")) is None
    assert search.asked == []


async def test_a_turn_that_names_a_prepared_answer_is_not_searched_for_again(pool: Pool, redis: Redis) -> None:
    async with rig(pool, redis) as agent:
        chat = uuid4()
        name = agent.prefetches.prepare(chat, "What is the code?")
        await until(lambda: _true(agent.search.asked))
        async with pool.connection() as connection:
            row = await (await connection.execute("select count(*) as turns from agent.turns")).fetchone()
        assert row == {"turns": 0}
        accepted = await agent.ask("What is the code?", chat, prefetch_id=name)
        frames = await agent.ended(accepted.turn_id)
        turn = await agent.ledger.turn(accepted.turn_id)
    assert types(frames)[-1] == "done"
    assert len(agent.search.asked) == 1
    assert turn is not None
    assert turn.status == "completed"


async def test_a_turn_that_names_none_adopts_what_its_chat_has(pool: Pool, redis: Redis) -> None:
    async with rig(pool, redis) as agent:
        name = agent.prefetches.prepare(chat := uuid4(), "What is the code?")
        learnt = await agent.prefetches.answer(name, 60)
        accepted = await agent.ask("what is the code", chat)
        frames = await agent.ended(accepted.turn_id)
    assert joined(frames) == learnt.answer
    assert len(agent.search.asked) == 1


async def _true(value: object) -> bool:
    return bool(value)
