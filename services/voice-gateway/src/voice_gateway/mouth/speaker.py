"""What runs in the mouth's own process: text in, sound out, a few words at a time.

::

    text -> breaths -> numbers of sounds -> plan -> stretch, stretch, … -> sound without seams
                                                    each long enough to play while the next is made
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

from voice_gateway.mouth.cutting import Breath, breaths
from voice_gateway.mouth.kokoro import BESIDE, Interrupted, Kokoro, Plan, open_kokoro
from voice_gateway.mouth.lexicon import Lexicon, open_lexicon
from voice_gateway.mouth.normalising import normalised
from voice_gateway.mouth.scoring import score_of
from voice_gateway.mouth.shaping import Shaper
from voice_gateway.mouth.striding import Stride

Job = tuple[str, str, float, bool]
"""What to speak: the text, the voice, the speed, and whether somebody waits for its first sound."""
AT_EASE_S = 60.0
"""As good as all the time there is."""
BYTES_A_SECOND = 48_000
Made = TypeVar("Made")


class Speaker:
    """The model of a mouth's process."""

    def __init__(self, kokoro: Kokoro, lexicon: Lexicon, clock: Callable[[], float] = time.monotonic) -> None:
        self._kokoro = kokoro
        self._lexicon = lexicon
        self._clock = clock
        self._stride = Stride()

    def run(self, payload: Job) -> Iterator[tuple[str, bytes]]:
        """Each stretch's part of the text, and its PCM; an empty pair when it was interrupted: ask again."""
        text, voice, speed, hurried = payload
        heard = _Heard(self._clock, hurried=hurried)
        for breath in breaths(text, normalised(text), hurried=hurried):
            for start, end, pcm in self._spoken(breath, voice, speed, heard):
                heard.more(pcm)
                yield text[start:end], pcm

    def interrupt(self) -> None:
        """Give up the stretch that is being made."""
        self._kokoro.interrupt()

    def _spoken(self, breath: Breath, voice: str, speed: float, heard: _Heard) -> Iterator[tuple[int, int, bytes]]:
        """Where the text of each stretch begins and ends, and its PCM."""
        score = score_of(breath, self._lexicon)
        plan: Plan | None = None
        while score.numbers and plan is None:
            plan = self._made(lambda: self._kokoro.plan([*score.numbers], voice, speed))
            if plan is None:
                yield 0, 0, b""
        if plan is None:
            yield breath.words[0].start, breath.end, b""
            return
        shaper = Shaper(breath.words[-1].spoken[-1:], last=breath.last, speed=speed)
        ends, first, start = score.ends(breath, plan.lengths), score.begins(plan.lengths), breath.words[0].start
        while ends:
            chosen = self._stride.next(ends, first, heard.ahead_s)
            end, ends = ends[chosen], ends[chosen + 1 :]
            after = max(end.frame, first + 1)
            sounded, began = None, self._clock()
            while sounded is None:
                began = self._clock()
                sounded = self._made(lambda plan=plan, first=first, after=after: self._kokoro.sound(plan, first, after))
                if sounded is None:
                    yield 0, 0, b""
            self._stride.learn(after - first + 2 * BESIDE, self._clock() - began)
            stop = breath.words[end.words].start if ends else breath.end
            yield start, stop, shaper.more(*sounded, whole=not ends)
            first, start = after, stop

    @staticmethod
    def _made(make: Callable[[], Made]) -> Made | None:
        """What is made, or None if it was interrupted."""
        try:
            return make()
        except Interrupted:
            return None


class _Heard:
    """How much of a text's sound is still to be heard, if it has been played since its first came."""

    def __init__(self, clock: Callable[[], float], *, hurried: bool) -> None:
        self._clock = clock
        self._hurried = hurried
        self._since: float | None = None
        self._made_s = 0.0

    def more(self, pcm: bytes) -> None:
        """Sound was made."""
        if pcm and self._since is None:
            self._since = self._clock()
        self._made_s += len(pcm) / BYTES_A_SECOND

    @property
    def ahead_s(self) -> float | None:
        """Seconds; None while somebody waits for the first."""
        if not self._hurried:
            return AT_EASE_S
        return None if self._since is None else self._since + self._made_s - self._clock()


def make(voices: tuple[str, ...], threads: int) -> Speaker:
    """Load the model with the voices of these files, and speak once so that the first to ask does not wait for it."""
    files = tuple(Path(voice) for voice in voices)
    speaker = Speaker(open_kokoro(files, threads), open_lexicon())
    for _ in speaker.run(("Ready to speak, as soon as you are.", files[0].stem, 1.0, True)):
        pass
    return speaker
