"""Reciprocal ranks of both legs make one list."""

import pytest

from retriever.fusion import K, fuse, leg_weights


@pytest.mark.behaviour("R5")
def test_what_both_legs_found_comes_first_and_says_so() -> None:
    hits = fuse(
        {"lexical": [("a", 9.0), ("b", 5.0)], "vector": [("b", 0.8), ("c", 0.7)]}, {"lexical": 1.0, "vector": 1.0}
    )

    assert [hit.key for hit in hits] == ["b", "a", "c"]
    assert hits[0].score == pytest.approx(1 / (K + 2) + 1 / (K + 1))
    assert [(found.leg, found.rank, found.score) for found in hits[0].found] == [
        ("lexical", 2, 5.0),
        ("vector", 1, 0.8),
    ]


@pytest.mark.behaviour("R1")
def test_ties_break_by_id() -> None:
    hits = fuse({"lexical": [("z", 1.0)], "vector": [("a", 1.0)]}, {"lexical": 1.0, "vector": 1.0})

    assert [hit.key for hit in hits] == ["a", "z"]


@pytest.mark.behaviour("R5")
def test_a_model_that_reads_english_alone_has_no_say_in_other_languages() -> None:
    assert leg_weights("de", "local/all-MiniLM-L6-v2-int8/384/headed-1")["vector"] == 0
    assert leg_weights("en", "local/all-MiniLM-L6-v2-int8/384/headed-1")["vector"] > 0
    assert leg_weights("de", "openai/text-embedding-3-small/1536")["vector"] > 0

    hits = fuse({"lexical": [("a", 2.0)], "vector": [("c", 0.9), ("b", 0.8)]}, {"lexical": 1.0, "vector": 0.0})
    assert [hit.key for hit in hits] == ["a", "c", "b"], "what only the silent leg found fills up the end"


@pytest.mark.behaviour("R4")
def test_nothing_found_is_an_empty_list() -> None:
    assert fuse({"lexical": [], "vector": []}, {}) == []
    assert fuse({}, {}) == []
