"""What the mouth is asked to say: sentences of notes, and how a transcript of each must read.

Written for this bench. ``heard`` is in the words of a transcript, lower case, numbers as they are spoken.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence as it is written in an answer, and as it is heard; ``kind`` is plain or written (numbers, names)."""

    written: str
    heard: str
    kind: str


def _plain(*sentences: str) -> list[Sentence]:
    return [Sentence(sentence, sentence, "plain") for sentence in sentences]


def _written(*pairs: tuple[str, str]) -> list[Sentence]:
    return [Sentence(written, heard, "written") for written, heard in pairs]


SENTENCES: Final = [
    *_plain(
        "The boiler burns wood pellets, and the hopper lasts about three weeks in May.",
        "Press the reset button once, and wait for two minutes.",
        "Vents in the dry house are closed last, because it cools fastest.",
        "The tree ferns drop their crowns when the night is too cold.",
        "Rinse the sand filter until the sight glass is clear.",
        "Write both low waters on the slate before you open the door.",
        "A red flag means that the valve has closed by itself.",
        "Ask the plant doctor when more than twelve flies are in one trap.",
        "The alarm is set with the keeper's own key.",
        "Nobody may cross the causeway an hour before the tide.",
        "Commit the lock file together with the project, so that everybody installs the same versions.",
        "The second record shows how the temperature changed during the day.",
    ),
    *_written(
        ("Its recovery code is ORCHID-47.", "its recovery code is orchid forty seven"),
        ("It is kept at 21 °C by day.", "it is kept at twenty one degrees celsius by day"),
        ("The hopper holds 300 kg of pellets.", "the hopper holds three hundred kilograms of pellets"),
        ("Watering starts at 06:10 every day.", "watering starts at six ten every day"),
        ("About 100,000 visitors came in 2019.", "about one hundred thousand visitors came in twenty nineteen"),
        ("It costs $5.50, or 20% less in May.", "it costs five dollars and fifty cents or twenty percent less in may"),
        ("The meeting is on 2026-05-02.", "the meeting is on may second twenty twenty six"),
        ("Dr. Lee waits for 3-5 minutes.", "doctor lee waits for three to five minutes"),
    ),
]
