"""Phrases of an answer, by the rule that the page follows too."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from voice_gateway.phrases import ABBREVIATIONS, LONGEST, SHORTEST, Phrase, Phrases
from voice_gateway.plain_speech import CODE_BLOCK, WINDOW

RULE: dict[str, Any] = json.loads(
    (Path(__file__).parents[3] / "contracts/examples/phrases.json").read_text(encoding="utf-8")
)
CASES: list[dict[str, Any]] = RULE["cases"]
MARKDOWN = st.text(alphabet=st.sampled_from(list('ab1 .;:!?\n\n`*_~[]()|-#>\\<。"é😀')), max_size=120)


def cut(deltas: list[str]) -> list[Phrase]:
    phrases = Phrases()
    return [phrase for delta in deltas for phrase in phrases.feed(delta)] + phrases.finish()


@pytest.mark.behaviour("V4")
@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_an_answer_is_cut_as_the_shared_examples_say_however_it_comes(case: dict[str, Any]) -> None:
    expected = [Phrase(phrase["text"], tuple(phrase["span"])) for phrase in case["phrases"]]
    assert cut(case["deltas"]) == expected
    assert cut(["".join(case["deltas"])]) == expected
    assert cut(list("".join(case["deltas"]))) == expected


def test_the_examples_name_the_numbers_of_the_rule() -> None:
    assert (RULE["longest"], RULE["shortest"], RULE["window"]) == (LONGEST, SHORTEST, WINDOW)
    assert set(RULE["abbreviations"]) == ABBREVIATIONS
    assert RULE["code_block"] == CODE_BLOCK


def test_a_phrase_is_given_as_soon_as_it_is_over() -> None:
    phrases = Phrases()
    assert phrases.feed("It is amber.") == []
    assert [phrase.text for phrase in phrases.feed(" ")] == ["It is amber."]
    assert phrases.feed("[1] Then") == []
    assert [phrase.text for phrase in phrases.finish()] == ["Then"]


@settings(deadline=None)
@given(text=MARKDOWN, cuts=st.lists(st.integers(0, 120), max_size=8))
def test_phrases_do_not_depend_on_how_the_answer_came(text: str, cuts: list[int]) -> None:
    places = sorted({0, len(text), *(place for place in cuts if place < len(text))})
    deltas = [text[first:last] for first, last in pairwise(places)]
    assert cut(deltas) == cut([text])


@settings(deadline=None)
@given(text=MARKDOWN)
def test_phrases_are_short_and_their_spans_lie_in_the_answer_in_order(text: str) -> None:
    phrases = cut([text])
    assert all(0 < len(phrase.text) <= LONGEST for phrase in phrases)
    assert all(0 <= phrase.span[0] < phrase.span[1] <= len(text) for phrase in phrases)
    starts = [phrase.span[0] for phrase in phrases]
    assert starts == sorted(starts)


@settings(deadline=None)
@given(text=st.text(max_size=400))
def test_any_text_can_be_cut_and_plain_words_are_not_lost(text: str) -> None:
    cut([text])
    words = "".join(character for character in text if character.isalpha())
    assert "".join(phrase.text for phrase in cut([words])) == words
