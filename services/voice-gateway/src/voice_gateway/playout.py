"""What one session speaks, frame by frame, as its transport really sends it.

::

    mouth --> Speech.add(pcm) --> [frame][frame][frame] --take(), every 20 ms--> transport
                                        |                        |
                              on_added: encode ahead      events; on_taken: our own voice, for the ears

There is one voice: speeches play one behind the other. A frame counts as played when the transport took it, so the
events ``output_audio_buffer.started``, ``stopped`` and ``cleared`` and the count of what was heard tell what happened.
Nothing here waits or knows the time: a transport without a clock of its own has :class:`~voice_gateway.pacing.Pacer`.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice

from contracts.vocabulary import JsonObject

RATE = 24_000
FRAME_MS = 20
FRAME_BYTES = RATE * FRAME_MS // 1000 * 2
MAX_AHEAD_FRAMES = 1000
"""20 s: who has so much unplayed may wait with more."""


@dataclass(slots=True, eq=False)
class Frame:
    """20 ms of a speech: PCM, 16 bits little-endian, mono, 24 kHz, 960 bytes.

    ``encoded`` and ``sent`` belong to the transport: what it made of the frame ahead of time, and whether the client
    has it already.
    """

    pcm: bytes
    speech: Speech
    encoded: bytes | None = None
    sent: bool = False


@dataclass(slots=True)
class _Piece:
    """Sound that ends ``end`` bytes into its speech, and how many characters are said by then."""

    end: int
    characters: int


@dataclass(eq=False)
class Speech:
    """The sound of one response: added as it is made, and ended when no more comes."""

    response_id: str
    item_id: str
    _playout: Playout = field(repr=False)
    ended: bool = False
    cleared: bool = False
    started: bool = False
    gap_frames: int = 0
    """How often there was nothing to take between its first and its last frame."""
    _missed: int = 0
    _rest: bytes = b""
    _added: int = 0
    _taken: int = 0
    _unsent: int = 0
    _pieces: list[_Piece] = field(default_factory=list[_Piece], repr=False)

    def __post_init__(self) -> None:
        self.over = asyncio.Event()
        """Set when it was played to its end, or cleared."""
        self.delivered = asyncio.Event()
        """Set when it ended and the client has every frame, or when it was cleared."""

    @property
    def played_ms(self) -> int:
        """How much of it was taken."""
        return self._taken * FRAME_MS

    @property
    def duration_ms(self) -> int:
        """How long it is, as far as it was added."""
        return self._added * FRAME_MS // FRAME_BYTES

    def said_by(self, played_ms: int | None = None) -> int:
        """How many characters were said by then, or by now: of the piece that plays, the share of its sound."""
        played = self._taken * FRAME_BYTES if played_ms is None else played_ms * FRAME_BYTES // FRAME_MS
        taken = min(played, self._added)
        start = said = 0
        for piece in self._pieces:
            if taken < piece.end:
                return said + (piece.characters - said) * (taken - start) // (piece.end - start)
            start, said = piece.end, piece.characters
        return said

    def add(self, pcm: bytes, characters: int = 0) -> None:
        """Play ``pcm``, which says ``characters`` more; once it ended or was cleared nothing is added."""
        if self.ended or self.cleared:
            return
        said = self._pieces[-1].characters if self._pieces else 0
        self._added += len(pcm)
        self._pieces.append(_Piece(self._added, said + characters))
        sound = self._rest + pcm
        whole = len(sound) - len(sound) % FRAME_BYTES
        self._rest = sound[whole:]
        self._queue(sound[:whole])

    def end(self) -> None:
        """No more comes."""
        if self.ended or self.cleared:
            return
        if self._rest:
            self._queue(self._rest.ljust(FRAME_BYTES, b"\0"))
            self._rest = b""
        self.ended = True
        self._playout.settle(self)
        self._check_delivered()

    async def room(self) -> None:
        """Wait until so little of what was added is unplayed that more is worth making."""
        await self._playout.room(self)

    def was_sent(self, frame: Frame) -> None:
        """The transport gave ``frame`` to the client."""
        if not frame.sent:
            frame.sent = True
            self._unsent -= 1
            self._check_delivered()

    def _queue(self, sound: bytes) -> None:
        for start in range(0, len(sound), FRAME_BYTES):
            self._unsent += 1
            self._playout.queue(Frame(sound[start : start + FRAME_BYTES], self))

    @property
    def gap_s(self) -> float:
        """How long it was silent because more of it was not made in time, in seconds."""
        return self.gap_frames * FRAME_MS / 1000

    def took(self) -> None:
        """One of its frames is being played."""
        self._taken += 1
        self.gap_frames += self._missed
        self._missed = 0

    def missed(self) -> None:
        """There is none to be played; that is a gap once it goes on."""
        self._missed += self.started

    def _check_delivered(self) -> None:
        if self.ended and self._unsent == 0:
            self.delivered.set()

    def clear(self) -> None:
        """It is played no further."""
        self.cleared = True
        self.over.set()
        self.delivered.set()


def _nothing(_: object) -> None:
    return


class Playout:
    """The queue between the mouth and the transport of one session.

    ``on_added`` is told of each frame as it is queued, ``on_taken`` the sound of each as it is played, ``on_started``
    each speech at its first frame, ``on_stopped`` at its end, unless it was cleared; they must not wait.
    """

    def __init__(self, emit: Callable[[JsonObject], None]) -> None:
        self._emit = emit
        self._speeches: deque[Speech] = deque()
        self._frames: dict[Speech, deque[Frame]] = {}
        self._moved = asyncio.Event()
        self.on_added: Callable[[Frame], None] = _nothing
        self.on_taken: Callable[[bytes], None] = _nothing
        self.on_started: Callable[[Speech], None] = _nothing
        self.on_stopped: Callable[[Speech], None] = _nothing
        self.held = False

    @property
    def speeches(self) -> tuple[Speech, ...]:
        """What plays, and what waits behind it."""
        return tuple(self._speeches)

    @property
    def current(self) -> Speech | None:
        """The speech whose turn it is."""
        return self._speeches[0] if self._speeches else None

    @property
    def speaking(self) -> bool:
        """Whether a speech has begun and is not over, held or not."""
        current = self.current
        return current is not None and current.started

    def open(self, response_id: str, item_id: str) -> Speech:
        """A speech behind those that are there already."""
        speech = Speech(response_id, item_id, self)
        self._speeches.append(speech)
        self._frames[speech] = deque()
        return speech

    def take(self) -> Frame | None:
        """The frame to be played for the next 20 ms; None is silence. To be called once every 20 ms."""
        if self.held:
            return None
        self._finish()
        speech = self.current
        if speech is None:
            return None
        frames = self._frames[speech]
        if not frames:
            speech.missed()
            return None
        frame = frames.popleft()
        if not speech.started:
            speech.started = True
            self._tell("started", speech)
            self.on_started(speech)
        speech.took()
        self.on_taken(frame.pcm)
        self._moved.set()
        return frame

    def coming(self, count: int) -> Iterator[Frame]:
        """The next ``count`` frames that :meth:`take` will give, of the speech whose turn it is; none when held."""
        speech = self.current
        return iter(()) if self.held or speech is None else islice(self._frames[speech], count)

    def hold(self) -> None:
        """Play nothing for now."""
        self.held = True

    def release(self) -> None:
        """Play on where it was held."""
        self.held = False

    def clear(self, response_id: str | None = None) -> list[Speech]:
        """Forget what is unplayed, of one response or of all; gives the speeches that this cut off."""
        self._finish()
        cut = [speech for speech in self._speeches if response_id in (None, speech.response_id)]
        for speech in cut:
            self._drop(speech)
            speech.clear()
            self._tell("cleared", speech)
        self.held = self.held and bool(self._speeches)
        return cut

    def queue(self, frame: Frame) -> None:
        """Append a frame to its speech."""
        self._frames[frame.speech].append(frame)
        self.on_added(frame)

    def settle(self, speech: Speech) -> None:
        """A speech that ended without a sound never has its turn."""
        if not speech.started and not self._frames[speech]:
            self._drop(speech)
            speech.over.set()

    async def room(self, speech: Speech) -> None:
        """Wait until ``speech`` has less than 20 s unplayed, or is played no more."""
        while len(self._frames.get(speech, ())) >= MAX_AHEAD_FRAMES:
            self._moved.clear()
            await self._moved.wait()

    def _finish(self) -> None:
        """End the speech whose last frame has been played, so that the next one has its turn."""
        speech = self.current
        if speech is not None and speech.ended and not self._frames[speech]:
            self._drop(speech)
            self._tell("stopped", speech)
            self.on_stopped(speech)
            speech.over.set()

    def _drop(self, speech: Speech) -> None:
        self._speeches.remove(speech)
        del self._frames[speech]
        self._moved.set()

    def _tell(self, what: str, speech: Speech) -> None:
        self._emit({"type": f"output_audio_buffer.{what}", "response_id": speech.response_id})
