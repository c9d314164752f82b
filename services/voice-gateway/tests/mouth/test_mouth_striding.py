"""How far a stretch of speech goes."""

from __future__ import annotations

import pytest

from voice_gateway.mouth.kokoro import BESIDE
from voice_gateway.mouth.scoring import End
from voice_gateway.mouth.striding import FRAME_S, Stride

WORDS = [End(frame, number + 1, pauses=number % 5 == 4) for number, frame in enumerate(range(10, 401, 10))]


def at_rate(rate: float) -> Stride:
    stride = Stride()
    for _ in range(30):
        stride.learn(40, 40 * FRAME_S * rate)
    return stride


def spoken(stride: Stride, rate: float, words: list[End] = WORDS) -> tuple[list[int], float]:
    """The frames of each stretch on a machine of a constant rate, and the longest wait within the speech."""
    first, now, playable, wait, frames = 0, 0.0, None, 0.0, list[int]()
    ends = words
    while ends:
        chosen = stride.next(ends, first, None if playable is None else playable - now)
        end, ends = ends[chosen], ends[chosen + 1 :]
        now += rate * FRAME_S * (end.frame - first + 2 * BESIDE)
        if playable is not None:
            wait = max(wait, now - playable)
        playable = max(playable or now, now) + (end.frame - first) * FRAME_S
        frames.append(end.frame - first)
        first = end.frame
    return frames, wait


@pytest.mark.parametrize("rate", [0.1, 0.3, 0.5, 0.6])
def test_on_a_machine_that_keeps_up_nobody_waits_within_a_breath(rate: float) -> None:
    frames, wait = spoken(at_rate(rate), rate)
    assert wait == 0.0
    assert sum(frames) == WORDS[-1].frame


def test_the_first_stretch_is_short_and_those_after_it_grow() -> None:
    frames, _ = spoken(at_rate(0.4), 0.4)
    assert frames[0] <= 30
    assert frames == sorted(frames[:-1]) + frames[-1:]
    assert max(frames) > 2 * frames[0]


def test_a_slower_machine_waits_longer_before_it_begins() -> None:
    assert spoken(at_rate(1.0), 1.0)[0][0] > spoken(at_rate(0.3), 0.3)[0][0]


def test_a_machine_that_cannot_keep_up_waits_where_a_speaker_pauses() -> None:
    frames, _ = spoken(at_rate(2.0), 2.0)
    ends = [sum(frames[: number + 1]) for number in range(1, len(frames))]
    assert all(end % 50 == 0 for end in ends)


def test_nobody_waiting_gives_the_longest_stretches() -> None:
    assert WORDS[at_rate(0.5).next(WORDS, 0, 60.0)].frame >= 100


def test_a_little_rest_is_no_stretch_of_its_own() -> None:
    words = [End(30, 1, pauses=False), End(38, 2, pauses=True)]
    assert at_rate(0.1).next(words, 0, None) == 1


def test_one_measurement_gone_wrong_does_not_decide() -> None:
    stride = at_rate(0.4)
    stride.learn(40, 60.0)
    assert spoken(stride, 0.4)[0][0] <= 60


def test_one_long_word_is_one_stretch() -> None:
    assert Stride().next([End(300, 1, pauses=True)], 0, None) == 0
    assert Stride().next([End(300, 1, pauses=True)], 0, 0.1) == 0


def test_the_first_stretch_ends_with_the_last_word_that_is_soon_enough() -> None:
    words = [End(frame, number + 1, pauses=False) for number, frame in enumerate((12, 26, 70, 90))]
    assert at_rate(1.0).next(words, 0, None) == 1
    assert at_rate(1.0).next(words[2:], 0, None) == 0
