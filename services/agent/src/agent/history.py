"""What a model is told of the turns before this one (T4)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

INTERRUPTED_HERE = "(The person spoke here and heard no more of this answer.)"


@dataclass(frozen=True)
class PastTurn:
    """A turn that ended with an answer; ``heard`` is in code points of it, and matters when it was interrupted."""

    question: str
    answer: str
    status: Literal["completed", "interrupted"] = "completed"
    heard: int | None = None

    @property
    def known_answer(self) -> str:
        """What the person knows of the answer: all of it, or the part that was heard."""
        return self.answer if self.status == "completed" else self.answer[: self.heard or 0]

    @property
    def told_answer(self) -> str:
        """The same as it is told to a model, which must know that it was cut short."""
        return (
            self.answer
            if self.status == "completed"
            else "\n".join(part for part in (self.known_answer, INTERRUPTED_HERE) if part)
        )


def recent_turns(
    newest_first: Iterable[PastTurn], *, turns: int = 20, characters: int = 40_000
) -> tuple[PastTurn, ...]:
    """Keep the newest whole turns within both limits, and give them in the order of time.

    ``characters`` counts code points of questions and answers as they are told; the first turn that does not fit ends
    it, though an older one might.
    """
    kept: list[PastTurn] = []
    left = characters
    for turn in newest_first:
        left -= len(turn.question) + len(turn.told_answer)
        if left < 0 or len(kept) == turns:
            break
        kept.append(turn)
    return tuple(reversed(kept))
