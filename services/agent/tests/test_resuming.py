"""Going on with an answer that was cut short, and hearing its last sentence again (V11)."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import uuid4

import pytest
from agent_fakes import CODE, FakeSearch, PiecewiseAnswerer
from agent_rig import joined, rig, types
from redis.asyncio import Redis

from agent.followups import search_text
from agent.history import PastTurn
from agent.resuming import asked_again, resume
from chassis.postgres import Pool
from contracts.frames import Sentence, Sources
from contracts.turns import CancelRequested, Turn

pytestmark = pytest.mark.behaviour("V11")

FIRST, SECOND = "The recovery code is ORCHID-47.[2]", "It is tested on Mondays.[1]"
HEARD_FIRST = len("The recovery code is ORCHID-47.")


@pytest.mark.parametrize(
    "said",
    [
        "Continue.",
        "go on",
        "Please go on.",
        "OK, carry on!",
        "Keep going, please",
        "weiter",
        "Bitte mach weiter.",
        "And?  Go on",
    ],
)
def test_a_whole_utterance_that_asks_to_go_on(said: str) -> None:
    assert asked_again(said) == "continue"


@pytest.mark.parametrize(
    "said",
    [
        "Repeat that.",
        "Say that again?",
        "Could you please repeat that?",
        "Sorry, what did you say?",
        "Noch einmal, bitte.",
    ],
)
def test_a_whole_utterance_that_asks_to_hear_it_again(said: str) -> None:
    assert asked_again(said) == "repeat"


@pytest.mark.parametrize(
    "said",
    [
        "Continue with the red valve.",
        "How do I go on after a leak?",
        "What should I repeat?",
        "",
        "?",
        "Start it again",
    ],
)
def test_a_question_with_these_words_in_it_is_a_question(said: str) -> None:
    assert asked_again(said) is None


def test_a_follow_up_leans_on_the_question_and_not_on_the_wish_between_them() -> None:
    past = [PastTurn("Where is the amber valve?", "In the pump room."), PastTurn("Go on.", "At knee height.")]
    assert search_text("And its code?", past) == "Where is the amber valve? And its code?"


@pytest.mark.parametrize(
    ("heard", "rest"),
    [
        (0, f"{FIRST} {SECOND}"),
        (10, f"{FIRST} {SECOND}"),
        (HEARD_FIRST, SECOND),
        (len(FIRST) + 5, SECOND),
    ],
)
async def test_go_on_gives_what_was_not_heard_with_its_sources(pool: Pool, redis: Redis, heard: int, rest: str) -> None:
    async with rig(pool, redis) as agent:
        asked = await agent.ask("What is the code?")
        await agent.ended(asked.turn_id)
        await agent.canceller.cancel(asked.turn_id, CancelRequested(reason="interrupted", heard=heard))
        wish = await agent.ask("Go on.", asked.chat_id)
        frames = await agent.ended(wish.turn_id)
        turn = await agent.ledger.turn(wish.turn_id)
    assert types(frames)[-1] == "done"
    assert joined(frames) == rest
    (sources,) = [frame for frame in frames if isinstance(frame, Sources)]
    assert sources.sources[1].id == CODE.id
    sentences = [frame for frame in frames if isinstance(frame, Sentence)]
    assert [rest[slice(*sentence.span)] for sentence in sentences] == [FIRST, SECOND][-len(sentences) :]
    assert {sentence.verdict for sentence in sentences} == {"supported"}
    assert turn is not None
    assert turn.answer == rest
    assert len(agent.search.asked) == 1, "nothing is searched for the wish"


async def test_go_on_after_all_was_heard_says_so(pool: Pool, redis: Redis) -> None:
    async with rig(pool, redis) as agent:
        asked = await agent.ask("What is the code?")
        await agent.ended(asked.turn_id)
        wish = await agent.ask("go on", asked.chat_id)
        frames = await agent.ended(wish.turn_id)
        turn = await agent.ledger.turn(wish.turn_id)
    assert joined(frames) == "That was all of it."
    assert turn is not None
    assert not turn.abstained
    assert turn.sentences == ()


@pytest.mark.parametrize(("heard", "again"), [(10, FIRST), (len(FIRST) + 5, SECOND), (None, SECOND)])
async def test_the_last_sentence_that_was_heard_is_said_again_with_its_source(
    pool: Pool, redis: Redis, heard: int | None, again: str
) -> None:
    async with rig(pool, redis) as agent:
        asked = await agent.ask("What is the code?")
        await agent.ended(asked.turn_id)
        if heard is not None:
            await agent.canceller.cancel(asked.turn_id, CancelRequested(reason="interrupted", heard=heard))
        frames = await agent.ended((await agent.ask("Say that again.", asked.chat_id)).turn_id)
        rest = await agent.ended((await agent.ask("Go on.", asked.chat_id)).turn_id)
    assert joined(frames) == again
    left = {10: f"{FIRST} {SECOND}", len(FIRST) + 5: SECOND, None: "That was all of it."}
    assert joined(rest) == left[heard], "what is gone on with is the answer, not what was said again of it"


async def test_what_is_heard_of_the_rest_counts_for_the_rest(pool: Pool, redis: Redis) -> None:
    async with rig(pool, redis) as agent:
        asked = await agent.ask("What is the code?")
        await agent.ended(asked.turn_id)
        await agent.canceller.cancel(asked.turn_id, CancelRequested(reason="interrupted", heard=3))
        rest = await agent.ask("Continue", asked.chat_id)
        await agent.ended(rest.turn_id)
        await agent.canceller.cancel(rest.turn_id, CancelRequested(reason="interrupted", heard=HEARD_FIRST))
        frames = await agent.ended((await agent.ask("Continue", asked.chat_id)).turn_id)
    assert joined(frames) == SECOND


async def test_a_model_goes_on_in_its_own_words_and_is_told_what_was_heard(pool: Pool, redis: Redis) -> None:
    answerer = PiecewiseAnswerer(model="a-model")
    async with rig(pool, redis, answerer=answerer) as agent:
        asked = await agent.ask("What is the code?")
        await agent.ended(asked.turn_id)
        await agent.canceller.cancel(asked.turn_id, CancelRequested(reason="interrupted", heard=17))
        await agent.ended((await agent.ask("Go on.", asked.chat_id)).turn_id)
    (past,) = answerer.asked[-1].past
    assert answerer.asked[-1].question == "Go on."
    assert past.told_answer.startswith("The recovery code\n(The person spoke here")


async def test_without_an_answer_before_it_a_wish_is_a_question(pool: Pool, redis: Redis) -> None:
    async with rig(pool, redis, search=FakeSearch()) as agent:
        await agent.ended((await agent.ask("Continue", uuid4())).turn_id)
        assert [query for query, _ in agent.search.asked] == ["Continue"]


def _turn(question: str, answer: str, *, abstained: bool = False, sentences: int = 1) -> Turn:
    spans = [(0, len(answer))][:sentences]
    return Turn(
        turn_id=uuid4(),
        chat_id=uuid4(),
        trace_id="a" * 32,
        question=question,
        status="completed",
        answer=answer,
        abstained=abstained,
        sentences=tuple(Sentence(index=0, span=span, verdict="unsupported") for span in spans),
        asked_at=datetime.now(UTC),
    )


ABSTENTION = _turn("Who founded Rome?", "The notes do not answer that.", abstained=True)


async def test_an_abstention_that_is_said_again_still_is_one() -> None:
    again = resume("repeat", [ABSTENTION])
    assert again is not None
    assert [piece.abstained async for piece in again.pieces()][-1]


def test_that_there_is_nothing_left_is_not_what_is_said_again() -> None:
    nothing_left = _turn("Go on.", "That was all of it.", sentences=0)
    again = resume("repeat", [nothing_left, ABSTENTION])
    assert again is not None
    assert again.text == ABSTENTION.answer
