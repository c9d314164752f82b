"""How far the next stretch of speech goes: soon heard at first, then as far as it can be made while the rest plays.

A stretch must be made before those before it have been played. So the first is short, but long enough for the second
to be made meanwhile; every next one is as long as the time that is left allows. On a machine that cannot keep up a wait
is heard, and then best where a speaker pauses: stretches end at marks there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from voice_gateway.mouth.kokoro import BESIDE, FRAME, RATE
from voice_gateway.mouth.scoring import End

FRAME_S: Final = FRAME / RATE
_USUAL: Final = 0.5
"""Seconds of work for a second of sound, until it has been measured."""
_NEWEST: Final = 0.4
"""How much the newest measurement counts."""
_FIRST: Final = (20, 40)
"""Frames of the first stretch, at least and at most, as far as words allow."""
_LONGEST: Final = 120
_SECOND: Final = 24
"""Frames that are to be made while the first stretch plays."""
_LEAST: Final = 16
"""Frames of a stretch that is worth what is sounded beside it."""
_LATE: Final = (32, 60, 120)
"""Frames within which a stretch ends at a pause, where it cannot be in time anyway; or about which, without a pause."""
_REST: Final = 12
"""Frames that are no stretch of their own at a breath's end."""
_SAFE: Final = 0.8
"""Of the time that is left, what is counted on."""


class Stride:
    """Chooses the ends of stretches, by how long sound took to make so far."""

    def __init__(self) -> None:
        self._rate = _USUAL

    def learn(self, frames: int, took_s: float) -> None:
        """So many frames, with those beside them, took so long."""
        rate = min(max(took_s / (frames * FRAME_S), 0.05), 3.0)
        self._rate += _NEWEST * (rate - self._rate)

    def next(self, ends: Sequence[End], first: int, ahead_s: float | None) -> int:
        """Which of ``ends`` closes the stretch that begins with the frame ``first``.

        ``ahead_s`` are the seconds of sound that nobody has heard yet; None before the first, with somebody waiting.
        """
        if ahead_s is None:
            wanted = round(self._rate * (_SECOND + 2 * BESIDE) / _SAFE)
            least, most = (first + frames for frames in (_FIRST[0], min(max(_FIRST[0], wanted), _FIRST[1])))
            within = [place for place, end in enumerate(ends) if least <= end.frame <= most]
            return self._whole(ends, first, within[-1] if within else self._at(ends, most))
        affordable = min(_LONGEST, int(_SAFE * ahead_s / (self._rate * FRAME_S)) - 2 * BESIDE)
        within = [place for place, end in enumerate(ends) if _LEAST <= end.frame - first <= affordable]
        if not within:
            least, usual, most = (first + frames for frames in _LATE)
            return self._whole(ends, first, self._pause(ends, least, most, self._at(ends, usual)))
        pauses = [place for place in within if ends[place].pauses and ends[place].frame > first + affordable // 2]
        return self._whole(ends, first, (pauses or within)[-1])

    @staticmethod
    def _at(ends: Sequence[End], frame: int) -> int:
        return next((place for place, end in enumerate(ends) if end.frame >= frame), len(ends) - 1)

    @staticmethod
    def _pause(ends: Sequence[End], least: int, most: int, otherwise: int) -> int:
        """The first pause from ``least`` to ``most``, or what there is otherwise."""
        return next((n for n, end in enumerate(ends) if least <= end.frame <= most and end.pauses), otherwise)

    @staticmethod
    def _whole(ends: Sequence[End], first: int, chosen: int) -> int:
        """``chosen``, or the breath's end where too little would be left for a stretch of its own."""
        short = ends[-1].frame - max(ends[chosen].frame, first) < _REST
        return len(ends) - 1 if short else chosen
