"""An answer cut into chunks to be spoken while it is still being written (O1).

From :data:`FROM` characters on a chunk ends at a sentence's end, at ``;:`` before white space, or at a newline,
whichever comes first; at :data:`FORCED` it ends at the last space; without one at the next, or at :data:`LONGEST`.
What the deltas were cut into changes nothing, and joined the chunks are the text.
"""

from __future__ import annotations

from typing import Final

from voice_gateway.phrases import WIDE_STOPS, ends_phrase

FROM: Final = 20
FORCED: Final = 80
LONGEST: Final = 220
"""Where a chunk without any white space ends, such as a long address."""


class Chunks:
    """The chunks of one answer; feed it the deltas."""

    def __init__(self) -> None:
        self._text = ""
        self._looked = 0

    def feed(self, delta: str) -> list[str]:
        """The chunks that ``delta`` completes, white space around them included."""
        self._text += delta
        ended: list[str] = []
        while self._looked < len(self._text):
            self._looked += 1
            end = self._end()
            if end is not None:
                ended.append(self._text[:end])
                self._text = self._text[end:]
                # What stands behind the last space was looked at before it became the beginning of a chunk.
                self._looked = 0
        return ended

    def finish(self) -> list[str]:
        """What is left; the answer is complete."""
        rest, self._text, self._looked = self._text, "", 0
        return [rest] if rest else []

    def drop(self) -> None:
        """What is left is not to be spoken."""
        self._text, self._looked = "", 0

    def _end(self) -> int | None:
        """Where a chunk ends according to what was looked at so far."""
        said = self._text[: self._looked]
        last = said[-1]
        # The white space behind a mark stays with the chunk that it ends.
        if len(said.strip()) >= FROM and (
            last in WIDE_STOPS or last == "\n" or (last.isspace() and ends_phrase(said[:-1]))
        ):
            return len(said)
        if len(said) < FORCED:
            return None
        space = max((place for place, one in enumerate(said[:FORCED]) if one.isspace()), default=-1)
        if space >= FROM:
            return space + 1
        return len(said) if last.isspace() or len(said) == LONGEST else None
