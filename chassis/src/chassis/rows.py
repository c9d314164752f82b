"""Rows of tables, as they stand in a plain text: one a line, cells parted by ` | `, the header first.

::

    house | litres          the header: it is no row, and is read with each of them
    Nursery | 150           a row: `header_above` gives "house | litres"
"""

import re
from typing import Final

__all__ = ["cells", "header_above", "is_header", "is_item", "line_around"]

_ITEM: Final = re.compile(r"\s*(?:\d{1,4}[.)]|[-*+•]|\[[ xX]\])\s+\S")
_BETWEEN: Final = re.compile(r"\s\|(?=\s)")


def cells(text: str) -> list[str]:
    """Give the cells of a row without the white space around them; a text that is no row is one cell."""
    return [cell.strip() for cell in _BETWEEN.split(f" {' '.join(text.split())} ")]


def line_around(text: str, span: tuple[int, int]) -> tuple[int, int]:
    """Give the span of the whole line that a span begins in."""
    end = text.find("\n", span[0])
    return text.rfind("\n", 0, span[0]) + 1, len(text) if end < 0 else end


def is_item(text: str, span: tuple[int, int]) -> bool:
    """Say whether the line that a span begins in is an item of a list."""
    return _ITEM.match(text, line_around(text, span)[0]) is not None


def header_above(text: str, span: tuple[int, int], context: str = "") -> str:
    """Give the header of the row at a span of a text, or nothing when there is none above it.

    `context` is the header that is repeated above a text that begins in the middle of its table.
    """
    columns = len(cells(text[span[0] : span[1]]))
    if columns < 2:
        return ""
    if len(cells(context)) == columns:
        return context
    top = ""
    for block in reversed(text[: span[0]].split("\n")):
        if not block.strip():
            continue
        if len(cells(block)) != columns:
            break
        top = block.strip()
    return top


def is_header(text: str, span: tuple[int, int], context: str = "") -> bool:
    """Say whether the row at a span is the header of the rows that follow it at once."""
    columns = len(cells(text[span[0] : span[1]]))
    if columns < 2 or header_above(text, span, context):
        return False
    following = next((block for block in text[span[1] :].split("\n") if block.strip()), "")
    return len(cells(following)) == columns
