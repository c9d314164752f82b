"""The product's own models at work for the recordings, in a process that ends with its work.

::

    python models.py speak VOICE FOLDER NAME TEXT [NAME TEXT ...]     writes FOLDER/NAME.wav
    python models.py transcribe FILE                                  prints the words
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from recordings import RATE, STEP, Sound, load, resampled

LONGEST_S = 15.0
GAP_S = 0.3


def stretches(sound: Sound) -> Iterator[Sound]:
    """The speech of a sound, cut at its silences so that no stretch is too long for the speech-to-text."""
    loud = np.flatnonzero(sound.is_loud)
    first = loud[0] if loud.size else 0
    for place, step in enumerate(loud):
        follower = loud[place + 1] if place + 1 < loud.size else None
        ends = follower is None or (follower - step) * STEP > GAP_S * RATE
        if ends or (step - first) * STEP > LONGEST_S * RATE:
            yield Sound(sound.samples[max(int(first) * STEP - STEP * 5, 0) : (int(step) + 6) * STEP])
            first = follower if follower is not None else step


def transcribe(path: Path) -> str:
    """The words in a file of sound."""
    from voice_gateway.ears.model_files import SPEECH_TO_TEXT, inside_package, path_of
    from voice_gateway.ears.speech_to_text import load as load_model

    folder = {path_of(file).parent for file in SPEECH_TO_TEXT}.pop()
    model = load_model(str(inside_package("moonshine_voice", "libmoonshine.so")), str(folder))
    return " ".join(model.words(resampled(stretch.samples, RATE, 16_000)) for stretch in stretches(load(path)))


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["transcribe", path]:
            print(transcribe(Path(path)))
        case _:
            sys.exit(__doc__)
