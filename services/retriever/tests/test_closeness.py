"""The few sentences that speak of a question most are looked at closely, and only those."""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Sequence

import numpy as np
import pytest

from chassis.sentences import sentence_spans
from contracts.documents import chunk_id
from contracts.search import Passage, SentenceScore
from retriever.closeness import query_terms, rarity, speaking_most, with_nearest
from retriever.embedding import PassageText, PassageVectors
from retriever.embedding.port import Vectors

SHA = "c" * 64


def passage(text: str, ordinal: int = 0, score: float = 0.0, heading: tuple[str, ...] = ()) -> Passage:
    return Passage(
        id=chunk_id("a.md", SHA, ordinal),
        path="a.md",
        ordinal=ordinal,
        heading=heading,
        lines=(1, 1),
        text=text,
        version=SHA,
        saved_at=dt.datetime(2026, 1, 1, tzinfo=dt.UTC),
        score=score,
        sentences=tuple(SentenceScore(span=span) for span in sentence_spans(text)),
    )


class Recorder:
    """An embedder that tells one cosine for every word, and remembers of which sentences it was asked."""

    fingerprint = "recorder/1"
    dimensions = 2

    def __init__(self, tells: bool = True) -> None:
        self.tells = tells
        self.asked: list[str] = []

    async def embed(self, texts: Sequence[str]) -> Vectors:
        return np.zeros((len(texts), 2), np.float32)

    async def embed_passages(self, passages: Sequence[PassageText]) -> list[PassageVectors]:
        return []

    async def nearest_words(
        self, query: str, words: Sequence[tuple[int, int]], sentences: Sequence[str]
    ) -> list[list[float]] | None:
        self.asked += sentences
        return [[0.5] * len(words) for _ in sentences] if self.tells else None


def counted(terms: Collection[str]) -> dict[str, int]:
    return {"valv": 4, "code": 9}


TERMS = query_terms("What is the code of the amber valve?", "en", counted)
PASSAGES = [
    passage("Codes\n\nThe code of the amber valve is ORCHID-47. Tea is hot.", heading=("Codes",), score=0.2),
    passage("Nothing here. Valves are red. It rains. It snows.", 1, score=0.1),
]


def test_the_terms_of_a_query_are_its_words_that_are_not_common_with_their_places_and_counts() -> None:
    assert [(term.span, term.term, term.chunks) for term in TERMS] == [
        ((12, 16), "code", 9),
        ((24, 29), "amber", 0),
        ((30, 35), "valv", 4),
    ]
    assert [term.term for term in query_terms("who is it", "en", counted)] == ["who", "is", "it"]
    assert query_terms("?!", "en", counted) == []


def test_a_term_that_no_chunk_holds_weighs_most_and_one_that_all_hold_next_to_nothing() -> None:
    code, amber, valve = (rarity(term, 10) for term in TERMS)

    assert amber == pytest.approx(1)
    assert 0 < code < valve < amber
    assert rarity(TERMS[0].model_copy(update={"chunks": 99}), 10) >= 0


def test_headings_are_no_sentences_and_the_sentence_that_holds_the_words_comes_first() -> None:
    assert speaking_most(PASSAGES, TERMS, 10, 2) == [(0, 1), (0, 2)]
    assert len(speaking_most(PASSAGES, TERMS, 10)) == 4


async def test_only_the_sentences_that_were_looked_at_tell_their_nearest_words() -> None:
    embedder = Recorder()

    found = await with_nearest(PASSAGES, "What is the code of the amber valve?", TERMS, 10, embedder)

    told = [len(sentence.nearest) for one in found for sentence in one.sentences]
    assert len(embedder.asked) == 4
    assert sorted(told, reverse=True) == [3, 3, 3, 3, 0, 0, 0]
    assert found[0].sentences[0].nearest == ()
    assert [one.text for one in found] == [one.text for one in PASSAGES]


async def test_a_row_is_looked_at_with_its_header_and_the_headings_above_and_its_header_is_not_looked_at() -> None:
    embedder = Recorder()
    table = passage("Timetable\n\nhouse | litres\n\nNursery | 150\n\nFern House | 420", heading=("Water", "Timetable"))

    await with_nearest(
        [table], "litres of the nursery", query_terms("litres of the nursery", "en", counted), 9, embedder
    )

    assert embedder.asked == [
        "Water\nTimetable\nhouse | litres\nNursery | 150",
        "Water\nTimetable\nhouse | litres\nFern House | 420",
    ]


async def test_a_model_that_tells_nothing_changes_nothing() -> None:
    assert await with_nearest(PASSAGES, "code", TERMS, 10, Recorder(tells=False)) == tuple(PASSAGES)
    assert await with_nearest(PASSAGES, "?", [], 10, Recorder()) == tuple(PASSAGES)
    assert await with_nearest([], "code", TERMS, 10, Recorder()) == ()
