"""What the words alone tell of a turn."""

from __future__ import annotations

import pytest

from voice_gateway.ears.sentences import is_backchannel, is_invented, is_nothing, is_open, likelihood_over


@pytest.mark.behaviour("V10")
@pytest.mark.parametrize(
    "text",
    [
        "What is the",
        "Show me the valves and",
        "What is the code of,",
        "I was wondering if",
        "And what is",
        "It was the best of",
        "Um.",
    ],
)
def test_a_sentence_that_asks_for_more_is_open(text: str) -> None:
    assert is_open(text)
    assert likelihood_over(0.8, text) < 0.5


@pytest.mark.parametrize(
    "text",
    [
        "What is the recovery code?",
        "What is this valve used for?",
        "What is the red lever for?",
        "Tell me what the code is.",
        "Do you know where the keys are?",
        "When does it open?",
        "How is that?",
        "Stop.",
    ],
)
def test_a_finished_question_is_not(text: str) -> None:
    assert not is_open(text)
    assert likelihood_over(0.8, text) >= 0.8


@pytest.mark.behaviour("V10")
@pytest.mark.parametrize(
    "text", ["Mm-hmm.", "mhm", "Uh-huh.", "Okay.", "Yeah, right.", "I see.", "Mm hmm", "Oh, okay."]
)
def test_listening_noises_are_backchannels(text: str) -> None:
    assert is_backchannel(text)


@pytest.mark.parametrize(
    "text", ["Okay, and where is the valve?", "Right of the door?", "Stop.", "No.", "Continue.", "Repeat that.", ""]
)
def test_what_wants_something_is_no_backchannel(text: str) -> None:
    assert not is_backchannel(text)


def test_punctuation_is_no_word() -> None:
    assert is_nothing(" ... ")
    assert not is_nothing("47")


def test_what_a_recogniser_makes_of_noise_is_known() -> None:
    assert is_invented("You")
    assert is_invented("Thank you.")
    assert not is_invented("Thank you for the valve.")
