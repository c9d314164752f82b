"""Chunks: the pieces of a document that are found, quoted, and spoken as one.

A heading opens a chunk; blocks follow while they fit, and paragraphs while they are brief, so that what is found speaks
of the question alone; a list, a table or a quotation that does not fit is taken item by item, row by row; a paragraph
too long for a chunk sentence by sentence. A chunk is a span of the file: it may hold what lies between its blocks, and
never overlaps another.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from typing import Final

from contracts.documents import Chunk, Properties
from ingestor.cutting import columns, cut, fits
from ingestor.frontmatter import front_matter_of
from ingestor.markdown import Block, Document, read_markdown

__all__ = ["CHUNK_LENGTH", "Cut", "chunk_document", "fingerprint"]

NAME: Final = "talkdown-markdown"
VERSION: Final = 1
CHUNK_LENGTH: Final = 800
BRIEF: Final = 400
"""Columns (a wide letter takes two) up to which paragraphs share a chunk; more stand each on their own."""
MAX_HEADING_LENGTH: Final = 200
MAX_CONTEXT_LENGTH: Final = 400

# What may stand before a block on its line: the marks of the quotations and lists that it is in.
_MARKERS: Final = re.compile(rb"[ \t>*+\-\d.)]*")


def fingerprint(length: int = CHUNK_LENGTH) -> str:
    """Name, version and chunk length (C4): a document that was cut under another fingerprint is cut anew."""
    return f"{NAME}/{VERSION}/{length}"


@dataclass(frozen=True, slots=True)
class Cut:
    """A document's chunks, what its front matter says, and a notice where that could not be read."""

    chunks: tuple[Chunk, ...]
    properties: Properties
    notice: str | None = None


@dataclass(slots=True)
class _Open:
    """The chunk that still grows; ``bare`` while it holds headings alone."""

    start: int
    end: int
    first: int
    last: int
    headings: tuple[str, ...]
    context: str
    bare: bool = False
    level: int = 0


def chunk_document(data: bytes, text: str, length: int = CHUNK_LENGTH) -> Cut:
    """Cut a file into chunks of at most ``length`` code points; ``text`` is ``data`` decoded, byte order mark kept."""
    front = front_matter_of(text)
    document = read_markdown(data, text, len(text[: front.length].encode()))
    return Cut(tuple(_Packing(document, length).chunks()), front.properties, front.notice)


class _Packing:
    """One pass over a document's blocks, filling one chunk after another."""

    def __init__(self, document: Document, limit: int) -> None:
        self._document = document
        self._limit = limit
        self._open: _Open | None = None
        self._path: list[tuple[int, str]] = []
        self._done: list[Chunk] = []
        self._end = 0

    def chunks(self) -> list[Chunk]:
        """All chunks of the document, in its order."""
        todo = self._document.blocks[::-1]
        while todo:
            block = todo.pop()
            if block.kind == "heading":
                self._take_heading(block, todo)
            elif not self._extend(block):
                self._place(block, todo)
        self._close()
        return self._done

    def _take_heading(self, block: Block, todo: list[Block]) -> None:
        """Open a chunk, unless the one that is open holds nothing but the headings above this one."""
        path = self._path
        while path and path[-1][0] >= block.level:
            path.pop()
        title = " ".join(self._document.plain.passage(block.first, block.last)[0].split())
        path.append((block.level, title[:MAX_HEADING_LENGTH]))
        over = self._open
        if not (over and over.bare and over.level < block.level and self._extend(block)):
            self._close()
            if not fits(self._document, block.start, block.end, self._limit):
                todo.extend(reversed(cut(self._document, block, self._limit)))
                return
            self._start(block)
        if self._open:
            self._open.bare, self._open.level, self._open.headings = True, block.level, self._headings()

    def _place(self, block: Block, todo: list[Block]) -> None:
        """Open a chunk for a block that the open one has no room for, or take the block apart."""
        room = self._open
        alone = fits(self._document, block.start, block.end, self._limit)
        if alone and not (room and room.bare and self._divisible(block)):
            self._close()
            self._start(block)
            return
        if room and not room.bare and not block.children and block.kind != "part":
            self._close()
        parts = self._parts(block)
        todo.extend(reversed(parts))

    def _divisible(self, block: Block) -> bool:
        """Say whether a block that would fit alone may still be divided, to stand with its heading."""
        return block.kind in ("prose", "list", "table", "quote", "html")

    def _parts(self, block: Block) -> list[Block]:
        if block.kind == "table":
            return self._rows(block)
        if block.children and block.kind not in ("row", "head"):
            return block.children
        return cut(self._document, block, self._limit)

    def _rows(self, table: Block) -> list[Block]:
        """The rows of a table, the first with the header row, each other with the header row as its context."""
        head, *rows = table.children
        context = self._document.plain.passage(head.first, head.last)[0][:MAX_CONTEXT_LENGTH]
        for row in rows:
            row.context = context
        if not rows:
            return [Block("row", head.start, table.end, head.first, table.last)]
        if not fits(self._document, head.start, rows[0].end, self._limit):
            return [Block("row", head.start, rows[0].start, head.first, head.last), *rows]
        return [Block("row", head.start, rows[0].end, head.first, rows[0].last), *rows[1:]]

    def _extend(self, block: Block) -> bool:
        room = self._open
        if room is None or not fits(self._document, room.start, block.end, self._limit):
            return False
        if block.kind == "prose" and not room.bare and columns(self._document, room.start, block.end) > BRIEF:
            return False
        room.end, room.last, room.bare = block.end, block.last, False
        return True

    def _start(self, block: Block) -> None:
        document = self._document
        start = block.start
        line = document.line_starts[bisect_right(document.line_starts, start) - 1]
        if (
            line >= self._end
            and _MARKERS.fullmatch(document.data, line, start)
            and fits(document, line, block.end, self._limit)
        ):
            start = line
        self._open = _Open(start, block.end, block.first, block.last, self._headings(), block.context)

    def _headings(self) -> tuple[str, ...]:
        return tuple(title for _, title in self._path if title)

    def _close(self) -> None:
        room, self._open = self._open, None
        if room is None:
            return
        document = self._document
        plain, runs = document.plain.passage(room.first, room.last)
        if not plain:
            return
        # Blank lines before and after are nobody's text.
        end = room.start + len(document.data[room.start : room.end].rstrip(b" \t\r\n"))
        end = max(end, runs[-1][1] + 1)
        starts = document.line_starts
        self._end = end
        self._done.append(
            Chunk(
                ordinal=len(self._done),
                span=(room.start, end),
                lines=(bisect_right(starts, room.start), bisect_right(starts, max(end - 1, room.start))),
                heading=room.headings,
                plain=plain,
                runs=runs,
                context=room.context,
            )
        )
