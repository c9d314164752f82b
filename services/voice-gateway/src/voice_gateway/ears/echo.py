"""Whether what the microphone hears is our own voice coming back from the person's speaker.

The browser cancels most of the echo; this is for what it leaves, and for clients that cancel none. Sounds are compared
as the power in 20 bands every 16 ms, which a room's filter, a jitter buffer and a speaker's distortion change little::

    played  --bands--> the last 0.8 s --- lag --+--> expected echo = played at the lag, at the learnt gain a band
    heard   --bands--> the last 0.5 s ---------/           |
                                                heard louder than that in many bands: somebody speaks over it

The lag is where both patterns agree best (normalised cross-correlation of log powers), the gain is the median of what
was heard above what was played while they agreed. Until either is known, a voice that begins while we speak is taken
for an echo for 0.4 s at most; once we have spoken for a while and nothing came back, it is not.
"""

from __future__ import annotations

from collections import deque
from typing import Final

import numpy as np
from numpy.typing import NDArray

from voice_gateway.ears.features import RATE, Samples

HOP: Final = 256
_FRAME: Final = 512
_BANDS: Final = 20
_LAGS: Final = 44
"""Frames of 16 ms, so 0.7 s: the jitter buffer, both sound cards and the way back."""
_COMPARED: Final = 32
_FLOOR_DB: Final = -75.0
_ACTIVE_DB: Final = 12.0
"""Over the floor, from which on a band holds something."""
_AGREE: Final = 0.6
_LEARNT_FRAMES: Final = 190
_OVER_DB: Final = 9.0
_OVER_SHARE: Final = 0.3
_GAIN_FRAMES: Final = 12
_UNKNOWN_FRAMES: Final = 26
_ABSENT_FRAMES: Final = 40
_DECAY_DB: Final = 4.0
"""A frame; how fast a room falls silent."""


