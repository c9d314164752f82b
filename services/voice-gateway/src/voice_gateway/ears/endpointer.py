"""When a turn begins, pauses and ends, from one probability of a voice for every 32 ms of sound.

Everything is decided on the clock of the sound, so the same sound gives the same turns however fast it comes::

    quiet --two voiced windows--> speaking --a quiet window--> pausing --two voiced windows--> speaking
                                     ^                            |
                                     |   looks at 96, 352, 640 ms: is it over? (melody and words)
                                     |                            v
                                     +---------------- ended, once the hangover of the last look is past

A look takes time; its answer counts from a fixed moment of the sound on (``DUE_MS`` after it), and whoever feeds the
endpointer holds the sound there until the answer is known: nothing is lost by it, because the words, without which the
turn could not be told, are being made at the same time.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import Final

from voice_gateway.ears.port import Tuning

WINDOW_MS: Final = 32
LOOKS_MS: Final = (96, 352, 640)
"""Of silence, after which the turn is looked at, again if it did not seem over."""
DUE_MS: Final = 128
LONGEST_TURN_MS: Final = 60_000
ONSET_WINDOWS: Final = 2
"""With a voice, one after the other, that make a beginning: 64 ms."""
_HYSTERESIS: Final = 0.15
_SHORTEST_MS: Final = LOOKS_MS[0] + DUE_MS

OVER: Final = 0.8
PERHAPS: Final = 0.5
_HANGOVERS: Final = ((OVER, 0.5), (PERHAPS, 1.2), (0.2, 2.5), (0.0, 2.8))
"""How long to wait, in times of the tuning's silence (500 ms), from each likelihood on that the turn is over."""


class Told(Enum):
    """What a window of sound brought."""

    NOTHING = auto()
    STARTED = auto()
    LOOK = auto()
    RESUMED = auto()
    ENDED = auto()


class Endpointer:
    """Finds turns in one listener's sound."""

    def __init__(self, tuning: Tuning, now_ms: int = 0) -> None:
        self._tuning = tuning
        self._now_ms = now_ms
        self._run = 0
        self._run_began_ms = now_ms
        self._start_ms: int | None = None
        self._forget()

    @property
    def now_ms(self) -> int:
        """The end of the last window."""
        return self._now_ms

    @property
    def in_turn(self) -> bool:
        """Whether somebody began to speak and has not ended."""
        return self._start_ms is not None

    @property
    def silence_ms(self) -> int:
        """How long nobody has spoken, in a turn."""
        return self._now_ms - self._end_ms if self.in_turn else 0

    @property
    def undecided(self) -> bool:
        """Whether the next window needs the answer to the last look; give it with :meth:`judge`."""
        return self._asked_ms is not None and self.silence_ms >= self._asked_ms + DUE_MS

    @property
    def end_ms(self) -> int:
        """Where the voice of the turn ended, or has come to."""
        return self._end_ms

    def hear(self, probability: float) -> Told:
        """The next window of sound."""
        self._now_ms += WINDOW_MS
        threshold = self._tuning.threshold
        bar = threshold - _HYSTERESIS if self.in_turn and not self._pausing else threshold
        if probability >= bar:
            if not self._run:
                self._run_began_ms = self._now_ms - WINDOW_MS
            self._run += 1
        else:
            self._run = 0
        if not self.in_turn:
            return self._quiet()
        return self._speaking()

    def judge(self, likelihood: float) -> Told:
        """The answer to the last look: how likely the turn is over, 0 to 1; it may be over with that."""
        self._asked_ms = None
        self._hangover_ms = hangover_ms(likelihood, self._tuning)
        return self._end_if_over()

    def end(self) -> None:
        """The turn is over by other means; what comes next is another one."""
        self._start_ms = None
        self._run = 0

    def _quiet(self) -> Told:
        if self._run < ONSET_WINDOWS:
            return Told.NOTHING
        self._forget()
        self._start_ms = self._run_began_ms
        self._end_ms = self._now_ms
        return Told.STARTED

    def _speaking(self) -> Told:
        assert self._start_ms is not None
        if self._now_ms - self._start_ms >= LONGEST_TURN_MS:
            self._end_ms = self._now_ms
            return Told.ENDED
        # One voiced window in a pause is a click or a breath, and does not begin the pause again.
        if self._run >= (ONSET_WINDOWS if self._pausing else 1):
            resumed, self._pausing = self._pausing and self._looked > 0, False
            self._end_ms = self._now_ms
            self._looked, self._asked_ms, self._hangover_ms = 0, None, self._unjudged_ms
            return Told.RESUMED if resumed else Told.NOTHING
        self._pausing = True
        over = self._end_if_over()
        if over is Told.ENDED:
            return over
        if self._tuning.adaptive:
            look = self._looked < len(LOOKS_MS) and self.silence_ms >= LOOKS_MS[self._looked]
        else:
            look = self._looked == 0 and self.silence_ms >= LOOKS_MS[0]
        if not look:
            return Told.NOTHING
        if self._tuning.adaptive:
            self._asked_ms = LOOKS_MS[self._looked]
        self._looked += 1
        return Told.LOOK

    def _end_if_over(self) -> Told:
        return Told.ENDED if self.in_turn and self.silence_ms >= self._hangover_ms else Told.NOTHING

    @property
    def _unjudged_ms(self) -> int:
        return hangover_ms(0.0, self._tuning) if self._tuning.adaptive else self._tuning.silence_duration_ms

    def _forget(self) -> None:
        self._end_ms = self._now_ms
        self._pausing = False
        self._looked = 0
        self._asked_ms: int | None = None
        self._hangover_ms = self._unjudged_ms


def hangover_ms(likelihood: float, tuning: Tuning) -> int:
    """The silence that ends a turn which is over as likely as ``likelihood``; never before a look can be answered."""
    if not tuning.adaptive:
        return tuning.silence_duration_ms
    times = next(times for least, times in _HANGOVERS if likelihood >= least)
    return max(_SHORTEST_MS, round(tuning.silence_duration_ms * times))
