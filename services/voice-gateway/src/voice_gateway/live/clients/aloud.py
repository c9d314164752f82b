"""The voice of a local session: chunks become sound in real time, and events stand beside the sound they tell of.

::

    say(chunk) --> mouth --> Speech, frame by frame --> Pacer, every 20 ms --> AudioDelta
                                 | a mark at each piece                         `-> the ears, as our own voice
                                 `--------------------> OutputTranscript, AgentChanged, between the sound

What comes out of a mouth is ahead of what is heard of it. So an event that belongs to a piece of sound waits for that
piece, and what was heard of a response is known when it is broken off.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from chassis import telemetry
from contracts.vocabulary import JsonObject
from voice_gateway import measuring
from voice_gateway.heard import Passage, Said
from voice_gateway.live.events import AudioDelta, OutputTranscript, RealtimeEvent
from voice_gateway.mouth.port import Manner, Mouth
from voice_gateway.pacing import Pacer
from voice_gateway.playout import FRAME_BYTES, Frame, Playout, Speech
from voice_gateway.speaking import next_piece

FIRST_SOUND = "first_sound_played"
"""In the trace of a turn, its first sound is made."""

Tell = Callable[[RealtimeEvent], None]


@dataclass(slots=True, eq=False)
class Utterance:
    """What one response says: its sound, its words so far, and what is to be told where in the sound."""

    said: Said
    made: int = 0
    sent: int = 0
    """Bytes of sound."""
    marks: deque[tuple[int, RealtimeEvent]] = field(default_factory=deque[tuple[int, RealtimeEvent]])

    @property
    def speech(self) -> Speech:
        """Its sound."""
        return self.said.speech


class Aloud:
    """Says one response at a time, and tells of it as it is heard."""

    def __init__(self, mouth: Mouth, tell: Tell, playing: Callable[[bytes], None]) -> None:
        self._mouth, self._tell = mouth, tell
        self._playout = Playout(_nothing)
        self._playout.on_taken = playing
        self._playout.on_stopped = measuring.spoken
        self._now: Utterance | None = None
        self._making = 0
        self._ticking = asyncio.create_task(Pacer(self._playout, self._send, asyncio.get_running_loop().time).run())

    @property
    def speaking(self) -> bool:
        """Whether something is being said, held or not."""
        return self._playout.speaking

    def begin(self, response_id: str) -> Utterance:
        """The utterance of a response."""
        self._now = Utterance(Said(self._playout.open(response_id, response_id)))
        return self._now

    def prepare(self, text: str, manner: Manner) -> None:
        """This is said next: have it ready when the chunk before it is made."""
        if self._making:
            self._mouth.prepare(text, manner)

    async def say(self, utterance: Utterance, text: str, manner: Manner) -> None:
        """Say a chunk; back as soon as all its sound waits to be heard."""
        gap = " " if utterance.said.transcript else ""
        utterance.said.add(gap + text, Passage(text, text))
        self._making += 1
        try:
            async with contextlib.aclosing(self._mouth.speak(text, manner)) as spoken:
                while (piece := await next_piece(spoken)) is not None:
                    if not utterance.made:
                        telemetry.happened(FIRST_SOUND)
                    self.mark(utterance, OutputTranscript(text=gap + piece.text))
                    utterance.made += len(piece.pcm)
                    utterance.speech.add(piece.pcm, len(gap) + len(piece.text))
                    gap = ""
                    await utterance.speech.room()
        finally:
            self._making -= 1

    def mark(self, utterance: Utterance, event: RealtimeEvent) -> None:
        """Tell ``event`` when all that was made so far is on its way."""
        if utterance.sent >= utterance.made:
            self._tell(event)
        else:
            utterance.marks.append((utterance.made, event))

    async def finish(self, utterance: Utterance) -> None:
        """No more is added; back when all of it is on its way."""
        utterance.speech.end()
        await utterance.speech.delivered.wait()
        self._pass(utterance, utterance.made)

    def hold(self) -> None:
        """Say nothing for now."""
        self._playout.hold()

    def release(self) -> None:
        """Go on where it was held."""
        self._playout.release()

    def cut(self, utterance: Utterance, played_ms: int | None) -> str:
        """Say nothing more of it; gives what was heard of it, ``played_ms`` of its sound being played at most."""
        ms = utterance.speech.played_ms
        heard = utterance.said.heard(ms if played_ms is None else min(ms, played_ms))
        utterance.marks.clear()
        self._playout.clear(utterance.speech.response_id)
        self._playout.release()
        return utterance.said.transcript[:heard]

    async def close(self) -> None:
        """Say nothing more at all."""
        self._ticking.cancel()
        await asyncio.wait({self._ticking})
        self._playout.clear()

    def _send(self, frames: Sequence[Frame]) -> None:
        utterance = self._now
        if utterance is None or frames[0].speech is not utterance.speech:
            return
        pcm = bytearray()
        for frame in frames:
            if utterance.marks and utterance.marks[0][0] <= utterance.sent:
                if pcm:
                    self._tell(AudioDelta(data=bytes(pcm)))
                    pcm.clear()
                self._pass(utterance, utterance.sent)
            pcm += frame.pcm
            utterance.sent += FRAME_BYTES
        self._tell(AudioDelta(data=bytes(pcm)))

    def _pass(self, utterance: Utterance, sent: int) -> None:
        while utterance.marks and utterance.marks[0][0] <= sent:
            self._tell(utterance.marks.popleft()[1])


def _nothing(_event: JsonObject) -> None:
    return
