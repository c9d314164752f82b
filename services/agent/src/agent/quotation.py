"""How a sentence of a source is written into an answer: as it stands, on one line, a table row with its header."""

from __future__ import annotations

import re
from typing import Final

from contracts.search import Passage

from agent.candidates import Candidate

_CELLS: Final = re.compile(r"\s\|\s")
_MARK: Final = re.compile(r"^(?:\d{1,4}[.)]|[-*+•]|\[[ xX]\])\s+")
_CITATION_LIKE: Final = re.compile(r"\[(\d{1,3})\]")
_ENDS: Final = ".!?…。！？｡؟।:;\"'”’»」』)"


def quoted(candidate: Candidate, passage: Passage) -> str:
    """Write a candidate's sentence so that it can stand in a text: `Amber valve: Code ORCHID-47.` for a row.

    A bare number in brackets would read as a citation of ours, so it gets round ones.
    """
    text = " ".join(candidate.text.split())
    cells = _CELLS.split(text)
    text = _row(cells, _CELLS.split(_header(candidate, passage))) if len(cells) > 1 else _MARK.sub("", text)
    text = _CITATION_LIKE.sub(r"(\1)", text)
    return text if text.endswith(tuple(_ENDS)) else f"{text}."


def _header(candidate: Candidate, passage: Passage) -> str:
    """The header row above a row: the repeated one of the passage's context, or the first of the rows before it."""
    columns = len(_CELLS.split(" ".join(candidate.text.split())))
    if len(_CELLS.split(passage.context)) == columns:
        return passage.context
    above: list[str] = []
    for block in reversed(passage.text[: candidate.span[0]].split("\n")):
        row = block.strip()
        if not row:
            continue
        if len(_CELLS.split(row)) != columns:
            break
        above.append(row)
    return above[-1] if above else ""


def _row(cells: list[str], header: list[str]) -> str:
    if len(header) != len(cells):
        return ", ".join(cell.strip() for cell in cells if cell.strip())
    named = [
        f"{name.strip()} {cell.strip()}".strip()
        for name, cell in zip(header[1:], cells[1:], strict=True)
        if cell.strip()
    ]
    return f"{cells[0].strip()}: {', '.join(named)}" if named else cells[0].strip()
