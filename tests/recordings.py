"""Recorded sound for tests and benchmarks of the voice: what a microphone might pick up.

::

    samples, voices  ─>  Sound  ─>  microphone.wav   48 kHz, for Chromium's --use-file-for-fake-audio-capture
                            └────>  pcm              24 kHz, 16 bits, as the gateway takes it

Speech that was really recorded comes from the package of the speech-to-text; the questions are spoken by another of the
text-to-speech's voices than the one that answers; everything else is made here from noise. Nothing is committed: the
questions are spoken once for a folder, in a process of their own, since the model needs some hundred megabytes.
"""

from __future__ import annotations

import subprocess
import sys
import wave
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt
import soxr

RATE = 24_000
MICROPHONE_RATE = 48_000
STEP = RATE // 100
MODELS = Path(__file__).with_name("models.py")
MODELS_S = 120

QUESTION = "What is the amber valve recovery code?"
OTHER_QUESTION = "When is the glasshouse open to visitors?"
SPOKEN: Mapping[str, str] = {
    "question": QUESTION,
    "other-question": OTHER_QUESTION,
    "halting-question": "What is the amber valve… recovery code?",
    "backchannel": "Mm-hmm.",
    "barge-in": "Stop, that is enough.",
    "continue": "Continue.",
    "repeat": "Repeat that, please.",
}
"""What the other voice says, by name."""

