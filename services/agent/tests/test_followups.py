"""Questions that lean on the one before are searched together with it, and others are not."""

from __future__ import annotations

import pytest

from agent.followups import points_back, search_text
from agent.history import PastTurn

pytestmark = pytest.mark.behaviour("T4")
VALVE = PastTurn("What does the amber valve do?", "It closes the north line.")


@pytest.mark.parametrize(
    "question",
    [
        "And its code?",
        "What about the blue one?",
        "When is it tested?",
        "Who looks after them?",
        "Und wer prüft es?",
        "Wo ist seine Schraube?",
        "Et son code, où est-ce qu'il est ? Lui?",
        "它的代码是什么？",
    ],
)
def test_a_short_question_that_points_back_is_searched_with_the_one_before(question: str) -> None:
    assert search_text(question, [VALVE]) == f"What does the amber valve do? {question}"


@pytest.mark.parametrize(
    "question",
    [
        "What is the guest wifi password?",
        "Is there a pump in the cellar?",
        "Where is the blue valve?",
        "When the amber valve leaks, what must be done with the water that comes out of it?",
        "Gibt es Kaffee?",
        "ORCHID-47",
        "?",
    ],
)
def test_a_question_that_stands_by_itself_is_searched_alone(question: str) -> None:
    assert search_text(question, [VALVE]) == question


def test_the_first_question_of_a_chat_is_searched_alone() -> None:
    assert search_text("And its code?", []) == "And its code?"


def test_a_chain_of_follow_ups_leads_back_to_the_question_that_stands_by_itself() -> None:
    chain = [VALVE, PastTurn("And its code?", "ORCHID-47.")]
    assert search_text("Who may use it?", chain) == "What does the amber valve do? Who may use it?"


def test_the_text_stays_within_what_a_search_takes_and_keeps_the_question() -> None:
    long = [PastTurn("w" * 2000, "a")]
    text = search_text("And its code?", long)
    assert len(text) == 2000
    assert text.endswith(" And its code?")


def test_a_question_as_long_as_a_search_may_be_stands_alone() -> None:
    question = "it " + "x" * 1997
    assert points_back(question)
    assert search_text(question, [VALVE]) == question
