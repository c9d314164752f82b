"""What the person sends into a live session, handed over from any thread without ever blocking it (L2).

::

    microphone's thread, socket's task --send_*--> [bounded deque] --async for--> the session's input pump

A frame that finds the queue full is dropped, with a warning, and whoever sent it is told. Marks of a turn have room of
their own, so that no sound, however much, hides the end of a turn. Closing takes no place in the queue, so it is never
lost.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock

from voice_gateway.live.port import Activity as ActivityKind

log = logging.getLogger(__name__)

MAX_FRAMES = 1_500
"""30 s of sound in frames of 20 ms."""
MAX_BYTES = 16 * 1024 * 1024
WARN_EVERY_S = 5.0


@dataclass(frozen=True, slots=True)
class Audio:
    """Mono PCM16 of the person; ``sample_rate`` in samples a second."""

    pcm: bytes
    sample_rate: int = 16_000


@dataclass(frozen=True, slots=True)
class Text:
    """A turn of the person in writing."""

    text: str


@dataclass(frozen=True, slots=True)
class Image:
    """A picture."""

    data: bytes
    mime_type: str = "image/jpeg"


@dataclass(frozen=True, slots=True)
class Activity:
    """The person begins or ends a turn by hand, or thinks better of it."""

    kind: ActivityKind


@dataclass(frozen=True, slots=True)
class Silence:
    """The person wants silence: what they asked before this is not to be answered."""


Frame = Audio | Text | Image | Activity | Silence


class InputQueue:
    """One session's input: any number of producers in any threads, one consumer in an event loop.

    ``max_frames`` and ``max_bytes`` bound what waits; ``max_frames`` marks may wait beside it. Every ``send_*`` says
    whether the frame was taken; after ``close`` none is. Iterating ends after ``close`` and the last frame that was
    taken before it.
    """

    def __init__(
        self, max_frames: int = MAX_FRAMES, max_bytes: int = MAX_BYTES, *, now: Callable[[], float] = time.monotonic
    ) -> None:
        if max_frames < 1 or max_bytes < 1:
            raise ValueError("An input queue holds at least one frame and one byte.")
        self._max_frames, self._max_bytes, self._now = max_frames, max_bytes, now
        self._lock = Lock()
        self._frames: deque[Frame] = deque()
        self._bytes = self._marks = 0
        self._closed = False
        self._waiting: tuple[asyncio.AbstractEventLoop, asyncio.Event] | None = None
        self._dropped = 0
        self._warned_at: float | None = None

    @property
    def closed(self) -> bool:
        """Whether ``close`` was called; what was taken before may still wait."""
        return self._closed

    def send_audio(self, pcm: bytes, sample_rate: int = 16_000) -> bool:
        """Sound of the person, whole samples of mono PCM16."""
        if len(pcm) % 2 or sample_rate < 1:
            raise ValueError("Sound is mono PCM of 16 bits: an even number of bytes, and a sample rate above 0.")
        return self._send(Audio(pcm, sample_rate), len(pcm))

    def send_text(self, text: str) -> bool:
        """A turn of the person in writing."""
        return self._send(Text(text), len(text.encode("utf-8", "surrogatepass")))

    def send_image(self, data: bytes, mime_type: str = "image/jpeg") -> bool:
        """A picture."""
        return self._send(Image(data, mime_type), len(data))

    def send_activity(self, kind: ActivityKind) -> bool:
        """The person begins or ends a turn by hand (push to talk), or thinks better of it."""
        return self._send(Activity(kind), 0)

    def silence_asked(self) -> None:
        """Let whoever takes the frames stop the answer to what waits by now; nothing where only sound waits."""
        with self._lock:
            last = next((frame for frame in reversed(self._frames) if not isinstance(frame, Audio | Image)), None)
            if last is not None and not isinstance(last, Silence):
                self._frames.append(Silence())
                self._marks += 1

    def close(self) -> None:
        """No more input; may be called more than once, from any thread."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            self._wake()

    def __aiter__(self) -> InputQueue:
        return self

    async def __anext__(self) -> Frame:
        while True:
            with self._lock:
                if self._frames:
                    frame = self._frames.popleft()
                    self._bytes -= _size(frame)
                    self._marks -= isinstance(frame, Activity | Silence)
                    return frame
                if self._closed:
                    raise StopAsyncIteration
                ready = asyncio.Event()
                self._waiting = (asyncio.get_running_loop(), ready)
            await ready.wait()

    def _send(self, frame: Frame, size: int) -> bool:
        with self._lock:
            if self._closed:
                log.debug("a frame after the end of the input was dropped")
                return False
            mark = isinstance(frame, Activity)
            if self._full(mark, size):
                self._dropped += 1
                self._warn()
                return False
            self._frames.append(frame)
            self._bytes += size
            self._marks += mark
            self._wake()
            return True

    def _full(self, mark: bool, size: int) -> bool:
        if mark:
            return self._marks >= self._max_frames
        return len(self._frames) - self._marks >= self._max_frames or self._bytes + size > self._max_bytes

    def _wake(self) -> None:
        if self._waiting is None:
            return
        loop, ready = self._waiting
        self._waiting = None
        if not loop.is_closed():
            loop.call_soon_threadsafe(ready.set)

    def _warn(self) -> None:
        now = self._now()
        if self._warned_at is None or now - self._warned_at >= WARN_EVERY_S:
            log.warning("the input of a live session is full: frames were dropped", extra={"dropped": self._dropped})
            self._warned_at, self._dropped = now, 0


def _size(frame: Frame) -> int:
    match frame:
        case Audio(pcm=data) | Image(data=data):
            return len(data)
        case Text(text=text):
            return len(text.encode("utf-8", "surrogatepass"))
        case Activity() | Silence():
            return 0
