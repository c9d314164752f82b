"""Rows of the snapshot as passages: runs, sentences and what found them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from chassis.postgres import Connection
from chassis.sentences import sentence_spans
from contracts.documents import Run
from contracts.search import Passage, SentenceScore
from retriever.embedding import similarities
from retriever.embedding.port import Vectors
from retriever.fusion import Hit
from retriever.tables import SQL
from retriever.windows import Row


async def rows_of(connection: Connection, ids: Sequence[str], neighbours: int, embedding: int) -> list[Row]:
    """The hits and their neighbours in the same file, each once, in file and ordinal order."""
    if not ids:
        return []
    named = {"ids": list(ids), "neighbours": neighbours, "embedding": embedding}
    return [_row(row) async for row in await connection.execute(SQL["passages"], named)]


def passages_of(chosen: Sequence[Row], hits: Sequence[Hit[str]], vector: Vectors | None) -> tuple[Passage, ...]:
    """The chosen rows as they are answered; a neighbour has no score, and is found by nothing."""
    by_id = {hit.key: hit for hit in hits}
    return tuple(_passage(row, by_id.get(row.id), vector) for row in chosen)


def _passage(row: Row, hit: Hit[str] | None, vector: Vectors | None) -> Passage:
    return Passage(
        id=row.id,
        path=row.path,
        ordinal=row.ordinal,
        heading=row.heading,
        lines=row.lines,
        text=row.text,
        version=row.version,
        saved_at=row.saved_at,
        title=row.title,
        context=row.context,
        language=row.language,
        runs=row.runs,
        sentences=_sentences(row, vector),
        score=hit.score if hit else 0.0,
        found=hit.found if hit else (),
    )


def _sentences(row: Row, vector: Vectors | None) -> tuple[SentenceScore, ...]:
    """The sentences that are whole in what is used of the text, with their cosines where those are kept."""
    spans = sentence_spans(row.plain)
    near: list[float] = similarities(vector, row.sentences) if vector is not None else []
    known = near if len(near) == len(spans) else [None] * len(spans)
    return tuple(
        SentenceScore(span=span, similarity=similarity)
        for span, similarity in zip(spans, known, strict=True)
        if span[1] <= len(row.text)
    )


def _row(row: dict[str, Any]) -> Row:
    flat: list[int] = row["runs"]
    runs: tuple[Run, ...] = tuple(zip(flat[0::3], flat[1::3], flat[2::3], strict=True))
    return Row(
        key=row["key"],
        id=row["id"],
        document=row["document"],
        path=row["path"],
        ordinal=row["ordinal"],
        heading=tuple(row["heading"]),
        lines=(row["first_line"], row["last_line"]),
        plain=row["plain"],
        text=row["plain"],
        runs=runs,
        context=row["context"],
        version=row["version"],
        saved_at=row["saved_at"],
        language=row["language"],
        title=row["title"],
        trace=row["trace"],
        sentences=bytes(row["sentences"] or b""),
    )
