"""O1: how an answer is cut into chunks, and which part of it each of them speaks."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from voice_gateway.orchestrators.chunks import FORCED, FROM, LONGEST, Chunks
from voice_gateway.orchestrators.speech import Speech, Spoken, heard_of_answer

pytestmark = pytest.mark.behaviour("O1")

TEXTS = st.text(alphabet="ab .!?;:\n,。[1]*`#-|(é", max_size=400)


def chunks(text: str, sizes: list[int] | None = None) -> list[str]:
    cutter, made, place = Chunks(), list[str](), 0
    for size in sizes or [len(text) or 1]:
        made += cutter.feed(text[place : place + size])
        place += size
    return [*made, *cutter.feed(text[place:]), *cutter.finish()]


def spoken(text: str, sizes: list[int] | None = None) -> list[Spoken]:
    speech, made, place = Speech(), list[Spoken](), 0
    for size in sizes or [len(text) or 1]:
        made += speech.feed(text[place : place + size])
        place += size
    return [*made, *speech.feed(text[place:]), *speech.finish()]


@given(TEXTS, st.lists(st.integers(1, 30), max_size=60))
def test_chunks_are_the_same_however_the_text_comes_and_joined_they_are_the_text(text: str, sizes: list[int]) -> None:
    assert "".join(chunks(text, sizes)) == text
    assert chunks(text, sizes) == chunks(text)


@given(TEXTS, st.lists(st.integers(1, 30), max_size=60))
def test_what_is_spoken_is_the_same_however_the_text_comes_and_its_places_only_grow(
    text: str, sizes: list[int]
) -> None:
    made = spoken(text, sizes)
    assert made == spoken(text)
    ends = [end for chunk in made for end in chunk.ends]
    assert ends == sorted(ends)
    assert all(len(chunk.text) == len(chunk.ends) and chunk.text == chunk.text.strip() for chunk in made)
    assert not ends or ends[-1] <= len(text)


@given(st.lists(st.text(alphabet="abc,", min_size=1, max_size=30), min_size=1, max_size=60))
def test_no_chunk_of_words_is_longer_than_it_may_be_and_none_but_the_last_is_short(words: list[str]) -> None:
    made = chunks(" ".join(words))
    assert all(len(chunk) <= FORCED for chunk in made)
    assert all(len(chunk) > FROM for chunk in made[:-1])


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Wait until it stands. Then turn it.", ["Wait until it stands. ", "Then turn it."]),
        ("Yes. It is in the pump room. Go on.", ["Yes. It is in the pump room. ", "Go on."]),
        ("These are the houses: Fern House; Dry House.", ["These are the houses: ", "Fern House; Dry House."]),
        ("- the first of the items\n- the second", ["- the first of the items\n", "- the second"]),
        ("At 10:30 Dr. Lee opens 3.5 houses. Then", ["At 10:30 Dr. Lee opens 3.5 houses. ", "Then"]),
        (
            "阀门在泵房里，在第二个水箱后面，膝盖高的地方。它是琥珀色的。",
            ["阀门在泵房里，在第二个水箱后面，膝盖高的地方。", "它是琥珀色的。"],
        ),
        ("", []),
    ],
)
def test_a_chunk_ends_at_a_sentence_a_colon_or_a_line_from_twenty_characters_on(text: str, wanted: list[str]) -> None:
    assert chunks(text) == wanted


def test_without_a_mark_a_chunk_is_forced_at_the_last_space_within_eighty() -> None:
    text = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen"
    first, rest = chunks(text)
    assert first == text[: text[:FORCED].rfind(" ") + 1]
    assert len(first) <= FORCED
    assert first + rest == text


def test_a_word_without_end_is_cut_in_the_end() -> None:
    made = chunks("x" * 500)
    assert [len(chunk) for chunk in made] == [LONGEST, LONGEST, 500 - 2 * LONGEST]


def test_a_sentence_is_given_with_the_white_space_behind_it_and_not_later() -> None:
    cutter = Chunks()
    assert cutter.feed("The code is ORCHID-47.") == []
    assert cutter.feed(" ") == ["The code is ORCHID-47. "]


def test_citations_and_marks_of_markdown_are_not_spoken_even_when_split() -> None:
    text = "The **recovery code** is ORCHID-47 [1]. It opens the amber `valve` [2, 3].\n\n- Turn it left.\n"
    for sizes in ([3] * 40, [1] * 100, [50]):
        assert [chunk.text for chunk in spoken(text, sizes)] == [
            "The recovery code is ORCHID-47.",
            "It opens the amber valve.",
            "Turn it left.",
        ]


def test_what_was_heard_of_the_chunks_is_found_in_the_answer() -> None:
    answer = "The **recovery code** is ORCHID-47 [1]. It opens the valve [2]. Go on."
    made = spoken(answer)
    assert heard_of_answer(made, "") == 0
    assert answer[: heard_of_answer(made, "The recovery")] == "The **recovery"
    assert answer[: heard_of_answer(made, made[0].text)] == "The **recovery code** is ORCHID-47 [1]."
    half = answer[: heard_of_answer(made, f"{made[0].text} It opens")]
    assert half == "The **recovery code** is ORCHID-47 [1]. It opens"
    whole = " ".join(chunk.text for chunk in made)
    assert heard_of_answer(made, whole) == len(answer)
    assert heard_of_answer([Spoken("This is safety."), *made], "This is safety. The") == len("The")


def test_what_is_dropped_is_not_spoken_later() -> None:
    speech = Speech()
    assert speech.feed("Let me look") == []
    speech.drop()
    assert speech.finish() == []
