"""The recordings that the ears are measured on; none is part of this repository.

- ``people``: two recordings of the speech-to-text's package, and those of Debian's ``pocketsphinx-testdata`` (read
  aloud from a novel and from cards), fetched with ``apt-get download`` when they are not installed, or left out;
- ``names``: sentences with names that only notes know, spoken by another voice of the text-to-speech;
- ``noises``: silence, a fan, typing, coughs, made from noise.
"""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1] / "tests"))

from recordings import Recordings, Sound, cough, fan, load, of_people, silence, typing  # noqa: E402

PACKAGE = "pocketsphinx-testdata"
DATA = Path("usr/share/pocketsphinx/test/data")
BECKETT = "ever tried ever failed no matter try again fail again fail better"
TWO_CITIES = (
    "it was the best of times it was the worst of times it was the age of wisdom it was the age of foolishness it was"
    " the epoch of belief it was the epoch of incredulity it was the season of light it was the season of darkness it"
    " was the spring of hope it was the winter of despair we had everything before us we had nothing before us we were"
    " all going direct to heaven we were all going direct the other way in short the period was so far like the present"
    " period that some of its noisiest authorities insisted on its being received for good or for evil in the"
    " superlative degree of comparison only"
)
VOCABULARY = (
    "ORCHID-47", "Nkemelu", "merrowctl", "Ilse Brandt", "Welwitschia", "Merrow Glasshouse", "Oyelaran", "Haworthia",
    "Lithops", "Ines Okafor", "Eilidh Ross", "Priya Nadar",
)  # fmt: skip
NAMES = {
    "orchid": "What is the recovery code, is it ORCHID-47?",
    "nkemelu": "Where does Nkemelu keep the keys?",
    "merrowctl": "How do I call merrowctl?",
    "brandt": "When did Ilse Brandt plant the Welwitschia?",
    "merrow": "Is the Merrow Glasshouse open?",
    "oyelaran": "What does Oyelaran say about Haworthia?",
    "okafor": "Is Ines Okafor on duty with Eilidh Ross?",
    "nadar": "Which house does Priya Nadar look after, and where are the Lithops?",
}


@dataclass(frozen=True)
class Said:
    """A recording and the words that are said in it."""

    name: str
    sound: Sound
    words: str


def people(folder: Path) -> list[Said]:
    """Speech that people recorded."""
    packaged = of_people()
    found = [Said("beckett", packaged["beckett"], BECKETT), Said("two_cities", packaged["two_cities"], TWO_CITIES)]
    data = next((root / DATA for root in (Path("/"), folder) if (root / DATA).is_dir()), None) or _downloaded(folder)
    if data is None:
        print(f"  {PACKAGE} is neither installed nor to be had: its recordings are left out")
        return found
    for transcripts in (data / "librivox/transcription", data / "cards/cards.transcription"):
        for line in transcripts.read_text().splitlines():
            words, _, name = line.partition("</s>")
            name = name.strip(" ()")
            file = transcripts.parent / f"{name}.wav"
            if file.is_file():
                found.append(Said(name, load(file), words.replace("<s>", "").strip()))
    return found


def names(folder: Path) -> list[Said]:
    """Sentences with rare names, spoken by another voice than the answering one."""
    # One at a time: each has its own time limit, and a busy machine is slow at this.
    return [Said(name, Recordings(folder, {name: text}).spoken(name), text) for name, text in NAMES.items()]


def noises() -> dict[str, Sound]:
    """What is no speech."""
    return {
        "silence": silence(10),
        "fan": fan(10),
        "typing": typing(10),
        "coughs": Sound(
            np.concatenate([np.concatenate((silence(2).samples, cough(seed).samples)) for seed in range(5)])
        ),
    }


def _downloaded(folder: Path) -> Path | None:
    try:
        subprocess.run(["apt-get", "download", "-q", PACKAGE], cwd=folder, check=True, capture_output=True, timeout=60)
        (package,) = folder.glob(f"{PACKAGE}*.deb")
        subprocess.run(["dpkg", "-x", package.name, "."], cwd=folder, check=True, capture_output=True, timeout=60)
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
    return folder / DATA
