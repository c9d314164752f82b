"""What was said against what a recogniser heard of it, for tests and benchmarks of the voice.

A recogniser writes a name that it does not know as words that sound like it, and then not always the same ones. So an
answer counts as heard by its words as a whole, and a name by its letters.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher

from playwright.sync_api import Locator

from voice_gateway.mouth.normalising import normalised

WRONG = 0.15
"""Of an answer's words, as many may be misheard: 5 to 7 % are where every word was spoken."""
ALIKE = 0.65
"""A name is there when a part of the transcript is so much like it."""


def words_of(text: str) -> list[str]:
    """The words to compare: numbers as they are spoken, no marks, no capitals."""
    spoken = " ".join(part.spoken for part in normalised(text))
    return re.sub(r"[^a-z' ]", " ", spoken.lower().replace("-", " ")).split()


def word_errors(said: Sequence[str], heard: Sequence[str]) -> int:
    """Words to put in, leave out or change: the edit distance between two lists of words (Levenshtein)."""
    above = list(range(len(heard) + 1))
    for count, word in enumerate(said, 1):
        row = [count]
        for place, other in enumerate(heard):
            row.append(min(above[place] + (word != other), above[place + 1] + 1, row[-1] + 1))
        above = row
    return above[-1]


def likeness(name: str, transcript: str) -> float:
    """How much a part of a transcript is like a name, by the letters of its spoken form: 1 is the same."""
    said, heard = words_of(name), words_of(transcript)
    letters = "".join(said)
    parts = (
        "".join(heard[start : start + length])
        for start in range(len(heard))
        for length in range(max(1, len(said) - 1), len(said) + 2)
    )
    return max((SequenceMatcher(None, letters, part, autojunk=False).ratio() for part in parts), default=0.0)


def answer_of(turn: Locator) -> str:
    """The answer's text in a turn of the page, without the numbers of its sources."""
    return turn.locator(".answer").evaluate(
        """(answer) => {
          const copy = answer.cloneNode(true);
          copy.querySelectorAll(".cite, .doubt").forEach((one) => one.remove());
          return copy.textContent;
        }"""
    )


def assert_heard(answer: str, name: str, transcript: str) -> None:
    """Nearly all words of ``answer`` were heard in their order, and ``name``, which stands in it."""
    assert name in answer, answer
    said, heard = words_of(answer), words_of(transcript)
    assert word_errors(said, heard) <= WRONG * len(said), f"{answer!r} was heard as {transcript!r}"
    assert likeness(name, transcript) >= ALIKE, f"{name!r} is not in {transcript!r}"
