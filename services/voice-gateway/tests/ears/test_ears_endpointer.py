"""Turns are found in probabilities alone, on the clock of the sound."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from voice_gateway.ears.endpointer import LOOKS_MS, WINDOW_MS, Endpointer, Told, hangover_ms
from voice_gateway.ears.port import Tuning

ADAPTIVE, PLAIN = Tuning(), Tuning(adaptive=False)
voices = st.lists(st.floats(0, 1), max_size=300)


def told_of(probabilities: list[float], tuning: Tuning = ADAPTIVE, likelihood: float = 0.9) -> list[tuple[int, Told]]:
    """What is told of each window, and when; every look is answered by ``likelihood``."""
    endpointer, found = Endpointer(tuning), list[tuple[int, Told]]()
    for probability in probabilities:
        if endpointer.undecided and endpointer.judge(likelihood) is Told.ENDED:
            found.append((endpointer.now_ms, Told.ENDED))
            endpointer.end()
        told = endpointer.hear(probability)
        if told is not Told.NOTHING:
            found.append((endpointer.now_ms, told))
        if told is Told.ENDED:
            endpointer.end()
    return found


def windows(*spans: tuple[int, float]) -> list[float]:
    return [probability for ms, probability in spans for _ in range(ms // WINDOW_MS)]


@pytest.mark.behaviour("V6")
def test_speech_is_told_within_64_ms_of_sound() -> None:
    (at_ms, told), *_ = told_of(windows((320, 0), (640, 0.9)))
    assert told is Told.STARTED
    assert at_ms - 320 == 64


@pytest.mark.behaviour("V10")
def test_one_loud_window_is_a_click_and_begins_nothing() -> None:
    assert told_of(windows((320, 0), (32, 1), (320, 0), (32, 1), (960, 0))) == []


@pytest.mark.behaviour("V10")
def test_a_pause_of_a_second_inside_a_sentence_is_one_turn() -> None:
    told = told_of(windows((640, 0.9), (1024, 0), (640, 0.9), (1600, 0)), likelihood=0.1)
    kinds = [kind for _, kind in told]
    assert kinds.count(Told.STARTED) == kinds.count(Told.ENDED) == kinds.count(Told.RESUMED) == 1
    assert told[-1][0] == 640 + 1024 + 640 + 1408


def test_a_finished_sentence_ends_after_a_quarter_of_a_second() -> None:
    told = told_of(windows((640, 0.9), (1600, 0)), likelihood=0.95)
    assert told[-1] == (640 + 256, Told.ENDED)


def test_what_seemed_open_is_looked_at_again() -> None:
    told = told_of(windows((640, 0.9), (1600, 0)), likelihood=0.1)
    assert [at_ms - 640 for at_ms, kind in told if kind is Told.LOOK] == [96, 352, 640]


def test_a_plain_turn_ends_after_its_silence_and_asks_for_words_only() -> None:
    told = told_of(windows((640, 0.9), (1600, 0)), PLAIN)
    assert told[1:] == [(640 + 96, Told.LOOK), (640 + 512, Told.ENDED)]


def test_a_click_in_a_pause_does_not_begin_the_pause_again() -> None:
    told = told_of(windows((640, 0.9), (128, 0), (32, 0.9), (960, 0)), PLAIN)
    assert told[-1] == (640 + 512, Told.ENDED)


def test_nobody_speaks_for_ever() -> None:
    told = told_of(windows((61_000, 0.9)))
    assert [kind for _, kind in told][:2] == [Told.STARTED, Told.ENDED]


@given(voices, st.floats(0, 1), st.booleans())
def test_a_turn_begins_before_it_ends_and_rests_only_in_between(
    probabilities: list[float], likelihood: float, adaptive: bool
) -> None:
    told = told_of([*probabilities, *windows((2000, 0.0))], ADAPTIVE if adaptive else PLAIN, likelihood)
    inside = False
    for _, kind in told:
        assert (kind is Told.STARTED) is not inside
        inside = kind is not Told.ENDED
    assert not inside, "silence ends every turn"


@given(voices, st.floats(0, 1))
def test_the_same_sound_gives_the_same_turns(probabilities: list[float], likelihood: float) -> None:
    assert told_of(probabilities, likelihood=likelihood) == told_of(probabilities, likelihood=likelihood)


@given(st.floats(0, 1), st.floats(0, 1), st.integers(100, 3000))
def test_what_is_likelier_over_is_waited_for_no_longer(one: float, other: float, silence_ms: int) -> None:
    tuning = Tuning(silence_duration_ms=silence_ms)
    low, high = sorted((one, other))
    assert hangover_ms(high, tuning) <= hangover_ms(low, tuning)
    assert hangover_ms(high, tuning) >= LOOKS_MS[0]
