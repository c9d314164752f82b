"""What of a sound scenario does not fit where it is used: its notes, the voices of this machine, nobody to hand over.

Each is a place in the file, as keys and indices, and a sentence that says what to do.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterator
from pathlib import Path

from voice_gateway.orchestrators.graph import MAX_LISTED, Mistake, met
from voice_gateway.orchestrators.scenario import Scenario, Voices


def misfits(scenario: Scenario, notes: Path | None, voices: Collection[str]) -> Iterator[Mistake]:
    """What agents name and is not there: folders of the notes, where these are known, and voices of this machine."""
    for place, agent in enumerate(scenario.agents):
        for index, folder in enumerate(agent.folders if notes else ()):
            if notes and not _is_folder(notes, folder):
                yield ("agents", place, "folders", index), _no_folder(agent.name, notes, folder)
        # One name for all providers may be another's: it is a mistake only where it is given for this machine.
        voice = agent.voice.local if isinstance(agent.voice, Voices) else None
        if voice is not None and voice not in voices:
            yield (
                ("agents", place, "voice", "local"),
                f"There is no local voice `{voice}` for `{agent.name}`; there are: {', '.join(voices)}.",
            )


def warnings(scenario: Scenario, *, keyless: bool) -> Iterator[Mistake]:
    """What is allowed, and most likely not meant; ``keyless`` where no model decides on handoffs."""
    somebody = met(scenario)
    for place, agent in enumerate(scenario.agents):
        if agent.name not in somebody:
            yield (
                ("agents", place, "name"),
                f"Nobody gets to `{agent.name}` from `{scenario.start}`; add a handoff that leads there.",
            )
    for place, edge in enumerate(scenario.handoffs if keyless else ()):
        if not edge.phrases:
            yield (
                ("handoffs", place),
                f"The handoff from `{edge.source}` to `{edge.target}` has no `phrases`: without a model that decides,"
                " nobody can ask for it. Add what a person would say.",
            )


def _is_folder(notes: Path, folder: str) -> bool:
    try:
        return (notes / folder.strip("/")).is_dir()
    except (OSError, ValueError):
        return False


def _no_folder(agent: str, notes: Path, folder: str) -> str:
    try:
        there = sorted(path.name for path in notes.iterdir() if path.is_dir() and not path.name.startswith("."))
    except OSError:
        there = []
    close = difflib.get_close_matches(folder, there, 1)
    listed = ", ".join(there[:MAX_LISTED])
    meant = f"is `{close[0]}` meant?" if close else f"there are: {listed}." if there else "there is none at all."
    return f"`{agent}` searches in the folder `{folder}`, and the notes have none of this name; {meant}"
