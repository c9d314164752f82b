"""A phrase in breaths, a short one first."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from voice_gateway.mouth.cutting import Breath, breaths
from voice_gateway.mouth.normalising import normalised

LONG = (
    "The Dry House is kept warm by day, and cool by night, because the tree ferns drop their crowns when it gets too "
    "cold in there for more than an hour, which happened twice in the winter before the new boiler came, as we know."
)


def cut(text: str, *, hurried: bool = True) -> list[Breath]:
    return list(breaths(text, normalised(text), hurried=hurried))


def texts(text: str, found: list[Breath]) -> list[str]:
    return [text[breath.words[0].start : breath.end] for breath in found]


def test_a_short_phrase_is_one_breath() -> None:
    (breath,) = cut("It is amber.")
    assert breath.spoken == "It is amber."
    assert breath.last


def test_the_first_breath_is_short_and_ends_where_a_speaker_could_take_one() -> None:
    found = cut(LONG)
    assert texts(LONG, found)[0] == "The Dry House is kept warm by day, and cool by night, "
    assert [breath.last for breath in found] == [False] * (len(found) - 1) + [True]


def test_nobody_waiting_gives_longer_breaths() -> None:
    assert len(cut(LONG, hurried=False)) < len(cut(LONG))
    assert cut(LONG, hurried=False)[0].end > cut(LONG)[0].end


def test_what_is_written_as_one_is_not_parted_while_it_fits() -> None:
    text = f"{'It is warm there, and so it is kept by day and by night '}at a comfortable 21 °C as I said before today."
    found = texts(text, cut(text))
    assert len(found) > 1
    assert all("21 °C" in part or "21" not in part for part in found)


def test_marks_belong_to_the_word_before_them() -> None:
    (breath,) = cut("(Really?) Yes!")
    assert breath.spoken == "Really?, Yes!"
    assert [word.pauses for word in breath.words] == [True, True]


@pytest.mark.parametrize("text", ["", "…", "😀", "---", " \n"])
def test_nothing_to_say_gives_no_breath(text: str) -> None:
    assert cut(text) == []


@settings(deadline=None)
@given(text=st.text(alphabet=st.sampled_from(list("abc 12,.;:-/é😀字\n")), max_size=300), hurried=st.booleans())
def test_joined_the_breaths_are_the_text(text: str, hurried: bool) -> None:
    found = cut(text, hurried=hurried)
    if found:
        assert "".join(texts(text, found)) == text
        assert all(any(letter.isalpha() for letter in word.spoken) for breath in found for word in breath.words)


def test_what_is_spelt_out_counts_for_what_it_takes_to_say_it() -> None:
    assert len(cut("The " + "WWW " * 30)) > len(cut("The " + "Wow " * 30))


def test_even_one_long_number_is_spoken_in_breaths_that_the_model_can_take() -> None:
    found = cut("1" * 200)
    assert "".join(texts("1" * 200, found)) == "1" * 200
    assert sum(breath.spoken.split().count("one") for breath in found) == 200
    assert all(len(breath.spoken) < 300 for breath in found)
