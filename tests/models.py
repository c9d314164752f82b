"""The product's own models at work for the recordings, in a process that ends with its work.

::

    python models.py speak VOICE FOLDER NAME TEXT [NAME TEXT ...]     writes FOLDER/NAME.wav
    python models.py transcribe FILE                                  prints the words
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from recordings import RATE, STEP, Samples, Sound, load, of_pcm, resampled

VOICES = Path(__file__).parents[1] / "services/voice-gateway/src/voice_gateway/mouth/voices"
EARS_RATE = 16_000
SPEED = 0.85
"""Of the questions: as somebody speaks who wants to be understood."""
LONGEST_S = 15.0
GAP_S = 0.5
AROUND = RATE // 4
"""Samples kept before and behind what is loud: an "f" at an end is not."""


def stretches(sound: Sound) -> Iterator[Sound]:
    """The speech of a sound, cut at its silences so that no stretch is too long for the speech-to-text."""
    loud = np.flatnonzero(sound.is_loud)
    first = loud[0] if loud.size else 0
    for place, step in enumerate(loud):
        follower = loud[place + 1] if place + 1 < loud.size else None
        ends = follower is None or (follower - step) * STEP > GAP_S * RATE
        if ends or (step - first) * STEP > LONGEST_S * RATE:
            start, end = max(int(first) * STEP - AROUND, 0), int(step) * STEP + AROUND
            yield Sound(sound.samples[start:end])
            first = follower if follower is not None else step


async def transcribe(path: Path) -> str:
    """The words in a file of sound."""
    from voice_gateway.ears.local import open_ears

    async with open_ears() as ears:
        found = [await ears.words(Sound(_slow(stretch)).pcm) for stretch in stretches(load(path))]
    return " ".join(found)


def _slow(sound: Sound) -> Samples:
    """The samples at the rate of the ears."""
    return resampled(sound.samples, RATE, EARS_RATE)


def speak(voice: str, folder: Path, texts: Sequence[tuple[str, str]]) -> None:
    """Say each text into a file of its name."""
    from voice_gateway.mouth.speaker import make

    speaker = make((str(VOICES / f"{voice}.bin"),), 2)
    for name, text in texts:
        pcm = b"".join(sound for _, sound in speaker.run((text, voice, SPEED, False)))
        of_pcm(pcm).save(folder / f"{name}.wav", RATE)


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["speak", voice, folder, *texts]:
            speak(voice, Path(folder), list(zip(texts[::2], texts[1::2], strict=True)))
        case ["transcribe", path]:
            print(asyncio.run(transcribe(Path(path))))
        case _:
            sys.exit(__doc__)
