"""Moonshine tiny-en: sound to words; in a process of its own.

Its library is called as its header (`moonshine-c-api.h`, version 3.0) describes: the package's Python turns each sample
into a Python float, copies the sound back with every answer, and imports a downloader.
"""

from __future__ import annotations

import ctypes
from collections import OrderedDict
from collections.abc import Iterator
from typing import Final

import numpy as np

from voice_gateway.ears.features import RATE, Samples, samples
from voice_gateway.ears.vocabulary import Correction, Lexicon
from voice_gateway.ears.windows import Recognition

_HEADER_VERSION: Final = 30_000
_TINY: Final = 0
_OPTIONS: Final = {
    # Its own voice activity detection cuts first syllables and adds a leading "You"; ours has cut already.
    "vad_threshold": "0.0",
    "return_audio_data": "false",
}
_VOCABULARIES: Final = 8
"""Kept at once: sessions may have words of their own."""
_SHORTEST: Final = RATE // 4
_ROOM: Final = (RATE * 3 // 10, RATE * 6 // 10)
"""Samples of silence put before and behind: words that stand at the very edge of a sound are misheard."""


class _Option(ctypes.Structure):
    _fields_ = (("name", ctypes.c_char_p), ("value", ctypes.c_char_p))


class _Line(ctypes.Structure):
    _fields_ = (
        ("text", ctypes.c_char_p),
        ("audio", ctypes.c_void_p),
        ("audio_count", ctypes.c_size_t),
        ("start_s", ctypes.c_float),
        ("duration_s", ctypes.c_float),
        ("id", ctypes.c_uint64),
        ("is_complete", ctypes.c_int8),
        ("is_updated", ctypes.c_int8),
        ("is_new", ctypes.c_int8),
        ("has_text_changed", ctypes.c_int8),
        ("have_speakers_changed", ctypes.c_int8),
        ("speakers", ctypes.c_void_p),
        ("speaker_count", ctypes.c_uint64),
        ("latency_ms", ctypes.c_uint32),
        ("words", ctypes.c_void_p),
        ("word_count", ctypes.c_uint64),
    )


class _Transcript(ctypes.Structure):
    _fields_ = (("lines", ctypes.POINTER(_Line)), ("line_count", ctypes.c_uint64))


class SpeechToText:
    """Each job is one stretch of speech (under 20 s); its one result the words, with punctuation and corrected."""

    def __init__(self, library: str, folder: str, lexicon: Lexicon) -> None:
        self._library = ctypes.CDLL(library)
        self._library.moonshine_error_to_string.restype = ctypes.c_char_p
        options = (_Option * len(_OPTIONS))(*((name.encode(), value.encode()) for name, value in _OPTIONS.items()))
        self._handle = self._library.moonshine_load_transcriber_from_files(
            folder.encode(), ctypes.c_uint32(_TINY), options, ctypes.c_uint64(len(options)), _HEADER_VERSION
        )
        self._check(self._handle)
        self._lexicon = lexicon
        self._corrections = OrderedDict({0: Correction((), lexicon)})

    def run(self, job: Recognition) -> Iterator[str | None]:
        """The one result; None when the vocabulary is wanted first."""
        if job.vocabulary is not None:
            self._corrections[job.vocabulary.version] = Correction(job.vocabulary.words, self._lexicon)
            while len(self._corrections) > _VOCABULARIES:
                self._corrections.popitem(last=False)
        if job.version not in self._corrections:
            yield None
            return
        self._corrections.move_to_end(job.version)
        yield self._corrections[job.version](self.words(samples(job.sound)))

    def words(self, sound: Samples) -> str:
        """What is said in ``sound`` (16 kHz, ±1)."""
        if sound.size < _SHORTEST:
            sound = np.concatenate((sound, np.zeros(_SHORTEST - sound.size, np.float32)), dtype=np.float32)
        sound = np.pad(sound, _ROOM)
        found = ctypes.POINTER(_Transcript)()
        self._check(
            self._library.moonshine_transcribe_without_streaming(
                self._handle,
                sound.ctypes.data_as(ctypes.POINTER(ctypes.c_float)),
                ctypes.c_uint64(sound.size),
                ctypes.c_int32(RATE),
                ctypes.c_uint32(0),
                ctypes.byref(found),
            )
        )
        if not found:
            return ""
        lines = (found.contents.lines[place].text for place in range(found.contents.line_count))
        return " ".join(" ".join((line or b"").decode(errors="ignore") for line in lines).split())

    def _check(self, answer: int) -> None:
        if answer < 0:
            raise RuntimeError(self._library.moonshine_error_to_string(answer).decode(errors="replace"))


def load(library: str, folder: str, lexicon: tuple[str, ...]) -> SpeechToText:
    """The model, warm; ``lexicon`` are the files of English words that corrections spare."""
    model = SpeechToText(library, folder, Lexicon.read(*lexicon))
    model.words(np.zeros(RATE, np.float32))
    return model
