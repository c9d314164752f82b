"""T12, T14: without a model the answer is what the sources say, or that they do not; never a mixture."""

from __future__ import annotations

import pytest
from agent_fakes import found, passage

from agent.answering import Conversation
from agent.draft import Draft
from agent.evidence import judge
from agent.extractive import answer
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


NOTE = (
    "To renew the certificate:\n\nsystemctl stop web\ncertbot renew --force. Then wait\nsystemctl start web\n\n"
    "The key hangs in the shed. Take with you:\n\nthe amber lamp, size no. 4 approx.\n\n1. the purple rope\n\n"
    "2. Paint the gate: twice. Let it dry for 3 days\n\n"
    "Tobias (ext. 4417), deputy Ines (ext. 4421). The phone list ends with this:"
)


@pytest.mark.behaviour("T9")
@pytest.mark.parametrize(
    "question",
    [
        "How do I renew the certificate?",
        "What does certbot renew?",
        "What is the extension of Ines?",
        "Which size is the amber lamp?",
        "What should I take with me?",
        "Where is the purple rope?",
        "How often do I paint the gate?",
        "With what does the phone list end?",
        "Where does the key hang?",
        "Who painted the ceiling of the chapel?",
    ],
)
async def test_the_sentences_of_an_answer_of_quotes_are_its_quotes_and_all_have_their_source(question: str) -> None:
    notes = found(passage(NOTE), passage("The lamp of the shed is amber: it hangs there.", ordinal=1, line=40))
    answerer, conversation = Extractive(), Conversation(question)
    draft, said = Draft(notes.passages, judge), answer(question, notes)
    async for piece in answerer.write(conversation, await answerer.plan(conversation), notes):
        draft.add(piece.text, piece.quoted)
    draft.finish()
    assert draft.text == said.text
    if not said.abstained:
        assert [sentence.span for sentence in draft.sentences] == [quote.cited_span for quote in said.quotes]
        assert [sentence.support for sentence in draft.sentences] == [(quote.support,) for quote in said.quotes]
        assert {sentence.verdict for sentence in draft.sentences} == {"supported"}
    else:
        assert draft.sentences
