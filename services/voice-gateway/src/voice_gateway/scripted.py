"""Ears and a mouth without a model, for tests and measurements: what they hear and say is written down beforehand.

The ears find speech in the real sound, by its loudness alone, and give each utterance the next line of their script.
The mouth speaks tones, as long as speaking the text would take.
"""

from __future__ import annotations

import asyncio
import re
from array import array
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Sequence

from voice_gateway.ears.port import (
    Dismissed,
    Failed,
    Heard,
    Listener,
    PerhapsOver,
    SpeechStarted,
    Tuning,
    Utterance,
    Words,
)
from voice_gateway.errors import EarsBusy
from voice_gateway.mouth.port import Manner, Spoken

FRAME_BYTES = 960
FRAME_MS = 20
LOUD = 300
"""A mean amplitude, of 32,767, from which a frame counts as speech at the usual threshold of 0.5."""
ONSET_FRAMES = 3
WORD_MS = 200
NOISE = ""
"""A line of the script for a sound that has no words."""
UNINTELLIGIBLE = "?!"
"""A line of the script for speech at which the ears fail."""
BACKCHANNELS = frozenset({"mhm", "mm-hmm", "uh-huh", "okay", "yeah", "right"})

MS_A_CHARACTER = 60
WORDS_A_PIECE = 3
PERIOD = 60
"""Samples of one wave of the tone: 400 Hz."""
AMPLITUDE = 6000


