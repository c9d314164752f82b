"""A piece's sound, as a speaker would leave it."""

from __future__ import annotations

import numpy as np

from voice_gateway.mouth.kokoro import RATE, Samples
from voice_gateway.mouth.shaping import shaped


def tone(seconds: float, level: float = 0.2) -> Samples:
    return (level * np.sin(np.arange(int(seconds * RATE)) / 20)).astype(np.float32)


def quiet(seconds: float) -> Samples:
    return np.zeros(int(seconds * RATE), np.float32)


def seconds(pcm: bytes) -> float:
    return len(pcm) / 2 / RATE


SPOKEN = np.concatenate((quiet(0.4), tone(1.0), quiet(0.6)))


def test_silence_at_the_ends_goes() -> None:
    assert 1.0 < seconds(shaped(SPOKEN, "y", last=False, speed=1.0)) < 1.15


def test_a_mark_leaves_the_pause_that_it_asks_for() -> None:
    none, comma, stop = (seconds(shaped(SPOKEN, mark, last=False, speed=1.0)) for mark in "y,.")
    assert none < comma < stop < none + 0.4


def test_faster_speech_has_shorter_pauses() -> None:
    assert seconds(shaped(SPOKEN, ".", last=True, speed=2.0)) < seconds(shaped(SPOKEN, ".", last=True, speed=1.0))


def test_pieces_begin_and_end_without_a_click_and_at_one_level() -> None:
    levels: list[float] = []
    for level in (0.1, 0.14):
        sound = np.frombuffer(shaped(tone(1.0, level), "y", last=False, speed=1.0), "<i2").astype(np.float32)
        assert abs(sound[0]) < 50
        assert abs(sound[-1]) < 50
        levels.append(float(np.sqrt(np.mean(sound**2))))
    assert levels[0] / levels[1] > 0.9


def test_loud_sound_is_not_clipped() -> None:
    sound = np.frombuffer(shaped(tone(1.0, 1.4), "y", last=False, speed=1.0), "<i2")
    assert np.max(np.abs(sound.astype(np.int32))) < 32_767


def test_silence_alone_is_no_sound() -> None:
    assert shaped(quiet(1.0), ".", last=True, speed=1.0) == b""
    assert shaped(np.zeros(10, np.float32), ".", last=True, speed=1.0) == b""
