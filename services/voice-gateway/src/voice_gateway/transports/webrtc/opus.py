"""Opus, made and read in one thread of the process, so that the event loop never waits for it.

::

    Frame added --> Encoder.ahead --.                        .--> Frame.encoded, read by the track when its time comes
                                     >-- the Opus thread ---<
    RTP payload --> Decoder.feed  --'                        '--> loop.call_soon_threadsafe: PCM, as much as is there

Whoever has work waits in one queue and does a little of it at a time, so that a long answer of one call does not hold
up the others.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, Generic, TypeVar, cast

import av
from av.audio.codeccontext import AudioCodecContext
from av.error import FFmpegError

from voice_gateway.playout import FRAME_BYTES, RATE, Frame, Speech

log = logging.getLogger(__name__)

Job = TypeVar("Job")

CLOCK_RATE = 48_000
"""Of Opus on the wire, whatever is in it: RFC 7587 section 4.1."""
FRAME_SAMPLES = FRAME_BYTES // 2
FRAME_TICKS = CLOCK_RATE * FRAME_SAMPLES // RATE
MAX_PACKET_TICKS = 5760
BIT_RATE = 48_000
SILENCE = bytes.fromhex("d8fffe")
"""20 ms of nothing as :class:`Encoder` writes it (CELT, super-wide band, mono, RFC 6716 section 3.1)."""
FRAMES_A_STEP = 4
_DURATIONS = {"silk": (480, 960, 1920, 2880), "hybrid": (480, 960), "celt": (120, 240, 480, 960)}


class OpusThread:
    """Does steps of work one after the other; a step says whether more is to be done."""

    def __init__(self) -> None:
        self._steps: SimpleQueue[Callable[[], bool] | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="opus", daemon=True)
        self._thread.start()

    def do(self, step: Callable[[], bool]) -> None:
        """Do ``step`` when those before it are done, and again behind them for as long as it gives True."""
        self._steps.put(step)

    def stop(self) -> None:
        """Do what waits already, and end."""
        self._steps.put(None)
        self._thread.join()

    def _run(self) -> None:
        while (step := self._steps.get()) is not None:
            try:
                again = step()
            except Exception:
                # One sound that cannot be made or read leaves the thread to the other calls.
                log.exception("a piece of sound was lost")
                again = False
            if again:
                self._steps.put(step)


class _Worker(ABC, Generic[Job]):
    """Jobs of one call, done in order by the thread, at most ``FRAMES_A_STEP`` in a row."""

    def __init__(self, thread: OpusThread) -> None:
        self._thread = thread
        self._jobs: deque[Job] = deque()
        self._lock = threading.Lock()
        self._queued = False

    def add(self, job: Job) -> None:
        """Do it soon."""
        with self._lock:
            self._jobs.append(job)
            if self._queued:
                return
            self._queued = True
        self._thread.do(self._step)

    def _step(self) -> bool:
        for _ in range(FRAMES_A_STEP):
            with self._lock:
                if not self._jobs:
                    self._queued = False
                    return False
                job = self._jobs.popleft()
            self.work(job)
        return True

    @abstractmethod
    def work(self, job: Job) -> None:
        """Do one job, in the thread."""


class Encoder(_Worker[Frame]):
    """Encodes the frames of one call ahead of their time, each speech from a fresh start.

    A fresh start makes the first packet of a speech independent of what the receiver played before it.
    """

    def __init__(self, thread: OpusThread) -> None:
        super().__init__(thread)
        self._speech: Speech | None = None
        self._codec: AudioCodecContext | None = None

    def ahead(self, frame: Frame) -> None:
        """Fill ``frame.encoded`` soon."""
        self.add(frame)

    def work(self, job: Frame) -> None:
        """Encode one frame, unless nobody will hear it."""
        if job.speech.cleared:
            return
        if self._codec is None or job.speech is not self._speech:
            self._speech, self._codec = job.speech, _encoder()
        sound = av.AudioFrame("s16", "mono", FRAME_SAMPLES)
        sound.sample_rate = RATE
        sound.planes[0].update(job.pcm)
        packets = cast("list[av.Packet[Any]]", self._codec.encode(sound))
        job.encoded = b"".join(bytes(packet) for packet in packets)


class Decoder(_Worker[bytes | int]):
    """Decodes the packets of one call to PCM, 24 kHz mono; ``heard`` gets it on the loop."""

    def __init__(self, thread: OpusThread, heard: Callable[[bytes], None]) -> None:
        super().__init__(thread)
        self._loop = asyncio.get_running_loop()
        self._heard = heard
        self._codec = _decoder()
        self._resampler = av.AudioResampler(format="s16", layout="mono", rate=RATE)
        self._ready: deque[bytes] = deque()
        self._told = False

    def feed(self, payload: bytes) -> None:
        """The next packet."""
        self.add(payload)

    def silence(self, samples: int) -> None:
        """Nothing came for ``samples`` of the 48 kHz clock."""
        self.add(samples)

    def work(self, job: bytes | int) -> None:
        """Decode one packet, or make the silence of a missing one."""
        if isinstance(job, int):
            self._give(bytes(job * RATE // CLOCK_RATE * 2))
            return
        try:
            frames = self._codec.decode(av.Packet(job))
        except FFmpegError:
            self._give(bytes(duration(job) * RATE // CLOCK_RATE * 2))
            return
        for frame in frames:
            for resampled in self._resampler.resample(frame):
                self._give(bytes(resampled.planes[0])[: resampled.samples * 2])

    def _give(self, pcm: bytes) -> None:
        with self._lock:
            self._ready.append(pcm)
            if self._told:
                return
            self._told = True
        try:
            self._loop.call_soon_threadsafe(self._deliver)
        except RuntimeError:  # the loop is closed: the process is ending
            self._ready.clear()

    def _deliver(self) -> None:
        with self._lock:
            pcm = b"".join(self._ready)
            self._ready.clear()
            self._told = False
        self._heard(pcm)


def duration(payload: bytes) -> int:
    """How long the sound of a packet lasts, in samples of 48 kHz: RFC 6716 section 3.1; 0 for no packet at all."""
    if not payload:
        return 0
    kind, count = payload[0] >> 3, payload[0] & 3
    if kind < 12:
        frame = _DURATIONS["silk"][kind & 3]
    elif kind < 16:
        frame = _DURATIONS["hybrid"][kind & 1]
    else:
        frame = _DURATIONS["celt"][kind & 3]
    if count == 3:
        return min(frame * (payload[1] & 63), MAX_PACKET_TICKS) if len(payload) > 1 else 0
    return frame * (1, 2, 2)[count]


def _encoder() -> AudioCodecContext:
    codec = av.CodecContext.create("libopus", "w")
    assert isinstance(codec, AudioCodecContext)
    codec.sample_rate = RATE
    codec.layout = "mono"
    codec.format = "s16"
    codec.bit_rate = BIT_RATE
    # CELT alone: half the delay of SILK, less work, and the same kind of packet as SILENCE, so that nothing clicks.
    codec.options = {"application": "lowdelay", "frame_duration": "20", "compression_level": "4"}
    return codec


def _decoder() -> AudioCodecContext:
    codec = av.CodecContext.create("libopus", "r")
    assert isinstance(codec, AudioCodecContext)
    codec.sample_rate = CLOCK_RATE
    codec.layout = "mono"
    codec.format = "s16"
    return codec
