"""T4: what a model is told of the turns before."""

from __future__ import annotations

import pytest

from agent.history import INTERRUPTED_HERE, PastTurn, recent_turns

pytestmark = pytest.mark.behaviour("T4")


def turn(number: int, length: int = 10) -> PastTurn:
    return PastTurn(f"q{number}", "a" * length)


def test_turns_come_in_the_order_of_time() -> None:
    assert [one.question for one in recent_turns([turn(3), turn(2), turn(1)])] == ["q1", "q2", "q3"]


def test_only_the_newest_twenty_are_told() -> None:
    kept = recent_turns([turn(number) for number in range(30, 0, -1)])
    assert [one.question for one in kept] == [f"q{number}" for number in range(11, 31)]


def test_the_first_turn_that_does_not_fit_ends_the_history_though_an_older_one_would_fit() -> None:
    newest_first = [turn(3, 100), turn(2, 39_900), turn(1, 10)]
    assert [one.question for one in recent_turns(newest_first)] == ["q3"]


def test_exactly_forty_thousand_characters_fit_and_one_more_does_not() -> None:
    assert len(recent_turns([turn(1, 40_000 - 2)])) == 1
    assert recent_turns([turn(1, 40_000 - 1)]) == ()


def test_the_length_of_a_turn_counts_its_question_too() -> None:
    assert recent_turns([PastTurn("q" * 2000, "a" * 38_001)]) == ()


def test_no_history_may_be_asked_for() -> None:
    assert recent_turns([turn(1)], turns=0) == ()


@pytest.mark.behaviour("V11")
def test_of_an_interrupted_answer_only_the_heard_part_is_told_and_that_it_was_cut_short() -> None:
    cut = PastTurn("q", "The valve is amber. The code is ORCHID-47.", "interrupted", heard=19)
    assert cut.told_answer == f"The valve is amber.\n{INTERRUPTED_HERE}"


@pytest.mark.behaviour("V11")
@pytest.mark.parametrize("heard", [None, 0])
def test_an_answer_of_which_nothing_was_heard_tells_only_that_it_was_cut_short(heard: int | None) -> None:
    assert PastTurn("q", "Never heard.", "interrupted", heard=heard).told_answer == INTERRUPTED_HERE


def test_more_heard_than_was_said_is_all_of_it() -> None:
    assert PastTurn("q", "Short.", "interrupted", heard=900).known_answer == "Short."