class ScriptedListener:
    """One session's ears: ``script`` holds a line for each utterance, and its last one again and again."""

    def __init__(self, script: Sequence[str], tuning: Tuning | None, ears: ScriptedEars) -> None:
        self._script = deque(script)
        self._tuning, self._ears = tuning, ears
        self._rest = b""
        self._frames = self._loud = self._quiet = 0
        self._start_ms: int | None = None
        self._over = self._sound = self._closed = False
        self._told: deque[Heard] = deque()
        self._news = asyncio.Event()

    def hear(self, pcm: bytes) -> None:
        """Look at every whole frame of the sound."""
        sound = self._rest + pcm
        whole = len(sound) - len(sound) % FRAME_BYTES
        self._rest = sound[whole:]
        for start in range(0, whole, FRAME_BYTES):
            self._frame(_loudness(sound[start : start + FRAME_BYTES]))

    def playing(self, pcm: bytes) -> None:
        """Scripted ears are deaf to echo as it is: their microphone hears no speaker."""

    def tune(self, tuning: Tuning | None) -> None:
        """From now on turns are found so."""
        self._tuning = tuning

    def commit(self) -> None:
        """End the utterance, begun or not."""
        self._end()

    def clear(self) -> None:
        """Forget the utterance that was begun."""
        self._start_ms, self._over, self._sound, self._loud, self._quiet = None, False, False, 0, 0

    async def __aiter__(self) -> AsyncIterator[Heard]:
        """Each event in turn."""
        while not self._closed:
            while self._told:
                yield self._told.popleft()
            self._news.clear()
            await self._news.wait()

    async def close(self) -> None:
        """Give the place back."""
        self._closed = True
        self._news.set()
        self._ears.leave(self)

    @property
    def _now_ms(self) -> int:
        return self._frames * FRAME_MS

    def _frame(self, loudness: int) -> None:
        self._frames += 1
        loud = loudness >= LOUD * 2 * (self._tuning.threshold if self._tuning else 0.5)
        self._sound = self._sound or loud
        self._loud, self._quiet = (self._loud + 1, 0) if loud else (0, self._quiet + 1)
        if self._tuning is None:
            return
        if self._start_ms is None:
            if self._loud >= ONSET_FRAMES:
                self._start_ms = max(0, self._now_ms - ONSET_FRAMES * FRAME_MS - self._tuning.prefix_padding_ms)
                self.tell(SpeechStarted(self._start_ms))
            return
        if loud:
            self._over = False
            if self._loud * FRAME_MS % WORD_MS == 0 and self._line.strip():
                self.tell(Words(" ".join(self._line.split()[: self._loud * FRAME_MS // WORD_MS])))
        elif self._quiet * FRAME_MS >= self._tuning.silence_duration_ms:
            self._end()
        elif self._quiet * FRAME_MS * 2 >= self._tuning.silence_duration_ms and not self._over and self._line.strip():
            self._over = True
            self.tell(PerhapsOver(self._line))

    @property
    def _line(self) -> str:
        return self._script[0] if self._script else NOISE

    def _end(self) -> None:
        line = self._line if self._sound else NOISE
        start_ms, end_ms = self._start_ms or 0, self._now_ms - self._quiet * FRAME_MS
        if self._sound and len(self._script) > 1:
            self._script.popleft()
        self.clear()
        if not line.strip():
            self.tell(Dismissed(end_ms, "noise"))
        elif line == UNINTELLIGIBLE:
            self.tell(Failed(end_ms))
        else:
            self.tell(Utterance(line, start_ms, end_ms, line.strip(" .!").lower() in BACKCHANNELS))

    def tell(self, heard: Heard) -> None:
        """Hear this next."""
        self._told.append(heard)
        self._news.set()


class ScriptedEars:
    """Ears for ``places`` sessions, each of which hears ``script`` from its beginning."""

    def __init__(self, script: Sequence[str] = (), places: int = 100) -> None:
        self.ready = True
        self.script = script
        self.learnt: tuple[str, ...] = ()
        self.listened_for: tuple[str, ...] = ()
        self._places = places
        self.listeners: set[Listener] = set()

    def __len__(self) -> int:
        """How many sessions are listened to."""
        return len(self.listeners)

    @property
    def full(self) -> bool:
        """Whether all places are taken."""
        return len(self) >= self._places

    def listen(self, tuning: Tuning | None, words: tuple[str, ...] = ()) -> ScriptedListener:
        """One more session's ears."""
        if self.full:
            raise EarsBusy
        self.listened_for = words
        listener = ScriptedListener(self.script, tuning, self)
        self.listeners.add(listener)
        return listener

    def leave(self, listener: Listener) -> None:
        """A session's ears were closed."""
        self.listeners.discard(listener)

    def learn(self, words: tuple[str, ...]) -> None:
        """Remember what was to be learnt."""
        self.learnt = words


class ScriptedMouth:
    """Speaks three words a piece, the first ``delay_s`` seconds after it was asked unless it was prepared."""

    def __init__(self, delay_s: float = 0.0) -> None:
        self.ready = True
        self.saturated = False
        self.voices = ("tone",)
        self.spoken: list[str] = []
        self.prepared: list[str] = []
        self._delay_s = delay_s

    async def speak(self, text: str, manner: Manner) -> AsyncGenerator[Spoken]:
        """A tone for each few words."""
        self.spoken.append(text)
        if text in self.prepared:
            self.prepared.remove(text)
        elif self._delay_s:
            await asyncio.sleep(self._delay_s)
        for piece in pieces(text):
            yield Spoken(piece, tone(len(piece) * MS_A_CHARACTER / manner.speed))
            await asyncio.sleep(0)

    def prepare(self, text: str, manner: Manner) -> None:
        """Speak it without delay when it is wanted."""
        if text not in self.prepared:
            self.prepared.append(text)

    def forget(self, text: str, manner: Manner) -> None:
        """Do not, after all."""
        if text in self.prepared:
            self.prepared.remove(text)


def pieces(text: str) -> list[str]:
    """``text`` in pieces of three words, white space and all."""
    words = re.findall(r"\s*\S+\s*$|\s*\S+", text) or [text]
    return ["".join(words[start : start + WORDS_A_PIECE]) for start in range(0, len(words), WORDS_A_PIECE)]


def tone(duration_ms: float) -> bytes:
    """A triangle wave of 400 Hz."""
    quarter = PERIOD // 4
    rise = [AMPLITUDE * step // quarter for step in range(quarter)]
    wave = array("h", [*rise, *(AMPLITUDE - value for value in rise)])
    wave.extend([-value for value in wave])
    return (wave * (int(duration_ms * 24) // PERIOD + 1)).tobytes()[: int(duration_ms * 24) * 2]


def _loudness(frame: bytes) -> int:
    samples = array("h", frame)[::8]
    return sum(map(abs, samples)) // len(samples)
