"""The first ear: sound in, for every 32 ms how likely it holds a voice that is not ours; in a process of its own.

One process serves all sessions, and nothing slower than a window (0.3 ms) ever runs in it, so that the beginning of
speech is known at once whatever the recogniser is doing.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np
import soxr

from voice_gateway.ears.echo import EchoGate
from voice_gateway.ears.features import RATE, Samples, samples
from voice_gateway.ears.voice_activity import WINDOW, VoiceActivity
from voice_gateway.ears.windows import Sound, Window
from voice_gateway.runtime import Run, open_model

_RATE_IN: Final = 24_000
_RESYNC: Final = RATE // 5
"""When what is played falls so far behind what is heard, playing had stopped in between."""


@dataclass
class _Stream:
    activity: VoiceActivity
    echo: EchoGate = field(default_factory=EchoGate)
    heard: soxr.ResampleStream = field(default_factory=lambda: _resampler())
    played: soxr.ResampleStream = field(default_factory=lambda: _resampler())
    waiting: Samples = field(default_factory=lambda: np.zeros(0, np.float32))
    playing: Samples = field(default_factory=lambda: np.zeros(0, np.float32))
    ever_played: bool = False

    def windows(self, sound: Sound) -> Iterator[Window]:
        """The windows that ``sound`` completes."""
        self.waiting = np.concatenate((self.waiting, self.heard.resample_chunk(samples(sound.heard))))
        if sound.played:
            self.ever_played = True
            behind = self.waiting.size - self.playing.size
            if behind > _RESYNC:
                self.playing = np.concatenate((self.playing, np.zeros(behind, np.float32)))
            self.playing = np.concatenate((self.playing, self.played.resample_chunk(samples(sound.played))))
        while self.waiting.size >= WINDOW:
            window, self.waiting = self.waiting[:WINDOW], self.waiting[WINDOW:]
            played, self.playing = self.playing[:WINDOW], self.playing[WINDOW:]
            probability, echo = self.activity.probability(window), False
            if self.ever_played:
                played = np.concatenate((played, np.zeros(WINDOW - played.size, np.float32)))
                echo = self.echo.is_echo(window, played, probability)
            yield Window(probability, echo, (np.clip(window, -1, 32_767 / 32_768) * 32_768).astype("<i2").tobytes())


class Hearing:
    """Each job is some sound of a session; its one result the windows that it completes."""

    def __init__(self, model: Run, places: int) -> None:
        self._model = model
        self._places = places
        self._streams: OrderedDict[int, _Stream] = OrderedDict()

    @property
    def sessions(self) -> tuple[int, ...]:
        """Those that are known, the one that was silent longest first."""
        return tuple(self._streams)

    def run(self, sound: Sound) -> Iterator[tuple[Window, ...]]:
        """The one result. A session that is not known begins afresh; the one that was silent longest is forgotten."""
        stream = self._streams.pop(sound.session, None) or _Stream(VoiceActivity(self._model))
        if not sound.last:
            self._streams[sound.session] = stream
        while len(self._streams) > self._places:
            self._streams.popitem(last=False)
        yield tuple(stream.windows(sound))


def _resampler() -> soxr.ResampleStream:
    return soxr.ResampleStream(_RATE_IN, RATE, 1, dtype="float32", quality="LQ")


def load(path: str, threads: int, places: int) -> Hearing:
    """The model, warm."""
    hearing = Hearing(open_model(Path(path).read_bytes(), threads), places)
    silence = bytes(2 * _RATE_IN // 5)
    for _ in hearing.run(Sound(0, silence, silence, last=True)):
        pass
    return hearing
