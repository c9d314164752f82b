"""How a sentence of a source is written into an answer: as it stands, a table row with its header.

Prose goes on one line and ends in a full stop. Code keeps its lines, and nothing is added to it. A source's text does
not tell the two apart; but prose breaks no lines there unless it is meant to, and code on one line has signs of it.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final

from agent.candidates import Candidate
from chassis.rows import cells

_MARK: Final = re.compile(r"^(?:\d{1,4}[.)]|[-*+•]|\[[ xX]\])\s+")
_CITATION_LIKE: Final = re.compile(r"\[(\d{1,3})\]")
_ENDS: Final = ".!?…。！？｡؟।:;\"'”’»」』)"
# An option, an assignment, a path, a call: what a command on one line has and a small-lettered item has not.
_CODE: Final = re.compile(r"(?:^|\s)(?:--?[a-zA-Z]|[~.]{0,2}/\w)|[$={}<>`\\]|\w\(|\s\|\s")


def leads_in(candidate: Candidate) -> bool:
    """Say whether a sentence ends with a colon, and so says nothing without what follows it."""
    return "\n" not in candidate.text and not candidate.header and candidate.text.endswith((":", "："))


def led_block(candidate: Candidate, text: str) -> Candidate:
    """Give the whole block of lines that a colon leads to, when that is code."""
    end = text.find("\n\n", candidate.span[1])
    span = (candidate.span[0], len(text.rstrip()) if end < 0 else end)
    block = text[span[0] : span[1]]
    return replace(candidate, span=span, text=block) if "\n" in block and not candidate.header else candidate


def quoted(candidate: Candidate, source: str, *, led_to: bool = False) -> str:
    """Write a candidate's sentence so that it can stand in a text: `Amber valve: Code ORCHID-47.` for a row.

    A bare number in brackets would read as a citation of ours, so it gets round ones. What a colon leads to (`led_to`)
    gets no full stop when it begins small: there it is as likely a command as an item.
    """
    if _is_code(candidate, source):
        return _CITATION_LIKE.sub(r"(\1)", candidate.text)
    row = cells(candidate.text)
    text = _row(row, cells(candidate.header)) if len(row) > 1 else _MARK.sub("", " ".join(candidate.text.split()))
    text = _CITATION_LIKE.sub(r"(\1)", text)
    return text if text.endswith(tuple(_ENDS)) or (led_to and text[:1].islower()) else f"{text}."


def _is_code(candidate: Candidate, source: str) -> bool:
    """Say whether a sentence of a source's text is code: lines, one of such lines, or a line with signs of code."""
    if candidate.header:
        return False
    start, end = candidate.span
    above, below = source[:start].rstrip(" \t"), source[end:]
    among_lines = (above.endswith("\n") and not above.endswith("\n\n")) or re.match(r"\n[^\n]", below)
    if "\n" in candidate.text or (among_lines and not _MARK.match(candidate.text)):
        return True
    return not candidate.text[0].isupper() and bool(_CODE.search(candidate.text))


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
