"""Sound from one sample rate to another while it streams, by soxr's own state: no click where two pieces meet."""

from __future__ import annotations

import numpy as np
import soxr


class Resampler:
    """A stream of mono PCM16 from ``source`` to ``target`` samples a second; ``end`` gives what is still inside."""

    def __init__(self, source: int, target: int) -> None:
        if source < 1 or target < 1:
            raise ValueError("A sample rate is at least 1.")
        self._source, self._target = source, target
        self._stream: soxr.ResampleStream | None = None
        self._half = b""

    def take(self, pcm: bytes) -> bytes:
        """The next piece, as far as it can be told already; a sample cut in two waits for its other half."""
        pcm = self._half + pcm
        whole = len(pcm) & ~1
        self._half = pcm[whole:]
        if self._source == self._target or not whole:
            return pcm[:whole]
        return self._through(np.frombuffer(pcm[:whole], dtype="<i2"), last=False)

    def end(self) -> bytes:
        """The rest of the stream; the next piece begins another."""
        self._half = b""
        if self._stream is None:
            return b""
        rest = self._through(np.empty(0, dtype="<i2"), last=True)
        self._stream = None
        return rest

    def _through(self, samples: np.ndarray[tuple[int], np.dtype[np.int16]], *, last: bool) -> bytes:
        if self._stream is None:
            self._stream = soxr.ResampleStream(self._source, self._target, 1, dtype="int16", quality="HQ")
        return self._stream.resample_chunk(samples, last=last).astype("<i2").tobytes()
