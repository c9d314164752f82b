"""The chunks of an answer as they are spoken, and which part of the answer each of them stands for.

::

    deltas -> Markdown read as a person would, citations gone -> chunks (O1) -> Spoken
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from voice_gateway.orchestrators.chunks import Chunks
from voice_gateway.plain_speech import BREAK, PlainSpeech, Said

_MARKS: Final = ".,;:!?"


@dataclass(frozen=True, slots=True)
class Spoken:
    """A chunk as it is spoken; ``ends`` is for each of its characters how far the answer is said with it.

    They are code points of the answer; none for what is no part of it, such as a greeting.
    """

    text: str
    ends: tuple[int, ...] = ()


class Speech:
    """What is spoken of one answer; feed it the deltas."""

    def __init__(self) -> None:
        self._plain, self._chunks = PlainSpeech(), Chunks()
        self._ends: list[int] = []
        self._last = ""
        self._space: Said | None = None

    def feed(self, delta: str) -> list[Spoken]:
        """The chunks that ``delta`` completes."""
        return [chunk for said in self._plain.feed(delta) for chunk in self._say(said)]

    def finish(self) -> list[Spoken]:
        """The chunks that are left; the answer is complete."""
        said = [chunk for said in self._plain.finish() for chunk in self._say(said)]
        return [*said, *self._cut(self._chunks.finish())]

    def drop(self) -> None:
        """What is not yet in a chunk is not to be spoken."""
        self._chunks.drop()
        self._ends.clear()
        self._space = None

    def _say(self, said: Said) -> list[Spoken]:
        if said.text == BREAK:
            self._space = None
            return self._add("\n", said.end)
        if said.text.isspace():
            # Behind a mark it may end a chunk at once; elsewhere a citation may follow, and a mark behind that.
            if self._last in _MARKS:
                return self._add(" ", said.end)
            self._space = self._space or said
            return []
        ended: list[Spoken] = []
        if self._space is not None:
            if not (said.after_citation and said.text in _MARKS):
                ended += self._add(" ", self._space.end)
            self._space = None
        return [*ended, *self._add(said.text, said.end)]

    def _add(self, character: str, end: int) -> list[Spoken]:
        if character.isspace() and (not self._last or self._last.isspace()):
            return []
        self._last = character
        self._ends.append(end)
        return self._cut(self._chunks.feed(character))

    def _cut(self, chunks: list[str]) -> list[Spoken]:
        spoken: list[Spoken] = []
        for chunk in chunks:
            ends, self._ends = self._ends[: len(chunk)], self._ends[len(chunk) :]
            start = len(chunk) - len(chunk.lstrip())
            text = chunk.strip()
            if any(one.isalnum() for one in text):
                spoken.append(Spoken(" ".join(text.split("\n")), tuple(ends[start : start + len(text)])))
        return spoken


def heard_of_answer(spoken: list[Spoken], heard: str) -> int:
    """How many code points of the answer were heard, when ``heard`` is the beginning of the chunks joined by spaces."""
    left, reached = len(heard.rstrip()), 0
    for chunk in spoken:
        if left <= 0:
            break
        if chunk.ends:
            reached = chunk.ends[min(left, len(chunk.ends)) - 1]
        left -= len(chunk.text) + 1
    return reached
