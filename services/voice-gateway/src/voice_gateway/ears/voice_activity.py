"""Silero's voice activity detection: how likely each window of 32 ms holds a voice."""

from __future__ import annotations

from typing import Final

import numpy as np

from voice_gateway.ears.features import Samples
from voice_gateway.runtime import Run

WINDOW: Final = 512
"""Samples at 16 kHz; the model takes no other length."""
_CONTEXT: Final = 64
_RESET_AFTER: Final = 62
_QUIET: Final = 0.1
_QUIET_WINDOWS: Final = 5


class VoiceActivity:
    """One stream of sound through the model, which remembers what came before.

    Long music or noise leaves that memory so that it hears the next voice late; it is emptied every 2 s of sound, but
    only while nobody has spoken for 160 ms, because an empty memory hears a word's middle late too.
    """

    def __init__(self, model: Run) -> None:
        self._model = model
        self._rate = np.array(16_000, np.int64)
        self._since_reset = 0
        self._quiet = 0
        self._empty()

    def probability(self, window: Samples) -> float:
        """Of a voice in the next 512 samples (16 kHz, ±1)."""
        heard = np.concatenate((self._context, window))
        found, self._state = self._model({"input": heard[None], "state": self._state, "sr": self._rate})
        self._context = window[-_CONTEXT:]
        probability = float(found[0, 0])
        self._since_reset += 1
        self._quiet = self._quiet + 1 if probability < _QUIET else 0
        if self._since_reset >= _RESET_AFTER and self._quiet >= _QUIET_WINDOWS:
            self._empty()
            self._since_reset = 0
        return probability

    def _empty(self) -> None:
        self._state = np.zeros((2, 1, 128), np.float32)
        self._context = np.zeros(_CONTEXT, np.float32)
