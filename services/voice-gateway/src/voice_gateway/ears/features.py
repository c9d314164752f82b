"""The log-mel features of Whisper, which smart-turn listens to, in numpy.

Defined by Radford et al., "Robust Speech Recognition via Large-Scale Weak Supervision" (2022), section 2.2, and the
feature extractor published with it: 25 ms Hann windows every 10 ms, 80 triangles on the mel scale of Slaney's Auditory
Toolbox (linear below 1 kHz), each of area one, log10 of the power, at most 8 decades below the loudest.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

Samples = NDArray[np.float32]

RATE: Final = 16_000
SECONDS: Final = 8
_WINDOW: Final = 400
_HOP: Final = 160
_BANDS: Final = 80
_FRAMES: Final = SECONDS * RATE // _HOP
_KNEE_HZ: Final = 1000.0
_KNEE_MEL: Final = 15.0
_OCTAVE: Final = np.log(6.4) / 27


def samples(pcm: bytes) -> Samples:
    """PCM16 as samples of ±1."""
    return np.frombuffer(pcm, "<i2").astype(np.float32) * np.float32(1 / 32_768)


def log_mel(sound: Samples) -> Samples:
    """Features of shape ``(80, 800)`` of the last 8 s of ``sound`` (16 kHz, ±1); what is missing before it is silence.

    The wave is brought to mean 0 and variance 1 first, the silence in front of it included, as the model was trained.
    """
    wave = np.zeros(SECONDS * RATE, np.float32)
    last = sound[-wave.size :]
    wave[wave.size - last.size :] = last
    wave = (wave - wave.mean()) / np.sqrt(wave.var() + 1e-7)
    padded = np.pad(wave, _WINDOW // 2, mode="reflect")
    windows = np.lib.stride_tricks.sliding_window_view(padded, _WINDOW)[::_HOP][:_FRAMES]
    power = np.abs(np.fft.rfft(windows * _HANN, axis=1)) ** 2
    decades = np.log10(np.maximum(power @ _TRIANGLES, 1e-10)).T
    return ((np.maximum(decades, decades.max() - 8) + 4) / 4).astype(np.float32)


def _hertz(mel: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.where(mel < _KNEE_MEL, mel / _KNEE_MEL * _KNEE_HZ, _KNEE_HZ * np.exp((mel - _KNEE_MEL) * _OCTAVE))


def _triangles() -> Samples:
    top = _KNEE_MEL + np.log(RATE / 2 / _KNEE_HZ) / _OCTAVE
    edges = _hertz(np.linspace(0, top, _BANDS + 2))
    low, middle, high = edges[:-2], edges[1:-1], edges[2:]
    bins = np.fft.rfftfreq(_WINDOW, 1 / RATE)[:, None]
    sides = np.minimum((bins - low) / (middle - low), (high - bins) / (high - middle))
    return (np.maximum(sides, 0) * 2 / (high - low)).astype(np.float32)


_HANN: Final = (0.5 - 0.5 * np.cos(2 * np.pi * np.arange(_WINDOW) / _WINDOW)).astype(np.float32)
_TRIANGLES: Final = _triangles()
