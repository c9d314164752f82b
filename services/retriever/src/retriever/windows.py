"""Passages for an answer: hits with their neighbours, chosen within a budget of characters, in file order.

The budget is spent on the best hits first, then on their neighbours; what is chosen is put in document order
afterwards, so a good hit never falls out because its file sorts last. Headers and separators count.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from contracts.documents import Run

SEPARATOR = "\n\n"
SHORTEST_CUT = 40
"""A passage of which fewer characters would fit is left out: a few words are no passage."""


@dataclass(frozen=True)
class Row:
    """A visible chunk as the snapshot holds it.

    ``text`` is what is used of ``plain``; ``sentences`` are the packed vectors of its sentences, or empty.
    """

    key: int
    id: str
    document: int
    path: str
    ordinal: int
    heading: tuple[str, ...]
    lines: tuple[int, int]
    plain: str
    text: str
    runs: tuple[Run, ...]
    context: str
    version: str
    saved_at: dt.datetime
    language: str
    title: str | None
    trace: str | None
    sentences: bytes


def choose(rows: Sequence[Row], scores: Mapping[int, float], budget: int) -> list[Row]:
    """Of hits and neighbours, what fits the budget: in file and ordinal order, the last choice perhaps cut.

    ``scores`` holds the hits alone, by key; all other rows are neighbours.
    """
    chosen: list[Row] = []
    for row in _by_worth(rows, scores):
        fits = _fitted(chosen, row, budget)
        if fits is None:
            continue
        chosen.append(fits)
        if fits is not row:
            break
    return _in_order(chosen)


def context_of(passages: Sequence[Row]) -> str:
    """The passages as a model reads them, each under ``[n] path:first-last > heading``, n from 1."""
    return SEPARATOR.join(f"{_header(n, row)}\n{_body(row)}" for n, row in enumerate(passages, 1))


def cut(row: Row, length: int) -> Row:
    """The row with at most ``length`` characters of its text; runs and lines are those of what is left."""
    text = row.text[:length].rstrip()
    runs = tuple(run for run in row.runs if run[0] < len(text))
    last = max((run[2] for run in runs), default=row.lines[0] if row.runs else row.lines[1])
    return replace(row, text=text, runs=runs, lines=(row.lines[0], max(row.lines[0], min(last, row.lines[1]))))


def _by_worth(rows: Sequence[Row], scores: Mapping[int, float]) -> list[Row]:
    """Hits by score, ties by id; then neighbours, those of the best hit first and the nearer of two first."""
    hits = sorted((row for row in rows if row.key in scores), key=lambda row: (-scores[row.key], row.id))
    place = {(hit.document, hit.ordinal): rank for rank, hit in enumerate(hits)}

    def worth(row: Row) -> tuple[int, int, int]:
        return min(
            (rank, abs(row.ordinal - ordinal), row.ordinal)
            for (document, ordinal), rank in place.items()
            if document == row.document
        )

    return hits + sorted((row for row in rows if row.key not in scores), key=worth)


def _fitted(chosen: Sequence[Row], row: Row, budget: int) -> Row | None:
    """The row, or as much of its beginning as fits beside what was chosen; nothing when too little does."""
    over = _size([*chosen, row]) - budget
    if over <= 0:
        return row
    part = cut(row, max(0, len(row.text) - over))
    return part if len(part.text) >= SHORTEST_CUT and _size([*chosen, part]) <= budget else None


def _size(rows: Sequence[Row]) -> int:
    return len(context_of(_in_order(rows)))


def _in_order(rows: Sequence[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: (row.path, row.ordinal))


def _header(n: int, row: Row) -> str:
    return f"[{n}] {row.path}:{row.lines[0]}-{row.lines[1]}" + "".join(f" > {part}" for part in row.heading)


def _body(row: Row) -> str:
    return f"{row.context}\n{row.text}" if row.context else row.text
