"""What was said on both sides: partials that come and go, complete lines that stay (L5)."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from voice_gateway.live.port import Line

MAX_LINES = 40
MAX_CHARACTERS = 40_000
"""What a fresh connection is told of the conversation at most: the newest whole lines."""


class TranscriptLog:
    """The lines of one session, for a connection that knows nothing of them, and the words of the turn in work.

    A turn gives at most one line a side. A part is either told piece by piece, or whole when it is finished; what is
    never finished counts as far as it came.
    """

    def __init__(self, lines: Sequence[Line] = ()) -> None:
        self._lines: deque[Line] = deque(lines, maxlen=MAX_LINES)
        self._known = len(self._lines)
        self._private = False
        self._heard, self._said = _Side(), _Side()

    @property
    def lines(self) -> tuple[Line, ...]:
        """The lines of the turns that are over, the newest ones."""
        return tuple(self._lines)

    @property
    def known(self) -> tuple[Line, ...]:
        """Those that a new connection is told: the newest whole ones that fit, and that the agent may know."""
        kept: deque[Line] = deque()
        room = MAX_CHARACTERS
        for line in list(self._lines)[: -self._known - 1 : -1]:
            room -= len(line.text)
            if room < 0:
                break
            kept.appendleft(line)
        return tuple(kept)

    @property
    def question(self) -> str:
        """What the person is known to have said in the turn in work."""
        return self._heard.complete

    @property
    def answer(self) -> str:
        """What the agent said in the turn in work, as far as it came."""
        return self._said.text

    def heard(self, text: str, *, finished: bool) -> None:
        """The person's words: the next part, or the whole when ``finished``."""
        self._heard.take(text, finished=finished)

    def said(self, text: str, *, finished: bool) -> None:
        """The agent's words: the next part, or the whole when ``finished``."""
        self._said.take(text, finished=finished)

    def forget_partials(self) -> None:
        """The connection that would have finished the person's words is gone; the agent's were heard all the same."""
        self._heard.partial = ""
        self._said.keep_partial()

    def end_turn(self, *, interrupted: bool = False) -> tuple[Line, ...]:
        """The complete lines of the turn; an interruption drops what was in the middle of being said.

        The session itself remembers of an interrupted answer how far it came.
        """
        heard, said = self._heard, self._said
        self._heard, self._said = _Side(), _Side()
        question, answer = heard.complete if interrupted else heard.text, said.complete if interrupted else said.text
        known = said.text if said.text == answer else f"{said.text} …"
        self._add(*lines_of(question, known))
        self._private = False
        return lines_of(question, answer)

    def add_late(self, text: str) -> Line:
        """The question of a turn that was interrupted before its words were known."""
        line = Line("user", text)
        after = self._lines.pop() if self._lines and self._lines[-1].role == "assistant" else None
        if after is None:
            self._add(line)
        else:
            self._known = max(0, self._known - 1)
            self._add(line, after)
        return line

    def forget(self, *, in_turn: bool) -> None:
        """Another agent is not to know what was said, nor the turn in work in which it takes the floor."""
        self._known, self._private = 0, in_turn

    def _add(self, *lines: Line) -> None:
        self._lines.extend(lines)
        if not self._private:
            self._known = min(self._known + len(lines), MAX_LINES)


def lines_of(question: str, answer: str) -> tuple[Line, ...]:
    """A turn's lines, of which none is blank."""
    return tuple(line for line in (Line("user", question), Line("assistant", answer)) if line.text)


class _Side:
    """One side's words in a turn."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self.partial = ""

    def take(self, text: str, *, finished: bool) -> None:
        if not finished:
            self.partial += text
            return
        self.partial = ""
        if text.strip():
            self._parts.append(text.strip())

    def keep_partial(self) -> None:
        self.take(self.partial, finished=True)

    @property
    def complete(self) -> str:
        return " ".join(self._parts)

    @property
    def text(self) -> str:
        return " ".join((*self._parts, self.partial.strip())).strip()
