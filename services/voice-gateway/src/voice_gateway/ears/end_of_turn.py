"""smart-turn: whether the melody of what was said sounds finished; in a process of its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import numpy as np

from voice_gateway.ears.features import RATE, SECONDS, Samples, log_mel, samples
from voice_gateway.runtime import open_model

LONGEST_BYTES: Final = SECONDS * RATE * 2
"""Of PCM16 that the model looks at; what is before that is not worth sending."""


class EndOfTurn:
    """Each job is the end of a turn's sound (PCM16 at 16 kHz); its one result how likely the turn is over."""

    def __init__(self, content: bytes, threads: int) -> None:
        self._model = open_model(content, threads)

    def run(self, sound: bytes) -> Iterator[float]:
        """The one result, 0 to 1."""
        yield self.probability(samples(sound[-LONGEST_BYTES:]))

    def probability(self, sound: Samples) -> float:
        """That the person who said ``sound`` (16 kHz, ±1) has finished."""
        # The graph ends in a sigmoid, though its output is named "logits".
        (found,) = self._model({"input_features": log_mel(sound)[None]})
        return float(found.reshape(-1)[0])


def load(path: str, threads: int) -> EndOfTurn:
    """The model, warm."""
    model = EndOfTurn(Path(path).read_bytes(), threads)
    model.probability(np.zeros(RATE, np.float32))
    return model
