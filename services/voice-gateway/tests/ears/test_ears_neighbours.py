"""English words that were misheard are known by the words beside them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from voice_gateway.ears.neighbours import Neighbours

SOUNDS = {
    "amber": "amb@r", "valve": "valv", "vow": "vau", "of": "@v", "value": "valyu", "valves": "valvz", "vault": "volt",
    "recovery": "rik@v@ri", "code": "kod", "mode": "mod", "coat": "kot", "glass": "glas", "house": "haus",
    "visitors": "viz@t@rz", "visit": "viz@t", "fern": "f@rn", "firm": "f@rm", "friend": "frend", "the": "D@",
}  # fmt: skip


class Sounding:
    def sounds(self, word: str) -> str:
        return SOUNDS.get(word, word)

    def is_common(self, word: str) -> bool:
        return word in SOUNDS


NOTES = Neighbours(("The amber valve", "Recovery code", "Fern house", "ORCHID-47 code"), Sounding())


@pytest.mark.parametrize(
    ("heard", "meant"),
    [
        ("What is the amber vow of recovery code?", "What is the amber valve recovery code?"),
        ("Amber vow of?", "Amber valve?"),
        ("is the firm house warm", "is the fern house warm"),
        ("Firm house", "Fern house"),
    ],
)
def test_a_word_becomes_the_one_that_the_notes_have_in_its_place(heard: str, meant: str) -> None:
    assert NOTES(heard) == meant


@pytest.mark.parametrize(
    "text",
    [
        "What is the amber valve recovery code?",
        "Are the amber valves closed?",
        "Which recovery mode is it?",
        "The amber vault is closed.",
        "Amber, vow of silence.",
        "It is amber. Vow of what?",
        "A friend of the house.",
        "",
    ],
)
def test_what_was_meant_otherwise_stays(text: str) -> None:
    assert NOTES(text) == text


@given(text=st.text(alphabet=st.sampled_from(list("amber vow of-,.é字 ")), max_size=60))
def test_any_text_is_taken(text: str) -> None:
    assert isinstance(NOTES(text), str)
    assert Neighbours((), Sounding())(text) == text
