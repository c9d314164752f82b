"""Markdown as a tree of blocks, each with its place in the file and in the plain text.

The parser (pulldown-cmark, through pyromark) gives events with byte ranges; one walk over them builds both the tree and
the plain text. Nothing here recurses: ten thousand quotation marks nest ten thousand deep.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final, Literal, cast

import pyromark

from ingestor.hypertext import HtmlText, is_line_break
from ingestor.plain import PlainText, lines_of

__all__ = ["Block", "Document", "Kind", "read_markdown"]

Kind = Literal["document", "heading", "prose", "code", "html", "table", "head", "row", "list", "item", "quote", "part"]

_PARSER: Final = pyromark.Markdown(
    options=pyromark.Options.ENABLE_TABLES
    | pyromark.Options.ENABLE_FOOTNOTES
    | pyromark.Options.ENABLE_STRIKETHROUGH
    | pyromark.Options.ENABLE_TASKLISTS
    | pyromark.Options.ENABLE_WIKILINKS
)
_KINDS: Final[dict[str, Kind]] = {
    "Paragraph": "prose",
    "Heading": "heading",
    "CodeBlock": "code",
    "HtmlBlock": "html",
    "Table": "table",
    "TableHead": "head",
    "TableRow": "row",
    "List": "list",
    "Item": "item",
    "BlockQuote": "quote",
    "FootnoteDefinition": "quote",
}
# Obsidian's callouts, of which GitHub's alerts are five: "> [!note]- A title of its own".
_CALLOUT: Final = re.compile(rb"\[!([A-Za-z][\w -]{0,40})\][+-]?[ \t]*")
_SIZED_EMBED: Final = re.compile(rb"!\[\[([^\]|]+?)\\?\|\s*\d+(?:x\d+)?\s*\]\]")


@dataclass(slots=True)
class Block:
    """A block, at the bytes ``[start, end)`` of the file and the code points ``[first, last)`` of the plain text."""

    kind: Kind
    start: int
    end: int
    first: int
    last: int = 0
    level: int = 0
    number: int = -1
    context: str = ""
    children: list[Block] = field(default_factory=list["Block"])


@dataclass(slots=True, frozen=True)
class Document:
    """A parsed file: its bytes, where its lines begin, its blocks, and its plain text."""

    data: bytes
    line_starts: list[int]
    plain: PlainText
    blocks: list[Block]


def read_markdown(data: bytes, text: str, skip: int) -> Document:
    """Parse a file: ``data`` is ``text`` in UTF-8, and its first ``skip`` bytes (front matter) are not Markdown."""
    line_starts = lines_of(data)
    plain = PlainText(data, line_starts)
    # Blank lines in place of the front matter keep the parser's byte ranges those of the file.
    body = "\n" * skip + data[skip:].decode() if skip else text
    events = cast(Iterable[tuple[Any, dict[str, int]]], _PARSER.events_with_range(body))
    root = Block("document", 0, len(data), 0)
    _walk(events, data, plain, root)
    plain.close()
    root.last = plain.length
    return Document(data, line_starts, plain, root.children)


def _walk(events: Iterable[tuple[Any, dict[str, int]]], data: bytes, plain: PlainText, root: Block) -> None:
    stack = [root]
    top = root
    hypertext = HtmlText()
    skip_to = 0
    in_title = False
    has_cr = b"\r" in data
    for event, place in events:
        start = place["start"]
        if event.__class__ is str:
            if event == "Rule":
                plain.gap("\n\n")
            elif in_title:
                in_title = False
                plain.gap("\n\n")
            elif start >= skip_to:
                plain.gap(" " if event == "SoftBreak" else "\n")
            continue
        ((name, value),) = event.items()
        if name == "Text":
            if start < skip_to:
                start, value = min(skip_to, place["end"]), value[skip_to - start :]
                if not value:
                    continue
            if "\n" in value or (has_cr and "\r" in value):
                plain.add_lines(value, start, place["end"])
            else:
                plain.add(value, start, place["end"])
        elif name == "Start":
            tag, detail = next(iter(value.items())) if value.__class__ is dict else (value, None)
            kind = _KINDS.get(tag)
            if kind is None:
                if tag == "TableCell":
                    # The parser fills short rows up with cells behind their end.
                    if start < top.end:
                        _open_cell(top, plain)
                elif tag == "Image" and (embed := _SIZED_EMBED.match(data, start)):
                    skip_to = place["end"]
                    plain.add(embed[1].decode(), embed.start(1), embed.end(1))
                continue
            if top.kind == "item":
                _loose(top, start, plain)
            if kind == "prose":
                start = plain.start_of_next(start)
            else:
                plain.drop_prefix()
            block = Block(kind, start, place["end"], plain.length)
            top.children.append(block)
            stack.append(block)
            plain.gap("\n\n")
            if kind == "prose":
                if top.kind == "quote" and len(top.children) == 1 and (callout := _CALLOUT.match(data, place["start"])):
                    skip_to, in_title = callout.end(), True
                    if data[skip_to : skip_to + 1] in (b"\n", b"\r", b""):
                        title = callout[1].decode(errors="replace").strip().capitalize()
                        plain.add(title, place["start"], place["start"])
            elif kind == "heading":
                block.level = int(cast("dict[str, str]", detail)["level"][1])
            elif kind == "list":
                block.number = -1 if detail is None else detail
            elif kind == "item" and top.number >= 0:
                plain.prefix(f"{top.number}. ", start)
                top.number += 1
            elif kind == "html":
                hypertext = HtmlText()
            top = block
        elif name == "End":
            tag = value if value.__class__ is str else next(iter(value))
            if tag in _KINDS:
                if top.kind == "item":
                    _loose(top, top.end, plain)
                plain.gap("\n\n")
                plain.drop_prefix()
                top.last = plain.length
                in_title = False
                stack.pop()
                top = stack[-1]
        elif name == "Code":
            if start >= skip_to:
                _add_code(value, start, place["end"], data, plain)
        elif name == "InlineHtml":
            if is_line_break(value):
                plain.gap(" " if top.kind in ("row", "head") else "\n")
        elif name == "Html":
            hypertext.read(value, start, plain)
        elif name == "TaskListMarker":
            top.start = min(top.start, start)
            plain.prefix("[x] " if value else "[ ] ", start)


def _loose(block: Block, until: int, plain: PlainText) -> None:
    """Give the bare text of a tight list item, up to byte ``until``, a block of its own."""
    last = block.children[-1] if block.children else None
    start, first = (last.end, last.last) if last else (block.start, block.first)
    if plain.length > first:
        block.children.append(Block("prose", start, until, first, plain.length))


def _open_cell(row: Block, plain: PlainText) -> None:
    """Put the line between two cells; ``number`` counts the cells of a row."""
    row.number += 1
    if row.number and plain.length == row.first:
        plain.add(" | ", row.start, row.start)
    elif row.number:
        plain.join(" | ")


def _add_code(code: str, start: int, end: int, data: bytes, plain: PlainText) -> None:
    """Add a code span as it stands between its backticks; its line ends count as spaces."""
    body = data[start:end].strip(b"`")
    at = start + data[start:end].find(body)
    raw = code.encode()
    stripped = at + (len(body) - len(raw)) // 2
    if data[stripped : stripped + len(raw)] == raw:
        plain.add(code, stripped, stripped + len(raw))
        return
    for line in body.splitlines(keepends=True):
        text = line.strip()
        place = at + line.find(text)
        plain.add(text.decode(), place, place + len(text))
        plain.gap(" ")
        at += len(line)
