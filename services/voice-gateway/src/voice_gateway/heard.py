"""How much of an answer was heard: what was really played, brought back to the text that it speaks.

::

    answer        The code is **ORCHID-47** [1]. It opens ...     code points of ``done.answer``
    transcript    The code is ORCHID-47. It opens ...             what is spoken, phrase by phrase
    sound         ==== ==== === ========= ...                     pieces of the mouth, frames of the playout
"""

from __future__ import annotations

from dataclasses import dataclass, field
from uuid import UUID

from voice_gateway.playout import Speech


@dataclass(frozen=True, slots=True)
class _Phrase:
    """A phrase ends at ``end`` of the transcript, and speaks ``span`` of the answer."""

    end: int
    span: tuple[int, int]


@dataclass(slots=True)
class Said:
    """What one response spoke of a turn's answer (None: of a text of its own)."""

    speech: Speech
    turn_id: UUID | None = None
    transcript: str = ""
    _phrases: list[_Phrase] = field(default_factory=list[_Phrase])

    def phrase(self, text: str, span: tuple[int, int]) -> None:
        """``text`` is spoken next, for ``span`` of the answer."""
        self.transcript += text
        self._phrases.append(_Phrase(len(self.transcript), span))

    def heard(self, played_ms: int | None = None) -> int:
        """Characters of the transcript that were heard, whole words only, by ``played_ms`` or until now."""
        count = min(self.speech.said_by(played_ms), len(self.transcript))
        if count == len(self.transcript) or self.transcript[count].isspace():
            return count
        return len(self.transcript[:count].rpartition(" ")[0])

    def heard_of_answer(self, played_ms: int | None = None) -> int:
        """Code points of the answer that were heard."""
        count, start, reached = self.heard(played_ms), 0, 0
        for phrase in self._phrases:
            first, last = phrase.span
            if count < phrase.end:
                share = (count - start) / (phrase.end - start)
                return max(reached, first + int(share * (last - first)) if count > start else reached)
            start, reached = phrase.end, last
        return reached
