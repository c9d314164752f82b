"""T12, T14: without a model the answer is what the sources say, or that they do not; never a mixture."""

from __future__ import annotations

import pytest
from agent_fakes import found, passage

from agent.answering import Conversation
from agent.history import PastTurn
from agent.quoting import Extractive
from agent.scripted import NOTHING_FOUND, Scripted
from contracts.search import SearchResult

VALVE = passage("The amber valve closes the north line. It is tested on Mondays.")
CODE = passage("Its recovery code is ORCHID-47.", ordinal=1, line=7)
NOTES = found(VALVE, CODE)


async def answered(question: str, notes: SearchResult = NOTES, *past: PastTurn) -> tuple[str, bool | None]:
    answerer, conversation = Extractive(), Conversation(question, past)
    pieces = [piece async for piece in answerer.write(conversation, await answerer.plan(conversation), notes)]
    return "".join(piece.text for piece in pieces), pieces[-1].abstained


@pytest.mark.behaviour("T12")
async def test_a_question_that_the_sources_answer_is_answered_in_their_words_and_cited() -> None:
    text, abstained = await answered("When is the amber valve tested?")
    assert "It is tested on Mondays. [1]" in text
    assert abstained is False


@pytest.mark.behaviour("T12")
async def test_a_question_that_they_do_not_answer_is_abstained_from_and_the_nearest_passage_named() -> None:
    text, abstained = await answered("Who painted the ceiling of the chapel?")
    assert abstained is True
    assert "valves.md" in text


@pytest.mark.behaviour("T12", "R4")
async def test_nothing_found_is_abstained_from() -> None:
    _, abstained = await answered("When is the amber valve tested?", found())
    assert abstained is True


@pytest.mark.behaviour("T14")
async def test_two_people_of_one_name_are_both_quoted_with_their_own_source() -> None:
    notes = found(
        passage("Guest Lee stays in room 12 and arrives on Monday.", path="north.md"),
        passage("Guest Lee stays in room 40 and arrives on Friday.", path="south.md"),
    )
    text, _ = await answered("Which room is Lee in?", notes)
    assert "Guest Lee stays in room 12 and arrives on Monday. [1]" in text
    assert "Guest Lee stays in room 40 and arrives on Friday. [2]" in text


@pytest.mark.behaviour("T4")
async def test_a_question_that_points_back_is_answered_from_what_it_points_at() -> None:
    text, abstained = await answered("And its code?", NOTES, PastTurn("What does the amber valve do?", "It closes."))
    assert "ORCHID-47" in text
    assert abstained is False


@pytest.mark.behaviour("T7")
async def test_a_scripted_answer_is_the_first_sentence_of_each_of_the_first_sources() -> None:
    scripted, conversation = Scripted(sentences=2), Conversation("Anything?")
    plan = await scripted.plan(conversation)
    pieces = [piece async for piece in scripted.write(conversation, plan, NOTES)]
    text = "".join(piece.text for piece in pieces)
    assert text == "The amber valve closes the north line.[1] Its recovery code is ORCHID-47.[2]"
    nothing = [piece async for piece in scripted.write(conversation, plan, found())]
    assert "".join(piece.text for piece in nothing) == NOTHING_FOUND
    assert nothing[-1].abstained is True
