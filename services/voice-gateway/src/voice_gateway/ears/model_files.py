"""Where the ears' models are, and whether they are the ones that were measured."""

from __future__ import annotations

import hashlib
import importlib.util
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from voice_gateway.errors import ModelMissing


@dataclass(frozen=True)
class ModelFile:
    """One file of a model: where its package has it, what it must be, and its name in a folder of the user's own."""

    package: str
    inside: str
    sha256: str

    @property
    def name(self) -> str:
        """What it is called in a folder that a setting names."""
        return Path(self.inside).name


VOICE_ACTIVITY: Final = ModelFile(
    "silero_vad",
    "data/silero_vad_16k_op15.onnx",
    "7ed98ddbad84ccac4cd0aeb3099049280713df825c610a8ed34543318f1b2c49",
)
END_OF_TURN: Final = ModelFile(
    "pipecat",
    "audio/turn/smart_turn/data/smart-turn-v3.2-cpu.onnx",
    "2bb026316b14a660486a75b1733cd3fbab8c2fd0314dc9af7be49f8cca967e4f",
)
SPEECH_TO_TEXT: Final = tuple(
    ModelFile("moonshine_voice", f"assets/tiny-en/{name}", sha256)
    for name, sha256 in (
        ("encoder_model.ort", "94e90a4654fc45cdfedb77c4c08e1739f48862998e58fada384b25118134f221"),
        ("decoder_model_merged.ort", "cf524c4862d36e9e5ab032eddc73637efd822d70e868ac575cf1a46e1e4708a0"),
        ("tokenizer.bin", "6884b35fd6377d4c4d32336a0bc152f36b64d1e45b6503683cdc238250a8472d"),
    )
)

RECOGNISER: Final = ("moonshine_voice", "libmoonshine.so" if sys.platform == "linux" else "libmoonshine.dylib")
"""The package of the library that runs the speech-to-text model, and its file."""

LEXICON: Final = (("misaki", "data/us_gold.json"), ("misaki", "data/us_silver.json"))
"""English words and how they are pronounced."""


def path_of(file: ModelFile, folder: str | None = None) -> Path:
    """The file in ``folder``, where the user answers for it; else the package's, checked to be the one we measured."""
    if folder is not None:
        path = Path(folder) / file.name
        if not path.is_file():
            raise ModelMissing(f"The folder {folder} has no {file.name}: put it there, or leave the setting out.")
        return path
    path = inside_package(file.package, file.inside)
    with path.open("rb") as content:
        found = hashlib.file_digest(content, "sha256").hexdigest()
    if found != file.sha256:
        raise ModelMissing(f"{path} is not the file that this version was made with: install {file.package} again.")
    return path


def inside_package(package: str, inside: str) -> Path:
    """A file of an installed package, which is found and not imported: what it imports need not be there."""
    spec = importlib.util.find_spec(package)
    places = spec.submodule_search_locations if spec else None
    path = next((Path(place) / inside for place in places or () if (Path(place) / inside).is_file()), None)
    if path is None:
        raise ModelMissing(f"The package {package} is missing, or has no {inside}: install it again.")
    return path
