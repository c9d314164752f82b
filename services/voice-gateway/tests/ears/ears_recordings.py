"""Sound for the tests of the ears: two recordings of the recogniser's package, and noises that are made here."""

from __future__ import annotations

import wave
from functools import cache

import numpy as np
import soxr
from numpy.typing import NDArray

from voice_gateway.ears import model_files
from voice_gateway.ears.features import Samples

RATE = 24_000


@cache
def recorded(name: str) -> Samples:
    """A recording of the recogniser's package, at 24 kHz."""
    with wave.open(str(model_files.inside_package("moonshine_voice", f"assets/{name}"))) as file:
        rate, channels = file.getframerate(), file.getnchannels()
        content = np.frombuffer(file.readframes(file.getnframes()), "<i2").astype(np.float32) / 32_768
    return soxr.resample(content.reshape(-1, channels).mean(axis=1), rate, RATE).astype(np.float32)


def pcm(samples: NDArray[np.floating]) -> bytes:
    return (np.clip(samples, -1, 0.9999) * 32_768).astype("<i2").tobytes()


def quiet(seconds: float) -> Samples:
    """A silent room, which is never quite silent."""
    return np.random.default_rng(1).normal(0, 0.0005, round(seconds * RATE)).astype(np.float32)


def fan(seconds: float) -> Samples:
    """Steady noise, more of it in the bass."""
    white = np.random.default_rng(2).normal(0, 1, round(seconds * RATE))
    return (np.convolve(white, np.ones(24) / 24, "same") * 0.1).astype(np.float32)


def typing(seconds: float) -> Samples:
    """A key every 150 ms: a click of some milliseconds."""
    chance, made = np.random.default_rng(3), quiet(seconds)
    for start in range(0, made.size - RATE // 50, round(0.15 * RATE)):
        click = chance.normal(0, 0.3, RATE // 50) * np.exp(-np.arange(RATE // 50) / 60)
        made[start : start + click.size] += click.astype(np.float32)
    return made


def cough(seconds: float) -> Samples:
    """Two bursts of noise with the hollow sound of a throat."""
    chance, made = np.random.default_rng(4), quiet(seconds)
    for start in (0.3, 0.65):
        length = round(0.22 * RATE)
        burst = chance.normal(0, 1, length) * np.exp(-np.arange(length) / (0.06 * RATE))
        hollow = np.convolve(burst, np.sin(2 * np.pi * 700 * np.arange(240) / RATE) * np.hanning(240), "same")
        first = round(start * RATE)
        made[first : first + length] += (hollow / np.abs(hollow).max() * 0.6).astype(np.float32)
    return made
