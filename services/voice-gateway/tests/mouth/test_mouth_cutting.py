"""A phrase in pieces, a short one first."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from voice_gateway.mouth.cutting import Piece, pieces
from voice_gateway.mouth.normalising import normalised

LONG = (
    "The Dry House is kept warm by day, and cool by night, because the tree ferns drop their crowns when it gets too "
    "cold in there for more than an hour."
)


def cut(text: str, *, hurried: bool = True) -> list[Piece]:
    return list(pieces(text, normalised(text), hurried=hurried))


def test_a_short_phrase_is_one_piece() -> None:
    assert cut("It is amber.") == [Piece("It is amber.", "It is amber.", last=True)]


def test_the_first_piece_is_short_and_ends_where_a_speaker_could_breathe() -> None:
    first, *others = cut(LONG)
    assert first.text == "The Dry House "
    assert [piece.last for piece in (first, *others)] == [False] * len(others) + [True]
    assert others[0].text.endswith(", ")


def test_nobody_waiting_gives_longer_pieces() -> None:
    assert len(cut(LONG, hurried=False)) < len(cut(LONG))
    assert len(cut(LONG, hurried=False)[0].text) > len(cut(LONG)[0].text)


def test_what_is_written_as_one_is_not_parted_while_it_fits() -> None:
    assert all("21 °C" in piece.text or "21" not in piece.text for piece in cut("It is kept at a warm 21 °C by day."))


def test_marks_belong_to_the_word_before_them() -> None:
    assert cut("(Really?) Yes!")[0].spoken == "Really?, Yes!"


@pytest.mark.parametrize("text", ["", "…", "😀", "---", " \n"])
def test_nothing_to_say_gives_no_piece(text: str) -> None:
    assert cut(text) == []


@settings(deadline=None)
@given(text=st.text(alphabet=st.sampled_from(list("abc 12,.;:-/é😀字\n")), max_size=300), hurried=st.booleans())
def test_joined_the_pieces_are_the_text(text: str, hurried: bool) -> None:
    found = cut(text, hurried=hurried)
    if found:
        assert "".join(piece.text for piece in found) == text
        assert all(any(letter.isalpha() for letter in piece.spoken) for piece in found)


def test_even_one_long_number_is_spoken_in_pieces_that_the_model_can_take() -> None:
    found = cut("1" * 200)
    assert "".join(piece.text for piece in found) == "1" * 200
    assert sum(piece.spoken.split().count("one") for piece in found) == 200
    assert all(len(piece.spoken) < 200 for piece in found)
