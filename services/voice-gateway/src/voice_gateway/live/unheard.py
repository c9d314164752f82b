"""The person's sound that no provider has understood yet, kept so that a lost connection loses no utterance."""

from __future__ import annotations

from collections import deque

from voice_gateway.live.input_queue import Activity, Audio

MAX_S = 30.0
BEFORE_S = 1.0
"""Sound kept from before the moment in which a provider heard somebody speak: it hears late."""


class Unheard:
    """What was sent since the last words that were understood.

    Until somebody speaks only the last second is kept; from then on all of it, 30 s at most, until the words are known.
    """

    def __init__(self) -> None:
        self._frames: deque[Audio | Activity] = deque()
        self._kept_s = 0.0
        self._spans = False
        self._stopped = False
        self._behind = 0
        self.speaking = False

    @property
    def frames(self) -> tuple[Audio | Activity, ...]:
        """What is to be said again on a new connection: nothing when nobody was speaking."""
        return tuple(self._frames) if self.speaking else ()

    def sent(self, frame: Audio | Activity) -> None:
        """A frame goes to the provider."""
        if isinstance(frame, Activity):
            if frame.kind == "start":
                self._settle()
                self.speaking = True
            elif frame.kind == "cancel":
                self._settle()
                return
        self._frames.append(frame)
        self._kept_s += _seconds(frame)
        if self._behind:
            self._behind += 1
        self._shorten(MAX_S if self.speaking else BEFORE_S)

    def speech_started(self) -> None:
        """The provider hears somebody speak, and will say when they stop."""
        if self.speaking and self._stopped:
            self._behind = self._frames_of_last(BEFORE_S)
        self.speaking, self._spans, self._stopped = True, True, False

    def speech_stopped(self) -> None:
        """The utterance is over, and its words are still to come."""
        self._stopped = True

    def words_began(self) -> None:
        """The provider understood a first word; not every one says that somebody speaks."""
        self.speaking = True

    def understood(self) -> None:
        """The words of the oldest utterance are known; one that began since is kept."""
        if self._spans and not self._stopped and not self._behind:
            return  # the words are of an utterance that was answered already, and somebody speaks again
        self._settle()

    def answered(self) -> None:
        """The agent answers what was said, whether its words are known or not."""
        if not (self._spans and not self._stopped):
            self._settle()

    def dismissed(self) -> None:
        """It was no utterance."""
        self._settle()

    def lost(self) -> None:
        """What is kept goes to a new connection, which hears it from its beginning."""
        self._spans, self._stopped, self._behind = False, False, 0

    def _settle(self) -> None:
        kept = list(self._frames)[-self._behind :] if self._behind else []
        self.speaking, self._spans = bool(kept), bool(kept)
        self._stopped, self._behind = False, 0
        self._frames = deque(kept)
        self._kept_s = sum(map(_seconds, kept))

    def _frames_of_last(self, seconds: float) -> int:
        count = 0
        for frame in reversed(self._frames):
            if seconds <= 0:
                break
            seconds -= _seconds(frame)
            count += 1
        return count

    def _shorten(self, most_s: float) -> None:
        while len(self._frames) > 1:
            index = 1 if isinstance(self._frames[0], Activity) else 0
            left_s = self._kept_s - _seconds(self._frames[index])
            if left_s < most_s:
                return
            self._kept_s = left_s
            del self._frames[index]


def _seconds(frame: Audio | Activity) -> float:
    return len(frame.pcm) / 2 / frame.sample_rate if isinstance(frame, Audio) else 0.0
