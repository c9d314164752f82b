"""Names and identifiers that only the notes know are heard as the notes write them, and nothing else is touched."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from voice_gateway.ears import model_files
from voice_gateway.ears.phonetics import likeness, sounds_of_spelling
from voice_gateway.ears.vocabulary import Correction, Lexicon

VOCABULARY = (
    "ORCHID-47", "Merrow Glasshouse", "merrowctl", "Nkemelu", "Ilse Brandt", "snake_case", "Kubernetes", "Kuechly",
    "C#", "pgvector", "Open", "weeks", "heads", "keypad", "draws", "Valves", "Dry House", "v2.1", "401", "Lee",
    "Welwitschia",
)  # fmt: skip
LEXICON = Lexicon.read(*(str(model_files.inside_package(*file)) for file in model_files.LEXICON))
CORRECT = Correction(VOCABULARY, LEXICON)


@pytest.mark.parametrize(
    ("heard", "meant"),
    [
        ("What is orchid 47?", "What is ORCHID-47?"),
        ("Is it orchid forty-seven, or orchid four seven?", "Is it ORCHID-47, or ORCHID-47?"),
        ("Say orchid dash 47.", "Say ORCHID-47."),
        ("Use snake case here.", "Use snake_case here."),
        ("Is it sharp, or C sharp?", "Is it sharp, or C#?"),
        ("Does version 2.1 differ from V two point one?", "Does version 2.1 differ from v2.1?"),
        ("Who looks after the merrow glass house?", "Who looks after the Merrow Glasshouse?"),
    ],
)
def test_what_is_spelt_alike_becomes_the_notes_spelling(heard: str, meant: str) -> None:
    assert CORRECT(heard) == meant


@pytest.mark.parametrize(
    ("heard", "meant"),
    [
        ("What is orkid 47 for?", "What is ORCHID-47 for?"),
        ("Is it ORCID47?", "Is it ORCHID-47?"),
        ("When did else Brant plant the well-witchia?", "When did Ilse Brandt plant the Welwitschia?"),
        ("Where is Marrow Glass House?", "Where is Merrow Glasshouse?"),
        ("What does Enkemelu say?", "What does Nkemelu say?"),
        ("Is that Enkemelu's key?", "Is that Nkemelu's key?"),
        ("When did Ilsa Brand arrive?", "When did Ilse Brandt arrive?"),
        ("How many tackles did Luke Keekly register?", "How many tackles did Luke Kuechly register?"),
        ("What is see sharp?", "What is C#?"),
        ("Merrow cuttle readings.", "merrowctl readings."),
    ],
)
def test_what_sounds_alike_becomes_the_name(heard: str, meant: str) -> None:
    assert CORRECT(heard) == meant


@pytest.mark.parametrize(
    "text",
    [
        "What is the amber valve recovery code?",
        "Open the valves in the dry house.",
        "Orchid 48 is another one.",
        "My orchids need water, all 47 of them.",
        "The lee of the wall is dry, and so is the house.",
        "Call 401, please.",
        "Marrow soup is good.",
        "What does OpenAI do?",
        "What is x?",
        "The ids are copied, and the request was denied twice.",
        "The tries are counted.",
        "",
        "...",
    ],
)
def test_what_was_heard_right_stays(text: str) -> None:
    assert CORRECT(text) == text


def test_everyday_words_that_the_notes_write_in_capitals_do_not_shout() -> None:
    correct = Correction(("AND", "KEY", "NOT", "ORCHID"), LEXICON)
    assert correct("and the key is not here, the orchid is") == "and the key is not here, the orchid is"


def test_without_a_vocabulary_nothing_changes() -> None:
    assert Correction((), LEXICON)("What is orkid 47?") == "What is orkid 47?"


@given(st.text(max_size=80))
def test_any_text_is_taken_and_what_is_around_the_words_stays(text: str) -> None:
    assert CORRECT(text).strip() or not text.strip()
    assert CORRECT(f"(( {text}").startswith("(( ")


@given(st.lists(st.text(max_size=20), max_size=10), st.text(max_size=40))
def test_any_vocabulary_is_taken(words: list[str], text: str) -> None:
    Correction(tuple(words), LEXICON)(text)


@given(st.text("abcdefghijklmnopqrstuvwxyz", max_size=12), st.text("abcdefghijklmnopqrstuvwxyz", max_size=12))
def test_likeness_is_a_measure(one: str, other: str) -> None:
    first, second = sounds_of_spelling(one), sounds_of_spelling(other)
    assert 0 <= likeness(first, second) <= 1
    assert likeness(first, second) == pytest.approx(likeness(second, first))
    assert likeness(first, first) == 1
