"""Our own voice coming back is known, late, soft and blurred; a person who speaks over it is heard."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from ears_recordings import RATE as IN
from ears_recordings import pcm, recorded

from voice_gateway.ears import model_files
from voice_gateway.ears.features import RATE, Samples
from voice_gateway.ears.hearing import Hearing, load
from voice_gateway.ears.windows import Sound

STEP = 480


@cache
def hearing() -> Hearing:
    return load(str(model_files.path_of(model_files.VOICE_ACTIVITY)), 1, 100)


def echo_of(played: Samples, delay_s: float, gain: float) -> Samples:
    """As a small room gives it back."""
    noise = np.random.default_rng(47)
    room = noise.normal(0, 0.15, IN // 8) * np.exp(-np.arange(IN // 8) / (0.03 * IN))
    room[0] = 1
    late = np.concatenate((np.zeros(round(delay_s * IN)), np.convolve(played, room)))[: played.size]
    return (late * gain + noise.normal(0, 0.001, played.size)).astype(np.float32)


def onsets_s(session: int, heard: Samples, played: Samples | None) -> list[float]:
    """When a listener would take a voice for somebody's: twice in a row, and not an echo."""
    run, found, at = 0, list[float](), 0
    for start in range(0, heard.size, STEP):
        playing = pcm(played[start : start + STEP]) if played is not None else b""
        for window in next(hearing().run(Sound(session, pcm(heard[start : start + STEP]), playing))):
            at += len(window.sound) // 2
            run = run + 1 if window.probability >= 0.5 and not window.echo else 0
            if run == 2:
                found.append(at / RATE)
    return found


@pytest.mark.behaviour("V10")
@pytest.mark.parametrize(("delay_s", "gain"), [(0.05, 1.0), (0.3, 0.05), (0.5, 0.3)])
def test_our_own_voice_starts_nothing(delay_s: float, gain: float) -> None:
    ours = recorded("two_cities.wav")[: 6 * IN]
    assert onsets_s(hash((delay_s, gain)), echo_of(ours, delay_s, gain), ours) == []


@pytest.mark.behaviour("V6")
@pytest.mark.parametrize(("delay_s", "gain"), [(0.0, 0.3), (0.4, 0.1)])
def test_a_person_speaking_over_it_is_heard(delay_s: float, gain: float) -> None:
    ours = recorded("two_cities.wav")[: 5 * IN]
    heard = echo_of(ours, delay_s, gain)
    person = recorded("beckett.wav")[IN // 3 : IN * 2] * 0.7
    heard[3 * IN : 3 * IN + person.size] += person
    first, *_ = onsets_s(hash((delay_s, gain, "person")), heard, ours)
    assert 3 <= first <= 3.5


@pytest.mark.behaviour("V6")
def test_who_hears_us_through_a_headset_is_heard_as_fast_as_ever() -> None:
    ours = recorded("two_cities.wav")[: 6 * IN]
    person = np.zeros(ours.size, np.float32)
    spoken = recorded("beckett.wav")[: 2 * IN]
    person[3 * IN : 3 * IN + spoken.size] = spoken
    assert onsets_s(7, person, ours)[0] == pytest.approx(onsets_s(8, person, None)[0], abs=0.033)


def test_silence_and_noise_are_no_voice() -> None:
    noise = np.random.default_rng(5).normal(0, 0.05, 5 * IN).astype(np.float32)
    assert onsets_s(9, np.concatenate((np.zeros(3 * IN, np.float32), noise)), None) == []


def test_the_session_that_was_silent_longest_is_forgotten() -> None:
    ears = load(str(model_files.path_of(model_files.VOICE_ACTIVITY)), 1, 2)
    for session in (1, 2, 1, 3):
        next(ears.run(Sound(session, bytes(960), b"")))
    assert ears.sessions == (1, 3)
    next(ears.run(Sound(1, b"", b"", last=True)))
    assert ears.sessions == (3,)
