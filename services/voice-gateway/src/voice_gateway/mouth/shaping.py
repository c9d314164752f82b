"""The sound of a breath as a speaker would leave it: without seams, and with no silence at its ends but a pause.

The stretches of a breath are made apart: where two meet they are blended over 20 ms, and their levels are evened.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from voice_gateway.mouth.kokoro import RATE, Samples

_STEP: Final = RATE // 100
_SILENCE: Final = 0.012
"""Of 10 ms, root mean square, 1.0 being the loudest: what is below it at the ends is no speech."""
_LEAD_S: Final = 0.04
_BREATH: Final = 0.003
"""Of 10 ms beside speech: an "f" at an end is as soft as that, and the model's own silence softer still."""
_TAIL_S: Final = 0.07
_LONGEST_TAIL_S: Final = 0.25
"""Behind the last loud 10 ms, so much is kept, and more where something is breathed."""
_PAUSES_S: Final = {",": 0.14, ";": 0.22, ":": 0.22, "—": 0.2, ".": 0.3, "!": 0.3, "?": 0.3, "…": 0.35}
_PHRASE_S: Final = 0.28
_FADE: Final = RATE // 200
_BLEND: Final = RATE // 100
"""Samples on each side of a seam over which one stretch becomes the next."""
_LEVEL: Final = 0.09
_PEAK: Final = 0.97


class Shaper:
    """Puts the stretches of one breath together, each as soon as it is there."""

    def __init__(self, mark: str, *, last: bool, speed: float) -> None:
        """``mark`` is the breath's last one, ``last`` whether it is its phrase's last breath."""
        self._pause_s = max(_PAUSES_S.get(mark, 0.0), _PHRASE_S if last else 0.0) / speed
        self._held: Samples | None = None
        self._energy, self._count = 0.0, 0

    def more(self, samples: Samples, before: int, behind: int, *, whole: bool) -> bytes:
        """The PCM that can be played once a stretch is there, ``whole`` if it is the last one.

        ``samples`` have so many more ``before`` the stretch and ``behind`` it, none of them at the breath's ends.
        """
        samples = self._evened(samples, before, behind)
        if self._held is None:
            # What is blended into the next stretch stays whole.
            speech = _opened(samples[before:], len(samples) - before - (0 if whole else behind + _BLEND))
        else:
            speech = samples[before - _BLEND :].copy()
            rise = np.linspace(0, 1, len(self._held), dtype=np.float32)
            speech[: len(rise)] = self._held * (1 - rise) + speech[: len(rise)] * rise
        if whole:
            return _pcm(self._closed(speech))
        speech = speech[: len(speech) - behind + _BLEND]
        self._held = speech[-2 * _BLEND :]
        return _pcm(speech[: -2 * _BLEND])

    def _evened(self, samples: Samples, before: int, behind: int) -> Samples:
        """A little louder or quieter, so that what is made apart sounds as one, and never beyond the loudest."""
        # At its very beginning, where nothing of it is heard, a stretch may crack.
        speech = samples[max(0, before - _BLEND) :]
        peak = float(np.max(np.abs(speech), initial=0))
        levels = _levels(speech[: len(speech) - behind])
        loud = levels[levels > _SILENCE]
        self._energy += float(np.sum(loud**2))
        self._count += len(loud)
        level = (self._energy / max(self._count, 1)) ** 0.5
        return samples * np.float32(min(max(_LEVEL / max(level, 1e-6), 0.75), 1.35, _PEAK / max(peak, 1e-6)))

    def _closed(self, speech: Samples) -> Samples:
        """Without the silence at the end, and with the pause in its place; nothing where nobody spoke."""
        pause = np.zeros(int(self._pause_s * RATE) if self._energy else 0, np.float32)
        levels = _levels(speech)
        (loud,) = np.nonzero(levels > _SILENCE)
        if not len(loud):
            return pause
        (breaths,) = np.nonzero(levels[loud[-1] : loud[-1] + int(_LONGEST_TAIL_S * RATE) // _STEP] > _BREATH)
        end = int(loud[-1] + breaths[-1] + 1) * _STEP + int(_TAIL_S * RATE)
        fall = np.linspace(1, 0, _FADE, dtype=np.float32)
        kept = speech[:end].copy()
        kept[len(kept) - len(fall) :] *= fall[-len(kept) :]
        return np.concatenate((kept, pause))


def _opened(speech: Samples, most: int) -> Samples:
    """Without the silence before the first sound, which has ``most`` samples at the most."""
    (loud,) = np.nonzero(_levels(speech) > _SILENCE)
    start = max(0, min(int(loud[0]) * _STEP - int(_LEAD_S * RATE), most)) if len(loud) else 0
    opened = speech[start:].copy()
    rise = np.linspace(0, 1, _FADE, dtype=np.float32)
    opened[: len(rise)] *= rise[: len(opened)]
    return opened


def _levels(speech: Samples) -> Samples:
    whole = speech[: len(speech) // _STEP * _STEP].reshape(-1, _STEP)
    return np.sqrt(np.mean(whole**2, axis=1)) if len(whole) else np.zeros(0, np.float32)


def _pcm(speech: Samples) -> bytes:
    return (np.clip(speech, -1, 1) * 32767).astype("<i2").tobytes()
