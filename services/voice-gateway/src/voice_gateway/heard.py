"""How much of an answer was heard: what was really played, brought back to the text that it speaks.

::

    answer        The code is **ORCHID-47** [1]. It opens ...     code points of ``done.answer``
    transcript    The code is ORCHID-47. It opens ...             what is spoken, phrase by phrase
    sound         ==== ==== === ========= ...                     pieces of the mouth, frames of the playout
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from uuid import UUID

from voice_gateway.playout import Speech

PUNCTUATION = ".,;:!?\"'()[]"


@dataclass(frozen=True, slots=True)
class Passage:
    """A phrase to be spoken, and the ``source`` that it speaks: ``answer[start:start + len(source)]``."""

    text: str
    source: str
    start: int = 0


@dataclass(slots=True)
class Said:
    """What one response spoke of a turn's answer (without a turn: of a text of its own)."""

    speech: Speech
    turn_id: UUID | None = None
    transcript: str = ""
    _passages: list[tuple[int, Passage]] = field(default_factory=list[tuple[int, Passage]])
    """Each with its end in the transcript."""

    def add(self, text: str, passage: Passage) -> None:
        """``text`` of the transcript speaks ``passage``."""
        self.transcript += text
        self._passages.append((len(self.transcript), passage))

    def heard(self, played_ms: int | None = None) -> int:
        """Characters of the transcript that were heard, whole words only, by ``played_ms`` or until now."""
        count = min(self.speech.said_by(played_ms), len(self.transcript))
        if count == len(self.transcript) or self.transcript[count].isspace():
            return count
        return len(self.transcript[:count].rpartition(" ")[0])

    def heard_of_answer(self, played_ms: int | None = None) -> int:
        """Code points of the answer that were heard."""
        count, start, reached = self.heard(played_ms), 0, 0
        for end, passage in self._passages:
            if count < end:
                part = _reached(self.transcript[start:count].split(), passage.source)
                return passage.start + part if part else reached
            start, reached = end, passage.start + len(passage.source)
        return reached


def _reached(words: Sequence[str], source: str) -> int:
    """Where the last of ``words`` ends in ``source``, which may have marks between them that are not spoken."""
    place = 0
    for word in words:
        for spelling in (word, word.strip(PUNCTUATION)):
            found = source.find(spelling, place) if spelling else -1
            if found >= 0:
                place = found + len(spelling)
                break
    return place
