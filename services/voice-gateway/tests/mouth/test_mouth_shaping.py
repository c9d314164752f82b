"""The sound of a breath, as a speaker would leave it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from voice_gateway.mouth.kokoro import RATE, Samples
from voice_gateway.mouth.shaping import Shaper

BESIDE = RATE // 10


def tone(seconds: float, level: float = 0.2) -> Samples:
    return (level * np.sin(np.arange(int(seconds * RATE)) / 20)).astype(np.float32)


def quiet(seconds: float) -> Samples:
    return np.zeros(int(seconds * RATE), np.float32)


def shaped(samples: Samples, mark: str, *, last: bool = False, speed: float = 1.0) -> Samples:
    """A breath that is made in one stretch."""
    pcm = Shaper(mark, last=last, speed=speed).more(samples, 0, 0, whole=True)
    return np.frombuffer(pcm, "<i2").astype(np.float32)


def in_stretches(samples: Samples, ends: Sequence[int], levels: Sequence[float]) -> list[Samples]:
    """A breath that is made in stretches with these ends, each of which comes at a level of its own."""
    shaper, first, found = Shaper("y", last=False, speed=1.0), 0, list[Samples]()
    for end, level in zip(ends, levels, strict=True):
        start, after = max(0, first - BESIDE), min(len(samples), end + BESIDE)
        pcm = shaper.more(samples[start:after] * level, first - start, after - end, whole=end == len(samples))
        found.append(np.frombuffer(pcm, "<i2").astype(np.float32))
        first = end
    return found


def seconds(sound: Samples) -> float:
    return len(sound) / RATE


def level(sound: Samples) -> float:
    return float(np.sqrt(np.mean(sound**2)))


SPOKEN = np.concatenate((quiet(0.4), tone(1.0), quiet(0.6)))


def test_silence_at_the_ends_goes() -> None:
    assert 1.0 < seconds(shaped(SPOKEN, "y")) < 1.15


def test_a_mark_leaves_the_pause_that_it_asks_for() -> None:
    none, comma, stop = (seconds(shaped(SPOKEN, mark)) for mark in "y,.")
    assert none < comma < stop < none + 0.4


def test_faster_speech_has_shorter_pauses() -> None:
    assert seconds(shaped(SPOKEN, ".", speed=2.0)) < seconds(shaped(SPOKEN, ".", speed=1.0))


def test_breaths_begin_and_end_without_a_click_and_at_one_level() -> None:
    found = [shaped(tone(1.0, loud), "y") for loud in (0.1, 0.14)]
    assert all(abs(sound[0]) < 50 and abs(sound[-1]) < 50 for sound in found)
    assert level(found[0]) / level(found[1]) > 0.9


def test_loud_sound_is_not_clipped() -> None:
    assert np.max(np.abs(shaped(tone(1.0, 1.4), "y"))) < 32_767


def test_stretches_put_together_are_what_was_said_in_one() -> None:
    whole = shaped(SPOKEN, "y")
    parts = in_stretches(SPOKEN, (RATE // 2, RATE, len(SPOKEN)), (1.0, 1.0, 1.0))
    assert all(len(part) > 0 for part in parts)
    joined = np.concatenate(parts)
    assert len(joined) == len(whole)
    assert np.max(np.abs(joined - whole)) < 0.1 * np.max(np.abs(whole))


def test_a_silent_last_stretch_still_leaves_the_pause() -> None:
    shaper = Shaper(".", last=True, speed=1.0)
    shaper.more(np.concatenate((tone(0.5), quiet(0.2))), 0, BESIDE, whole=False)
    assert len(shaper.more(quiet(0.4), BESIDE, 0, whole=True)) > 0.5 * RATE


def test_where_stretches_of_different_levels_meet_nothing_jumps() -> None:
    smooth = np.max(np.abs(np.diff(shaped(SPOKEN, "y"))))
    joined = np.concatenate(in_stretches(SPOKEN, (RATE, len(SPOKEN)), (1.0, 1.25)))
    assert np.max(np.abs(np.diff(joined))) < 1.5 * smooth


def test_sound_that_begins_behind_a_seam_is_heard_once() -> None:
    late = np.concatenate((quiet(0.56), tone(1.0), quiet(0.3)))
    whole, parts = shaped(late, "y"), in_stretches(late, (RATE // 2, len(late)), (1.0, 1.0))
    assert abs(sum(map(len, parts)) - len(whole)) < RATE // 20
    assert np.max(np.abs(np.diff(np.concatenate(parts)))) < 1.5 * np.max(np.abs(np.diff(whole)))


def test_a_crack_at_the_beginning_of_a_stretch_is_not_heard_and_silences_nothing() -> None:
    first, second = tone(0.5), tone(0.6)
    second[:100] = 90.0
    shaper = Shaper("y", last=False, speed=1.0)
    shaper.more(np.concatenate((first, tone(0.1))), 0, BESIDE, whole=False)
    sound = np.frombuffer(shaper.more(second, BESIDE, 0, whole=True), "<i2").astype(np.float32)
    assert 1_500 < level(sound) < 6_000


def test_silence_alone_is_no_sound() -> None:
    assert len(shaped(quiet(1.0), ".", last=True)) == 0
    assert len(shaped(np.zeros(10, np.float32), ".", last=True)) == 0
