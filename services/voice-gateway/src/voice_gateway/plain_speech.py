"""Markdown as it is read aloud, character by character while it is still being written.

Marks of emphasis, headings, lists and links go, citations go, code blocks are announced instead of read, a table is
read row by row with its header. What cannot be told yet (half a link, a line that may become a rule) waits for more,
so that the result is the same however the text was cut into deltas. ``services/web/src/web/page/phrases.js`` follows
the same rule; ``contracts/examples/phrases.json`` tests both.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

CODE_BLOCK: Final = "The code is on the page."
"""What is said in place of a block of code."""
WINDOW: Final = 300
"""A link, a code span or a citation that does not end within so many characters is none."""

BREAK: Final = "\n"
"""The text of a :class:`Said` that ends whatever was being said: the end of a paragraph, an item, a heading, a row."""


@dataclass(frozen=True, slots=True)
class Said:
    """A character to say, or :data:`BREAK`, and the code points ``[start, end)`` of the answer that it stands for.

    ``after_citation`` tells that a citation stood just before it.
    """

    text: str
    start: int
    end: int
    after_citation: bool = False


_UNSURE: Final = re.compile(r"\s*(?:>\s*)*(?:[-*+=_#>~`|]*|\d{1,9}[.)]?|[-*+]\s+\[[ xX]?\]?)\s*")
_FENCE: Final = re.compile(r"\s*(`{3,}|~{3,})")
_RULE: Final = re.compile(r"\s*(?:-{3,}|\*{3,}|_{3,}|=+)\s*")
_PREFIX: Final = re.compile(
    r"""\s*(?:>\s?)*(?:
        (?P<heading>\#{1,6})\s+
      | (?P<item>[-*+]\s+(?:\[[ xX]\]\s+)?)
      | (?=(?P<number>\d{1,9}[.)]\s))
    )?""",
    re.VERBOSE,
)
_SEPARATOR: Final = re.compile(r"\s*\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*")
_CITATION: Final = re.compile(r"\[(?:\d{1,3}(?:,\s*\d{1,3})*|\^[^\[\]\s]+)\](?!\()")
_LINK: Final = re.compile(r"!?\[(?P<text>[^\[\]\n]*)\](?:\((?:[^()\n]|\([^()\n]*\))*\)|\[[^\[\]\n]*\])")
_WIKILINK: Final = re.compile(r"!?\[\[(?P<name>[^\[\]\n|]*)(?:\|(?P<text>[^\[\]\n]*))?\]\]")
_ANGLE: Final = re.compile(r"<(?:br\s*/?|!--.*?--|(?P<address>https?://[^<>\s]+|[^<>\s@]+@[^<>\s@]+))>", re.DOTALL)
_RUN: Final = {mark: re.compile(rf"{re.escape(mark)}+") for mark in "`*_~"}
_INNER_MARKS: Final = re.compile(r"[*`]+|~~|(?<!\w)_+(?=\w)|(?<=\w)_+(?!\w)")
_PUNCTUATION: Final = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")
_CELL_ENDS: Final = re.compile(r"(?<!\\)\|")


class PlainSpeech:
    """What is said of one answer; feed it the answer's deltas."""

    def __init__(self) -> None:
        self._text = ""
        self._at = 0
        self._final = False
        self._line_start = True
        self._moved = False  # past the prefix of a line, though that may be empty
        self._heading = False
        self._fence = ""
        self._cited = False
        self._header: list[str] | None = None
        self._row: tuple[int, int] | None = None  # a table's first row, while it may still become its header
        self._in_table = False

    def feed(self, delta: str) -> Iterator[Said]:
        """What can be said now that ``delta`` came."""
        self._text += delta
        yield from self._read()

    def finish(self) -> Iterator[Said]:
        """What is left; the answer is complete."""
        self._final = True
        yield from self._read()
        yield from self._end_table()

    def _read(self) -> Iterator[Said]:
        while self._at < len(self._text):
            before = self._at
            if self._line_start:
                yield from self._line()
            else:
                yield from self._inline()
            if self._at == before and not self._moved:
                return

    def _line(self) -> Iterator[Said]:
        """Decide what kind of line begins here; take it whole where it must be, else its prefix."""
        self._moved = False
        start = self._at
        newline = self._text.find("\n", start)
        whole = newline >= 0 or self._final
        end = newline if newline >= 0 else len(self._text)
        line = self._text[start:end]
        if not whole and (self._fence or "|" in line[:1] or _UNSURE.fullmatch(line) or _FENCE.match(line)):
            return
        if self._fence:
            if line.strip().startswith(self._fence) and not line.strip().strip(self._fence[0]):
                self._fence = ""
            self._at = min(end + 1, len(self._text))
            return
        if line.lstrip().startswith("|"):
            if not whole:
                return
            yield from self._table_line(line, start, end)
            self._at = min(end + 1, len(self._text))
            return
        yield from self._end_table()
        if not line.strip() or _RULE.fullmatch(line):
            yield Said(BREAK, start, start)
            self._at = min(end + 1, len(self._text))
            return
        if fence := _FENCE.match(line):
            yield Said(BREAK, start, start)
            yield from (Said(character, start, end) for character in CODE_BLOCK)
            yield Said(BREAK, end, end)
            self._fence = fence[1]
            self._at = min(end + 1, len(self._text))
            return
        prefix = _PREFIX.match(line)
        assert prefix is not None
        if prefix["heading"] or prefix["item"] or prefix["number"]:
            yield Said(BREAK, start, start)
        self._heading = bool(prefix["heading"])
        self._at = start + prefix.end()
        self._line_start, self._moved = False, True

    def _inline(self) -> Iterator[Said]:
        self._moved = False
        at, text = self._at, self._text
        window = text[at : at + WINDOW]
        line, newline, _ = window.partition("\n")
        open_ended = not newline and len(window) < WINDOW and not self._final
        match text[at]:
            case "\n":
                yield self._say(BREAK if self._heading else " ", at, at + 1)
                self._heading, self._line_start = False, True
            case "\\" if len(window) > 1 or open_ended:
                if len(window) > 1:
                    escaped = window[1] in _PUNCTUATION
                    yield self._say(window[1] if escaped else "\\", at + escaped, at + escaped + 1)
            case "`":
                yield from self._code(at, line, open_ended)
            case "[" | "!" | "<" as opener:
                yield from self._bracket(opener, at, window, line, open_ended)
            case "*" | "_" | "~" as mark:
                yield from self._emphasis(mark, at, window, open_ended)
            case character:
                yield self._say(character, at, at + 1)

    def _say(self, character: str, start: int, end: int) -> Said:
        self._at = end
        cited, self._cited = self._cited, False
        return Said(character, start, end, cited)

    def _say_part(self, start: int, end: int, after: int) -> Iterator[Said]:
        """Say ``[start, end)`` without its marks, and go on at ``after``."""
        part = self._text[start:end]
        hidden = {place for marks in _INNER_MARKS.finditer(part) for place in range(*marks.span())}
        for place, character in enumerate(part):
            if place not in hidden:
                yield self._say(character, start + place, start + place + 1)
        self._at = after

    def _code(self, at: int, line: str, open_ended: bool) -> Iterator[Said]:
        run = _RUN["`"].match(line)
        assert run is not None
        closing = re.compile(rf"(?<!`){run[0]}(?!`)").search(line, run.end())
        if (closing is None or closing.end() == len(line)) and open_ended:
            return
        if closing is None:
            self._at = at + run.end()
            return
        for place in range(run.end(), closing.start()):
            yield self._say(line[place], at + place, at + place + 1)
        self._at = at + closing.end()

    def _bracket(self, opener: str, at: int, window: str, line: str, open_ended: bool) -> Iterator[Said]:
        if opener == "<":
            angle = _ANGLE.match(window)
            if angle is None:
                if open_ended and ">" not in line and not (line[1:2].isspace() or line[1:2].isdigit()):
                    return
                yield self._say("<", at, at + 1)
            elif angle["address"]:
                yield from self._verbatim(at + angle.start("address"), at + angle.end("address"))
                self._at = at + angle.end()
            else:
                yield self._say(" ", at, at + angle.end())
            return
        if opener == "!" and line[1:2] != "[":
            if len(line) > 1 or not open_ended:
                yield self._say("!", at, at + 1)
            return
        if open_ended and _may_go_on(line):
            return
        if citation := _CITATION.match(line):
            self._at, self._cited = at + citation.end(), True
        elif wikilink := _WIKILINK.match(line):
            name = "text" if wikilink["text"] else "name"
            yield from self._say_part(at + wikilink.start(name), at + wikilink.end(name), at + wikilink.end())
        elif link := _LINK.match(line):
            yield from self._say_part(at + link.start("text"), at + link.end("text"), at + link.end())
        else:
            yield self._say(opener, at, at + 1)

    def _verbatim(self, start: int, end: int) -> Iterator[Said]:
        for place in range(start, end):
            yield self._say(self._text[place], place, place + 1)

    def _emphasis(self, mark: str, at: int, window: str, open_ended: bool) -> Iterator[Said]:
        run = _RUN[mark].match(window)
        assert run is not None
        if run.end() == len(window) and open_ended:
            return
        before, after = self._text[at - 1 : at], self._text[at + run.end() : at + run.end() + 1]
        if _is_mark(mark, len(run[0]), before, after):
            self._at = at + run.end()
        else:
            yield from self._verbatim(at, at + run.end())

    def _table_line(self, line: str, start: int, end: int) -> Iterator[Said]:
        if not self._in_table:
            self._in_table = True
            self._row = (start, end)
        elif self._row is not None and _SEPARATOR.fullmatch(line):
            first, last = self._row
            self._header, self._row = _cells(self._text[first:last]), None
        else:
            yield from self._say_first_row()
            yield from self._say_row(start, end)

    def _end_table(self) -> Iterator[Said]:
        yield from self._say_first_row()
        self._in_table, self._header = False, None

    def _say_first_row(self) -> Iterator[Said]:
        row, self._row = self._row, None
        if row is not None:
            yield from self._say_row(*row)

    def _say_row(self, start: int, end: int) -> Iterator[Said]:
        cells = _cells(self._text[start:end])
        names = self._header if self._header is not None and len(self._header) == len(cells) else [""] * len(cells)
        named = (" ".join(pair) for pair in zip(names[1:], cells[1:], strict=True) if pair[1])
        parts = [part.strip() for part in (*cells[:1], *named) if part.strip()]
        yield Said(BREAK, start, start)
        if parts:
            yield from (Said(character, start, end) for character in ", ".join(parts).rstrip(".") + ".")
        yield Said(BREAK, end, end)


