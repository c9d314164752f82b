"""What counts as heard of an answer that was spoken, and what does not."""

from __future__ import annotations

import pytest
from transcripts import assert_heard, word_errors

ANSWER = (
    "Wait until the gauge above the valve has stood at 2.4 bar or more for a full minute, then enter the recovery code "
    "ORCHID-47 on the keypad beside the gauge."
)
HEARD = (
    "Wait until the gage above the valve has stood at two point four bars or more for a full minute. Then enter the "
    "recovery code {} on the keypad beside the gauge."
)


@pytest.mark.parametrize("name", ["Orchid. Forty-seven", "or kid forty seven", "or give forty seven", "ORCHID 47"])
def test_a_name_counts_as_heard_however_its_sounds_are_written(name: str) -> None:
    assert_heard(ANSWER, "ORCHID-47", HEARD.format(name))


@pytest.mark.parametrize("name", ["", "or give", "maple thirty two", "or give forty five", "amber vow"])
def test_another_name_is_not_taken_for_it(name: str) -> None:
    with pytest.raises(AssertionError, match="is not in"):
        assert_heard(ANSWER, "ORCHID-47", HEARD.format(name))


@pytest.mark.parametrize(
    "heard",
    [
        "",
        "Enter the recovery code orchid forty seven on the keypad beside the gauge.",
        HEARD.format("orchid forty seven").replace("has stood at two point four bars or more for a full", "the valve"),
    ],
)
def test_an_answer_of_which_a_part_is_missing_was_not_heard(heard: str) -> None:
    with pytest.raises(AssertionError, match="was heard as"):
        assert_heard(ANSWER, "ORCHID-47", heard)


def test_words_put_in_left_out_and_changed_count_as_one_error_each() -> None:
    assert word_errors(["the", "valve", "is", "shut"], ["now", "the", "wave", "is"]) == 3
    assert word_errors([], ["one"]) == 1
    assert word_errors(["one"], []) == 1
    assert word_errors(["one"], ["one"]) == 0