Samples = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Sound:
    """Samples between -1 and 1, mono, 24 kHz."""

    samples: Samples

    @property
    def seconds(self) -> float:
        """How long it lasts."""
        return len(self.samples) / RATE

    @cached_property
    def onset_s(self) -> float:
        """When it first becomes loud: a twentieth of its loudest 10 ms."""
        return self._loud[0]

    @cached_property
    def end_s(self) -> float:
        """When it is loud for the last time."""
        return self._loud[1]

    @property
    def pcm(self) -> bytes:
        """16 bits, little-endian."""
        return (np.clip(self.samples, -1, 1) * 32767).astype("<i2").tobytes()

    def gain(self, decibel: float) -> Sound:
        """The same, louder or softer."""
        return Sound(self.samples * np.float32(10 ** (decibel / 20)))

    def over(self, other: Sound) -> Sound:
        """Both at once, as long as this one; the other begins anew where it is too short."""
        repeats = -(-len(self.samples) // len(other.samples))
        return Sound(self.samples + np.tile(other.samples, repeats)[: len(self.samples)])

    def echo(self, *, delay_s: float = 0.12, decibel: float = -18.0) -> Sound:
        """The same as it comes back from a loudspeaker across a room: later, softer, and with less treble."""
        kernel = np.hanning(9)
        dull = np.convolve(self.samples.astype(np.float64), kernel / kernel.sum(), "same")
        return joined(silence(delay_s), Sound(dull.astype(np.float32)).gain(decibel))

    def trimmed(self) -> Sound:
        """The same without the silence before and behind it, but for 30 ms."""
        first, end = max(self.onset_s - 0.03, 0.0), self.end_s + 0.03
        return Sound(self.samples[int(first * RATE) : int(end * RATE)])

    def halting(self, seconds: float) -> Sound:
        """The same with the longest silence inside it made so long."""
        loud = np.flatnonzero(self.is_loud)
        place = int(np.diff(loud).argmax())
        first, second = int(loud[place] + 1) * STEP, int(loud[place + 1]) * STEP
        return joined(Sound(self.samples[:first]), silence(seconds), Sound(self.samples[second:]))

    def save(self, path: Path, rate: int = MICROPHONE_RATE) -> Path:
        """Write it as a wav file; Chromium wants its microphones so."""
        return _write(path, Sound(resampled(self.samples, RATE, rate)).pcm, rate)

    @property
    def _loud(self) -> tuple[float, float]:
        loud = np.flatnonzero(self.is_loud)
        return float(loud[0]) / 100, float(loud[-1] + 1) / 100

    @property
    def is_loud(self) -> npt.NDArray[np.bool_]:
        """Of each 10 ms, whether it has a twentieth of the loudest one's level."""
        whole = self.samples[: len(self.samples) // STEP * STEP].reshape(-1, STEP)
        levels = np.sqrt((whole**2).mean(axis=1))
        return levels > levels.max() / 20


def joined(*sounds: Sound) -> Sound:
    """One after the other."""
    return Sound(np.concatenate([sound.samples for sound in sounds]))


def silence(seconds: float) -> Sound:
    """Nothing at all, as a muted microphone gives it."""
    return Sound(np.zeros(int(seconds * RATE), np.float32))


def of_pcm(pcm: bytes, rate: int = RATE) -> Sound:
    """A sound of 16 bits, little-endian."""
    samples: Samples = np.frombuffer(pcm, "<i2").astype(np.float32) / np.float32(32768)
    return Sound(resampled(samples, rate, RATE))


def resampled(samples: Samples, rate: int, wanted: int) -> Samples:
    """The samples at another rate."""
    return samples if rate == wanted else soxr.resample(samples, rate, wanted).astype(np.float32)


def load(path: Path) -> Sound:
    """A sound of a wav file of any rate, 16 bits, mono."""
    with wave.open(str(path)) as file:
        assert file.getsampwidth() == 2, path
        assert file.getnchannels() == 1, path
        return of_pcm(file.readframes(file.getnframes()), file.getframerate())


def fan(seconds: float, seed: int = 1) -> Sound:
    """A fan: pink noise with the hum of its motor."""
    count = int(seconds * RATE)
    spectrum = np.fft.rfft(np.random.default_rng(seed).standard_normal(count))
    spectrum /= np.sqrt(np.maximum(np.arange(len(spectrum)), 1))
    noise = np.fft.irfft(spectrum, count)
    hum = np.sin(2 * np.pi * 118 * np.arange(count) / RATE)
    return Sound((0.02 * noise / noise.std() + 0.004 * hum).astype(np.float32))


def typing(seconds: float, seed: int = 2) -> Sound:
    """Somebody types: clicks with a dull end, some six a second."""
    random = np.random.default_rng(seed)
    samples = np.zeros(int(seconds * RATE), np.float32)
    at = 0.1
    while at < seconds - 0.1:
        length = int(0.05 * RATE)
        moments = np.arange(length) / RATE
        click = random.standard_normal(length) * np.exp(-moments / 0.003)
        thump = np.sin(2 * np.pi * random.uniform(120, 220) * moments) * np.exp(-moments / 0.012)
        first = int(at * RATE)
        samples[first : first + length] += (random.uniform(0.04, 0.1) * (click + 0.6 * thump)).astype(np.float32)
        at += random.uniform(0.08, 0.3)
    return Sound(samples)


def cough(seed: int = 3) -> Sound:
    """A cough of two bursts: each opens at once, hisses, and dies away."""
    random = np.random.default_rng(seed)

    def burst(seconds: float, loudness: float) -> Sound:
        count = int(seconds * RATE)
        moments = np.arange(count) / RATE
        hiss = np.convolve(random.standard_normal(count), np.hanning(12), "same")
        envelope = np.minimum(moments / 0.008, 1) * np.exp(-moments / (seconds / 4))
        shaped = hiss / np.abs(hiss).max() * envelope
        return Sound((loudness * shaped).astype(np.float32))

    return joined(burst(0.32, 0.7), silence(0.12), burst(0.25, 0.45))


@dataclass(frozen=True)
class Recordings:
    """The recordings of a folder: ``texts`` are spoken at once when the first of them is asked for."""

    folder: Path
    texts: Mapping[str, str] = field(default_factory=lambda: SPOKEN)

    def spoken(self, name: str) -> Sound:
        """What the other voice says, by the name of its text."""
        self.folder.mkdir(parents=True, exist_ok=True)
        missing = {each: text for each, text in self.texts.items() if not self._file(each).exists()}
        if missing:
            speak(missing, self.folder)
        return load(self._file(name))

    def paused(self, seconds: float = 1.0) -> Sound:
        """A question with a pause of so many seconds inside its sentence."""
        return self.spoken("halting-question").halting(seconds)

    def _file(self, name: str) -> Path:
        return self.folder / f"{name}.wav"


def speak(texts: Mapping[str, str], folder: Path, *, voice: str = "am_michael") -> None:
    """Let another voice than the answering one say each text into ``{name}.wav``."""
    _models("speak", voice, str(folder), *(argument for name, text in texts.items() for argument in (name, text)))


def transcribed(sound: Sound, folder: Path) -> str:
    """What the speech-to-text of the ears hears in a sound of any length."""
    return _models("transcribe", str(sound.save(folder / "transcribed.wav"))).strip()


def _models(*arguments: str) -> str:
    return subprocess.run(
        [sys.executable, str(MODELS), *arguments], check=True, timeout=MODELS_S, stdout=subprocess.PIPE, text=True
    ).stdout


def of_people() -> dict[str, Sound]:
    """Speech that people recorded, by the name of its file; from the package of the speech-to-text."""
    import importlib.util

    spec = importlib.util.find_spec("moonshine_voice")
    assert spec is not None
    assert spec.origin is not None
    assets = Path(spec.origin).parent / "assets"
    return {name: load(assets / f"{name}.wav") for name in ("beckett", "two_cities")}


def _write(path: Path, pcm: bytes, rate: int) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes(pcm)
    return path