def _may_go_on(line: str) -> bool:
    """Whether a bracket that opens ``line``, which is not over, may still become something else than it is now."""
    inner = line.removeprefix("!")
    if inner.startswith("[["):
        return "]]" not in inner
    closed = inner.find("]")
    if closed < 0 or closed + 1 == len(inner):
        return True
    following = inner[closed + 1]
    return (following == "(" and _LINK.match(line) is None) or (
        following == "[" and "]" not in inner[closed + 2 :] and not _CITATION.match(inner)
    )


def _is_mark(mark: str, length: int, before: str, after: str) -> bool:
    """Whether a run of asterisks, underscores or tildes is emphasis, told from what stands on both sides of it."""
    spaced = (not before or before.isspace()) and (not after or after.isspace())
    match mark:
        case "*":
            return not spaced and not (before.isdigit() and after.isdigit())
        case "_":
            return not spaced and not (_in_word(before) and _in_word(after))
        case _:
            return length >= 2 and not spaced


def _in_word(character: str) -> bool:
    return character.isalnum() or character == "_"


def _cells(row: str) -> list[str]:
    inner = row.strip().removeprefix("|")
    if inner.endswith("|") and not inner.endswith("\\|"):
        inner = inner[:-1]
    return [_flat(cell) for cell in _CELL_ENDS.split(inner)]


def _flat(cell: str) -> str:
    """A table's cell as it is read."""
    cell = _CITATION.sub("", cell)
    cell = _WIKILINK.sub(lambda link: link["text"] or link["name"], cell)
    cell = _LINK.sub(lambda link: link["text"], cell)
    cell = _ANGLE.sub(lambda angle: angle["address"] or " ", cell)
    return " ".join(_INNER_MARKS.sub("", cell.replace("\\|", "|")).split())
