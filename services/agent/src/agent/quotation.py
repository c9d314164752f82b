"""How a sentence of a source is written into an answer: as it stands, on one line, a table row with its header."""

from __future__ import annotations

import re
from typing import Final

from agent.candidates import Candidate
from chassis.rows import cells

_MARK: Final = re.compile(r"^(?:\d{1,4}[.)]|[-*+•]|\[[ xX]\])\s+")
_CITATION_LIKE: Final = re.compile(r"\[(\d{1,3})\]")
_ENDS: Final = ".!?…。！？｡؟।:;\"'”’»」』)"


def quoted(candidate: Candidate) -> str:
    """Write a candidate's sentence so that it can stand in a text: `Amber valve: Code ORCHID-47.` for a row.

    A bare number in brackets would read as a citation of ours, so it gets round ones.
    """
    row = cells(candidate.text)
    text = _row(row, cells(candidate.header)) if len(row) > 1 else _MARK.sub("", " ".join(candidate.text.split()))
    text = _CITATION_LIKE.sub(r"(\1)", text)
    return text if text.endswith(tuple(_ENDS)) else f"{text}."


def _row(row: list[str], header: list[str]) -> str:
    """A row as a sentence; its parts are held apart by semicolons when one of them has a comma of its own."""
    if len(header) == len(row):
        parts = [f"{name} {cell}".strip() for name, cell in zip(header[1:], row[1:], strict=True) if cell]
        if row[0]:
            return f"{row[0]}: {_listed(parts)}" if parts else row[0]
        return _listed(parts)
    return _listed([cell for cell in row if cell])


def _listed(parts: list[str]) -> str:
    return ("; " if any("," in part for part in parts) else ", ").join(parts)
