"""A piece's sound as a speaker would leave it: no silence at its ends but the pause that its last mark asks for."""

from __future__ import annotations

from typing import Final

import numpy as np

from voice_gateway.mouth.kokoro import RATE, Samples

_FRAME: Final = RATE // 100
_SILENCE: Final = 0.012
"""Of a frame of 10 ms, root mean square, 1.0 being the loudest: what is below it at the ends is no speech."""
_LEAD_S: Final = 0.04
_BREATH: Final = 0.003
"""Of a frame beside speech: an "f" at an end is as soft as that, and the model's own silence softer still."""
_TAIL_S: Final = 0.07
_LONGEST_TAIL_S: Final = 0.25
"""Behind the last loud frame, so much is kept, and more where something is breathed."""
_PAUSES_S: Final = {",": 0.14, ";": 0.22, ":": 0.22, "—": 0.2, ".": 0.3, "!": 0.3, "?": 0.3, "…": 0.35}
_PHRASE_S: Final = 0.28
_FADE: Final = RATE // 200
_LEVEL: Final = 0.09
_PEAK: Final = 0.97


def shaped(samples: Samples, mark: str, *, last: bool, speed: float) -> bytes:
    """PCM of ``samples`` with their ends trimmed, at one level, and the pause that ``mark``, the last one, asks for."""
    loud = _loud(samples)
    if loud is None:
        return b""
    first, after = loud
    start = max(0, first - int(_LEAD_S * RATE))
    end = min(len(samples), after + int(_TAIL_S * RATE))
    speech = samples[start:end].astype(np.float32, copy=True)
    speech *= _gain(speech)
    fade = np.linspace(0, 1, min(_FADE, len(speech) // 2), dtype=np.float32)
    speech[: len(fade)] *= fade
    speech[len(speech) - len(fade) :] *= fade[::-1]
    pause = max(_PAUSES_S.get(mark, 0.0), _PHRASE_S if last else 0.0) / speed
    silence = np.zeros(int(pause * RATE), np.float32)
    return (np.clip(np.concatenate((speech, silence)), -1, 1) * 32767).astype("<i2").tobytes()


def _loud(samples: Samples) -> tuple[int, int] | None:
    """The samples ``[first, after)`` between the first and the last frame that hold speech."""
    frames = len(samples) // _FRAME
    if not frames:
        return None
    level = np.sqrt(np.mean(samples[: frames * _FRAME].reshape(frames, _FRAME) ** 2, axis=1))
    (places,) = np.nonzero(level > _SILENCE)
    if not len(places):
        return None
    tail = level[places[-1] : places[-1] + int(_LONGEST_TAIL_S * RATE) // _FRAME]
    (breaths,) = np.nonzero(tail > _BREATH)
    return int(places[0]) * _FRAME, int(places[-1] + breaths[-1] + 1) * _FRAME


def _gain(speech: Samples) -> float:
    """A little louder or quieter, so that pieces made apart sound as one, and never beyond the loudest."""
    level = float(np.sqrt(np.mean(speech**2)))
    peak = float(np.max(np.abs(speech)))
    return min(max(_LEVEL / max(level, 1e-6), 0.75), 1.35, _PEAK / max(peak, 1e-6))
