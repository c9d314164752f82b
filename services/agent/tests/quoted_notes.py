"""Passages, and what a search tells of them, for tests of the answers that quote them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence

from chassis.language import words
from chassis.sentences import sentence_spans
from contracts.documents import chunk_id
from contracts.search import Passage, QueryTerm, SearchResult, SentenceScore

SHA = "b" * 64


def passage(
    text: str,
    path: str = "a.md",
    *,
    ordinal: int = 0,
    heading: tuple[str, ...] = (),
    language: str = "en",
    context: str = "",
    score: float = 0.0,
) -> Passage:
    """A passage whose every line of text is a line of its file, from line 1 on."""
    runs: list[tuple[int, int, int]] = []
    offset = 0
    for number, line in enumerate(text.splitlines(keepends=True), start=1):
        runs.append((offset, offset, number))
        offset += len(line)
    return Passage(
        id=chunk_id(path, SHA, ordinal),
        path=path,
        ordinal=ordinal,
        heading=heading,
        lines=(1, max(len(runs), 1)),
        text=text,
        version=SHA,
        saved_at=dt.datetime(2026, 1, 1, tzinfo=dt.UTC),
        language=language,
        context=context,
        runs=tuple(runs),
        sentences=tuple(SentenceScore(span=span) for span in sentence_spans(text)),
        score=score,
    )


def found(question: str, passages: Sequence[Passage], language: str = "en", chunks: int = 40) -> SearchResult:
    """What a search tells of a corpus in which no other chunk holds the words of the question."""
    held = [{word.term for word in words("\n".join((each.text, *each.heading)), each.language)} for each in passages]
    kept = [word for word in words(question, language) if not word.common]
    terms = [
        QueryTerm(span=(word.start, word.end), term=word.term, chunks=sum(word.term in one for one in held))
        for word in kept
    ]
    return SearchResult(
        corpus_version=1, language=language, terms=tuple(terms), chunks=chunks, passages=tuple(passages)
    )
