"""The lexical leg finds chunks by the stems of their words, in any language, and never fails on a query."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from retriever import lexical
from retriever.lexical import LexicalChunk, LexicalIndex


def chunk(key: int, plain: str, language: str = "en", **named: Any) -> LexicalChunk:
    return LexicalChunk(key=key, document=named.pop("document", key), language=language, plain=plain, **named)


def index_of(*chunks: LexicalChunk, folder: Path | None = None) -> LexicalIndex:
    index = LexicalIndex(folder)
    index.add(chunks)
    index.commit(1)
    return index


def keys(index: LexicalIndex, query: str, language: str = "en", limit: int = 10) -> list[int]:
    return [key for key, _ in index.search(query, language, limit)]


@pytest.mark.behaviour("R5")
def test_words_are_found_by_their_stems_in_the_language_of_the_text() -> None:
    index = index_of(
        chunk(1, "Die Häuser der Straße sind alt.", language="de"),
        chunk(2, "Valves are closed by hand."),
        chunk(3, "黑豹队的防守只丢了308分。", language="zh"),
    )

    assert keys(index, "welches Haus?", "de") == [1]
    assert keys(index, "closing a valve", "en") == [2]
    assert keys(index, "防守丢了多少分", "zh") == [3]
    assert [key for key, _ in index.search("close", "fi", 5, others=["en"])] == [2], "the corpus's stems count too"


@pytest.mark.behaviour("R1")
def test_scores_fall_and_ties_are_in_order_of_key() -> None:
    index = index_of(*(chunk(key, "amber words") for key in (7, 3, 5)), chunk(1, "words words"))

    found = index.search("amber words", "en", 10)

    assert [key for key, _ in found] == [3, 5, 7, 1]
    assert [score for _, score in found] == sorted((score for _, score in found), reverse=True)
    assert len(keys(index, "amber words", limit=2)) == 2
    assert keys(index, "amber words", limit=0) == []


def test_a_chunk_is_found_by_its_headings_its_context_and_what_stands_beside_it() -> None:
    index = index_of(
        chunk(1, "The amber valve sits behind the boiler.", beside="Its code is ORCHID-47."),
        chunk(2, "Its code is ORCHID-47.", beside="The amber valve sits behind the boiler."),
        chunk(3, "It is plum-29.", heading=("guests", "Visitors", "Wifi"), context="Key | Value"),
        chunk(4, "Nothing to see."),
    )

    assert keys(index, "amber valve") == [1, 2]
    assert keys(index, "visitor wifi") == keys(index, "guest") == keys(index, "value") == [3]


@pytest.mark.behaviour("R6")
def test_a_filter_leaves_only_the_documents_that_may_answer_and_keeps_their_scores() -> None:
    index = index_of(*(chunk(key, "amber valve", document=key % 3) for key in range(1, 10)))

    allowed = index.search("amber", "en", 10, documents={1})

    assert [key for key, _ in allowed] == [1, 4, 7]
    assert set(allowed) <= set(index.search("amber", "en", 10))
    assert index.search("amber", "en", 10, documents=set()) == []
    assert index.search("amber", "en", 10, documents={99}) == []


@pytest.mark.behaviour("C6")
def test_what_was_removed_or_replaced_is_found_no_more_after_a_commit() -> None:
    index = index_of(chunk(1, "old text"), chunk(2, "other text"))

    index.remove([2, 99])
    index.add([chunk(1, "new text")])
    assert set(keys(index, "text")) == {1, 2}, "nothing changes before the commit"
    index.commit(1)

    assert keys(index, "text") == keys(index, "new") == [1]
    assert keys(index, "old") == keys(index, "other") == []
    assert len(index) == 1
    index.clear()
    index.commit(1)
    assert len(index) == 0


def test_the_frequency_of_a_term_is_the_number_of_chunks_that_hold_it() -> None:
    index = index_of(chunk(1, "wifi wifi"), chunk(2, "wifi", heading=("Visitors",)), chunk(3, "none"))

    assert index.frequencies(["wifi", "visitor", "kubernet"]) == {"wifi": 2, "visitor": 1, "kubernet": 0}
    index.remove([2])
    index.commit(2)
    assert index.frequencies(["wifi", "visitor"]) == {"wifi": 1, "visitor": 0}, "what left is not counted"
    assert index.frequencies([]) == {}


def test_an_index_in_a_folder_finds_the_same(tmp_path: Path) -> None:
    assert keys(index_of(chunk(1, "amber"), folder=tmp_path), "amber") == [1]


def test_a_question_of_common_words_alone_is_looked_up_by_them() -> None:
    assert keys(index_of(chunk(1, "The Who are a band."), chunk(2, "Silence.")), "the who") == [1]


@pytest.mark.behaviour("R4")
@pytest.mark.parametrize(
    "query", ["", "   ", "?!", '"', "a:b AND (", "title:*", "-x +y ~3^2", "\x00", "\ud800", "[1 TO 2]"]
)
def test_no_query_is_an_error(query: str) -> None:
    assert isinstance(index_of(chunk(1, "text")).search(query, "en", 5), list)


INDEX = index_of(chunk(1, "some text 黑豹"), chunk(2, "más texto", language="es"))


@given(st.text(max_size=60), st.sampled_from(["en", "es", "zh", "xx"]))
@settings(max_examples=60, deadline=None)
def test_any_text_is_a_query(query: str, language: str) -> None:
    assert len(INDEX.search(query, language, 5)) <= 2


def test_a_line_that_stands_in_a_chunk_and_beside_two_others_is_cut_into_words_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each replica fills its index at its start, and cutting into words is nearly all of that."""
    cut: list[str] = []

    def noting(text: str, language: str) -> list[str]:
        cut.append(text)
        return text.split()

    monkeypatch.setattr(lexical, "all_terms", noting)
    lines = [f"unheard line {number}" for number in range(9)]
    index = index_of(
        *(
            chunk(place, line, beside="\n".join(lines[max(0, place - 1) : place] + lines[place + 1 : place + 2]))
            for place, line in enumerate(lines)
        )
    )

    assert sorted(cut) == sorted(lines)
    assert keys(index, "unheard line 4")[0] == 4
