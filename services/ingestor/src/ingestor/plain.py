"""A document as a person reads it, built up piece by piece, and the way back from each piece to the file.

::

    file    # Valves\\n\\nThe **amber** valve &mdash; shut.
                       ^12    ^18        ^25
    plain   Valves\\n\\nThe amber valve — shut.
    runs    (0, 2, 1) (8, 10, 3) (12, 16, 3) (17, 23, 3) (24, 24, 3) (25, 31, 3)
"""

from __future__ import annotations

import re
from bisect import bisect_right
from itertools import accumulate

from contracts.documents import Run

__all__ = ["PlainText", "lines_of"]

_LINE_END = re.compile(rb"[\r\n]")
# Scripts that are written without spaces: a line break between two of their letters is no space.
_UNSPACED = re.compile(
    r"[\u2e80-\u2fdf\u3000-\u30ff\u31c0-\u31ff\u3400-\u9fff\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff]"
)
# Long lines have more runs than they need, so that finding a place within one costs no more than this.
_RUN_LENGTH = 1000
_STRENGTH = {"": 0, " ": 1, "\n": 2, "\n\n": 3}


def lines_of(data: bytes) -> list[int]:
    """Where the lines of a file begin, in bytes; a line ends with LF, CRLF, or a lone CR."""
    return list(accumulate(map(len, data.splitlines(keepends=True)), initial=0))


class PlainText:
    """The plain text so far and its runs. Text is added in the file's order; gaps are written only before more text."""

    __slots__ = (
        "_data",
        "_expected",
        "_gap",
        "_line",
        "_line_starts",
        "_parts",
        "_prefix",
        "ends",
        "length",
        "lines",
        "offsets",
        "places",
        "text",
    )

    def __init__(self, data: bytes, line_starts: list[int]) -> None:
        self._data = data
        self._line_starts = line_starts
        self._line = 0
        self._parts: list[str] = []
        self._gap = ""
        self._prefix: tuple[str, int] | None = None
        self._expected = -1
        self.length = 0
        self.text = ""
        self.offsets: list[int] = []
        self.places: list[int] = []
        self.lines: list[int] = []
        # Where a run's text stops standing in the file as it is here; the run's own place when it never does.
        self.ends: list[int] = []

    def add(self, text: str, start: int, end: int) -> None:
        """Add what stands in the bytes ``[start, end)`` of the file, all on one line."""
        if not text:
            return
        if self._gap or self._prefix:
            self._before(text, start)
        if self.ends and start < self.ends[-1]:
            # Seen only where brackets of several kinds of link cross each other.
            self.join(text)
            return
        verbatim = self._data[start:end] == text.encode()
        if verbatim and len(text) > _RUN_LENGTH:
            for at in range(0, len(text), _RUN_LENGTH):
                piece = text[at : at + _RUN_LENGTH]
                size = len(piece.encode())
                self.add(piece, start, start + size)
                start += size
            return
        if verbatim and start == self._expected and start - self.places[-1] < _RUN_LENGTH:
            self.ends[-1] = end
        else:
            self._run(start, end if verbatim else start)
        self._expected = end if verbatim else -1
        self._parts.append(text)
        self.length += len(text)

    def add_lines(self, text: str, start: int, end: int) -> None:
        """Add what stands in ``[start, end)`` and has line ends in it, as code does."""
        body = text.rstrip("\r\n")
        verbatim = self._data[start:end] == text.encode()
        for line in body.splitlines(keepends=True):
            size = len(line.encode())
            self.add(line, start, start + size if verbatim else start)
            self._expected = -1
            start += size if verbatim else 0
        # The last line end waits: it is nobody's when the code ends here.
        self._gap += "\n" * text.count("\n", len(body)) or "\n" * (len(text) > len(body))

    def gap(self, gap: str) -> None:
        """Leave a space, a line end, or a blank line before whatever is added next; the strongest wins."""
        if _STRENGTH[gap] > _STRENGTH.get(self._gap, 2):
            self._gap = gap
        self._expected = -1

    def prefix(self, text: str, start: int) -> None:
        """Put a text such as ``3. `` in front of whatever is added next on its line."""
        before, place = self._prefix or ("", start)
        self._prefix = (before + text, place)

    def drop_prefix(self) -> None:
        """Forget a prefix that nothing came after."""
        self._prefix = None

    def start_of_next(self, start: int) -> int:
        """Where a block that starts at ``start`` begins when a prefix is still to come before it."""
        if self._prefix and not self._same_line(self._prefix[1], start):
            self._prefix = None
        return self._prefix[1] if self._prefix else start

    def join(self, text: str) -> None:
        """Add what the file does not say in these words right behind what was added last, as a part of its run."""
        self._gap = ""
        self._parts.append(text)
        self.length += len(text)
        self._expected = -1

    def close(self) -> None:
        """Join the text; nothing can be added after."""
        self.text = "".join(self._parts)

    def byte_of(self, offset: int) -> int:
        """Where in the file the character at an offset of the text stands (its start, in bytes)."""
        run = bisect_right(self.offsets, offset) - 1
        if run < 0:
            return 0
        place = self.places[run]
        if place == self.ends[run]:
            return place
        return min(place + len(self.text[self.offsets[run] : offset].encode()), self.ends[run])

    def offset_of(self, byte: int) -> int:
        """The first offset of the text whose character stands at this byte of the file, or after it."""
        run = bisect_right(self.places, byte) - 1
        if run < 0:
            return 0
        place = self.places[run]
        if byte == place and self.ends[run] == place:
            return self.offsets[run]
        if byte < self.ends[run]:
            return self.offsets[run] + len(self._data[place:byte].decode())
        return self.offsets[run + 1] if run + 1 < len(self.offsets) else self.length

    def passage(self, first: int, last: int) -> tuple[str, tuple[Run, ...]]:
        """The text ``[first, last)`` without blank ends, and its runs, counted from its own beginning."""
        text, offsets = self.text, self.offsets
        while first < last and text[first] in "\r\n":
            first += 1
        run = bisect_right(offsets, first) - 1
        if run >= 0 and offsets[run] != first:
            # Indentation at a line's start belongs to code; white space anywhere else at an end is what a cut left.
            while first < last and text[first].isspace():
                first += 1
            run = bisect_right(offsets, first) - 1
        piece = text[first:last].rstrip()
        if run < 0 or not piece:
            return "", ()
        last = first + len(piece)
        stop = bisect_right(offsets, last - 1)
        runs: list[Run] = [(0, self.byte_of(first), self.lines[run])]
        places, lines = self.places, self.lines
        runs.extend((offsets[i] - first, places[i], lines[i]) for i in range(run + 1, stop))
        return piece, tuple(runs)

    def _before(self, text: str, start: int) -> None:
        if self._gap and self.length:
            gap = self._gap
            if gap == " " and _UNSPACED.match(text) and _UNSPACED.match(self._parts[-1][-1:]):
                gap = ""
            self._parts.append(gap)
            self.length += len(gap)
        self._gap = ""
        if self._prefix:
            prefix, place = self._prefix
            self._prefix = None
            if self._same_line(place, start):
                self.add(prefix, place, place + len(prefix.encode()))
        self._expected = -1

    def _same_line(self, place: int, start: int) -> bool:
        return not _LINE_END.search(self._data, place, start)

    def _run(self, place: int, end: int) -> None:
        starts, line = self._line_starts, self._line
        while line < len(starts) and starts[line] <= place:
            line += 1
        self._line = line
        self.offsets.append(self.length)
        self.places.append(place)
        self.lines.append(line)
        self.ends.append(end)
