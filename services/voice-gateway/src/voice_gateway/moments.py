"""Where the time goes between the end of a question that was spoken and the first sound of its answer.

::

    speech_ended  transcribed  question  first_delta  first_phrase  first_sound_made  first_sound_played

They join the trace of the turn, beside what the page saw of it, and the metrics of the voice.
"""

from __future__ import annotations

import asyncio
import datetime as dt
from collections.abc import Callable, Sequence
from uuid import UUID

from contracts.voice import TimelineEvent
from voice_gateway import measuring

SETTLE_S = 1.0
"""After the first sound, in which the trace of the turn becomes known if it was not."""

Tell = Callable[[Sequence[TimelineEvent]], None]


class Moments:
    """The moments of the turn of now, told once its first sound is played; each name counts once."""

    def __init__(self, tell: Tell, now: Callable[[], dt.datetime] = lambda: dt.datetime.now(dt.UTC)) -> None:
        self._tell, self._now = tell, now
        self._turn: UUID | None = None
        self._at: dict[str, dt.datetime] | None = None
        self._later: asyncio.TimerHandle | None = None

    def heard(self, silent_ms: float) -> None:
        """An utterance is understood; its speech ended ``silent_ms`` ago."""
        self.flush()
        now = self._now()
        self._at = {"speech_ended": now - dt.timedelta(milliseconds=silent_ms), "transcribed": now}

    def add(self, name: str) -> None:
        """It happens now."""
        if self._at is not None:
            self._at.setdefault(name, self._now())

    def of(self, turn_id: UUID) -> None:
        """It is this turn that they belong to; what belongs to another one is not of them."""
        if self._at is None or self._turn not in (None, turn_id):
            self._at = None
        else:
            self._turn = turn_id

    def played(self) -> None:
        """The first sound is being played."""
        self.add("first_sound_played")
        if self._at is not None and self._turn is not None and self._later is None:
            self._later = asyncio.get_running_loop().call_later(SETTLE_S, self.flush)

    def flush(self) -> None:
        """Tell what there is, if it came to a turn."""
        if self._later is not None:
            self._later.cancel()
        at, turn = self._at, self._turn
        self._at = self._turn = self._later = None
        if at is not None and turn is not None:
            measuring.answered(at)
            self._tell([TimelineEvent(name=name, at=moment, turn_id=turn) for name, moment in at.items()])