class EchoGate:
    """Compares two streams of sound (16 kHz, ±1), fed window by window."""

    def __init__(self) -> None:
        self._played = _Bands(_LAGS + _COMPARED + 4)
        self._heard = _Bands(_COMPARED)
        self._agreement = np.zeros(_LAGS)
        self._lag: int | None = None
        self._over_played: deque[NDArray[np.float64]] = deque(maxlen=_LEARNT_FRAMES)
        self._unlearnt = 0
        self._gain: NDArray[np.float64] | None = None
        self._expected = np.full(_BANDS, _FLOOR_DB)
        self._noise = np.full(_BANDS, -50.0)
        self._voiced = 0
        self._unanswered = 0

    def is_echo(self, heard: Samples, played: Samples, probability: float) -> bool:
        """Whether the voice in ``heard`` (512 samples) is ours; ``played`` is as much of what the speaker plays.

        ``probability`` is how likely a voice is in it at all.
        """
        fresh = self._heard.add(heard)
        self._played.add(played)
        self._voiced = self._voiced + fresh if probability >= 0.4 else 0
        if not self._playing():
            self._voiced = 0
            return False
        self._learn(probability, fresh)
        if self._gain is not None and self._lag is not None:
            return not self._over_expected(fresh)
        if self._unanswered >= _ABSENT_FRAMES:
            return False
        return 0 < self._voiced < _UNKNOWN_FRAMES

    def _playing(self) -> bool:
        recent = self._played.frames[-(_LAGS + 4) :]
        return bool((recent.max(axis=1) > _FLOOR_DB + 2 * _ACTIVE_DB).any())

    def _learn(self, probability: float, fresh: int) -> None:
        frames = self._heard.frames
        if probability < 0.2:
            self._noise += np.clip(frames[-1] - self._noise, -3.0, 0.3)
            # What we play is heard by nobody's microphone: a headset, or a canceller that works.
            if self._played.frames[-_LAGS:].max() > _FLOOR_DB + 3 * _ACTIVE_DB and self._gain is None:
                self._unanswered += fresh
            return
        self._agreement *= 0.8
        self._agreement += 0.2 * self._correlate(frames)
        best = int(self._agreement.argmax())
        if self._agreement[best] < _AGREE:
            return
        self._lag = best
        self._unanswered = 0
        for back in range(fresh, 0, -1):
            played = self._at_lag(back)
            active = played > _FLOOR_DB + _ACTIVE_DB
            self._over_played.append(np.where(active, frames[-back] - played, np.nan))
        self._unlearnt += fresh
        if len(self._over_played) >= _GAIN_FRAMES and (self._gain is None or self._unlearnt >= _GAIN_FRAMES):
            self._unlearnt = 0
            learnt = np.array(self._over_played)
            known = np.isfinite(learnt).sum(axis=0) >= _GAIN_FRAMES // 2
            self._gain = np.full(_BANDS, 0.0)
            self._gain[known] = np.nanmedian(learnt[:, known], axis=0)

    def _correlate(self, frames: NDArray[np.float64]) -> NDArray[np.float64]:
        """How well the heard pattern agrees with the played one at each lag, -1 to 1."""
        heard = np.maximum(frames, self._noise)
        heard = heard - heard.mean(axis=0)
        played = self._played.frames[-(_LAGS + _COMPARED - 1) :]
        parts = np.lib.stride_tricks.sliding_window_view(played, _COMPARED, axis=0)
        together = np.einsum("lbt,tb->l", parts, heard)
        spread = (parts.var(axis=2) * _COMPARED).sum(axis=1)
        return (together / np.sqrt(spread * (heard**2).sum() + 1e-3))[::-1]

    def _at_lag(self, back: int) -> NDArray[np.float64]:
        assert self._lag is not None
        end = len(self._played.frames) - self._lag - back + 1
        return self._played.frames[max(0, end - 2) : end + 1].max(axis=0)

    def _over_expected(self, fresh: int) -> bool:
        assert self._gain is not None
        over = 0.0
        for back in range(fresh, 0, -1):
            echo = self._at_lag(back) + self._gain
            self._expected = np.maximum(echo, self._expected - _DECAY_DB)
            heard = self._heard.frames[-back]
            holds = heard > np.maximum(self._noise, _FLOOR_DB) + _ACTIVE_DB
            if holds.any():
                over = max(over, float((heard > self._expected + _OVER_DB)[holds].mean()))
        return over >= _OVER_SHARE


class _Bands:
    """The last frames of a stream as decibels in bands."""

    def __init__(self, kept: int) -> None:
        self.frames = np.full((kept, _BANDS), _FLOOR_DB)
        self._rest = np.zeros(_FRAME - HOP, np.float32)

    def add(self, sound: Samples) -> int:
        """Take more sound; how many new frames it made."""
        sound = np.concatenate((self._rest, sound))
        count = (sound.size - _FRAME) // HOP + 1
        self._rest = sound[count * HOP :]
        windows = np.lib.stride_tricks.sliding_window_view(sound, _FRAME)[::HOP][:count]
        power = np.abs(np.fft.rfft(windows * _HANN, axis=1)) ** 2 @ _GROUPS
        found = 10 * np.log10(np.maximum(power, 10 ** (_FLOOR_DB / 10)))
        self.frames = np.concatenate((self.frames[count:], found))
        return count


def _groups() -> NDArray[np.float64]:
    edges = np.geomspace(120, 7000, _BANDS + 1)
    bins = np.fft.rfftfreq(_FRAME, 1 / RATE)
    places = np.searchsorted(edges, bins, side="right") - 1
    groups = np.zeros((bins.size, _BANDS))
    for band in range(_BANDS):
        inside = places == band
        if not inside.any():
            inside[np.abs(bins - edges[band]).argmin()] = True
        # A full-scale tone in a band is about 0 dB.
        groups[inside, band] = 1 / (_FRAME / 4) ** 2
    return groups


_HANN: Final = np.hanning(_FRAME).astype(np.float32)
_GROUPS: Final = _groups()
