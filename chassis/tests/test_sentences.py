"""Sentences end where a reader would say that they end."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chassis.sentences import sentence_spans


def sentences(text: str) -> list[str]:
    return [text[start:end] for start, end in sentence_spans(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Dr. Smith paid $3.50. He left.", ["Dr. Smith paid $3.50.", "He left."]),
        (
            "Use v1.2.3. See https://a.example/b.html?x=1. Done",
            ["Use v1.2.3.", "See https://a.example/b.html?x=1.", "Done"],
        ),
        ("The U.S. Army came. It left the U.S. The end!", ["The U.S. Army came.", "It left the U.S.", "The end!"]),
        ('"Wow!" she said. "Really?" He nodded.', ['"Wow!" she said.', '"Really?"', "He nodded."]),
        (
            "J. R. R. Tolkien wrote it. It has vitamin C. The end.",
            ["J. R. R. Tolkien wrote it.", "It has vitamin C.", "The end."],
        ),
        ("It ended in 1856.[3] Then came peace.", ["It ended in 1856.[3]", "Then came peace."]),
        (
            "Bring tea, etc. and water, e.g. still. Yahoo! is a name.",
            ["Bring tea, etc. and water, e.g. still.", "Yahoo! is a name."],
        ),
        (
            "See no. 5 for this. Is it open? No. It is shut.",
            ["See no. 5 for this.", "Is it open?", "No.", "It is shut."],
        ),
        (
            "Wait... what? Yes… maybe. iPads work. iPhones too.",
            ["Wait... what?", "Yes… maybe.", "iPads work.", "iPhones too."],
        ),
    ],
)
def test_a_full_stop_inside_a_name_a_number_or_an_address_ends_nothing(text: str, expected: list[str]) -> None:
    assert sentences(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "Am 3. Oktober 1990 kam z. B. die Einheit. Er ging 1990. Im 19. Jahrhundert war es kalt, d. h. sehr kalt.",
            [
                "Am 3. Oktober 1990 kam z. B. die Einheit.",
                "Er ging 1990.",
                "Im 19. Jahrhundert war es kalt, d. h. sehr kalt.",
            ],
        ),
        (
            "黑豹队丢了308.5分。他说：“好！”然后走了。真的吗？是的",
            ["黑豹队丢了308.5分。", "他说：“好！”", "然后走了。", "真的吗？", "是的"],
        ),
        ("これは本です。「はい。」と言った。", ["これは本です。", "「はい。」", "と言った。"]),
        ("هل هذا كتاب؟ نعم. شكرا", ["هل هذا كتاب؟", "نعم.", "شكرا"]),
        ("यह एक किताब है। वह गया।", ["यह एक किताब है।", "वह गया।"]),
        ("¿Dónde está? Está aquí, Sr. López. ¡Bien!", ["¿Dónde está?", "Está aquí, Sr. López.", "¡Bien!"]),
    ],
)
def test_sentences_of_other_languages_and_scripts_end_at_their_own_stops(text: str, expected: list[str]) -> None:
    assert sentences(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "Tobias (ext. 4417), deputy Ines (ext. 4421).",
        "Ring ext. 4417 or tel. +43 1 234, approx. 5 times.",
        "See no. 7 and Nr. 8 in the Linzer Str. 12 bzw. ca. 3 m further, z. B. am Tor.",
        "The key (ask Ines. She has it.) hangs in the hall.",
        "Close it (see Fig. 3, p. 7. Then wait) at night.",
    ],
)
def test_no_sentence_ends_at_an_abbreviation_before_a_number_nor_in_a_short_bracket(text: str) -> None:
    assert sentences(f"{text} Then rest.") == [text, "Then rest."]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It failed :( badly. Try again (soon).", ["It failed :( badly.", "Try again (soon)."]),
        ("He left (at last.) She stayed.", ["He left (at last.)", "She stayed."]),
        (f"A (one. Two {'x' * 90}) b.", ["A (one.", f"Two {'x' * 90}) b."]),
        ("A (one. Two\nthree) b.", ["A (one.", "Two\nthree) b."]),
        ("a) One. Then b) Two.", ["a) One.", "Then b) Two."]),
    ],
)
def test_a_bracket_that_does_not_close_soon_on_its_line_holds_no_sentence_together(
    text: str, expected: list[str]
) -> None:
    assert sentences(text) == expected


def test_items_headings_rows_and_lines_of_code_are_sentences_and_a_wrapped_line_is_not() -> None:
    text = (
        "# Visitors\nThe guest wifi\npassword is plum-29.\n- first item\n- second,\n  wrapped\n1. one\n2. two\n\n"
        "| a | b |\n|---|---|\n| 1 | 2.5 |\n\n```\nprint(1). x\nmore\n\nlast\n```\nAfter"
    )

    assert sentences(text) == [
        "# Visitors",
        "The guest wifi\npassword is plum-29.",
        "- first item",
        "- second,\n  wrapped",
        "1. one",
        "2. two",
        "| a | b |",
        "|---|---|",
        "| 1 | 2.5 |",
        "```",
        "print(1). x",
        "more",
        "last",
        "```",
        "After",
    ]


@pytest.mark.parametrize("text", ["", " \n\t\r\n ", "...", "```", "\u2028", "。", "| |"])
def test_texts_without_words_are_no_error(text: str) -> None:
    assert all(text[start:end].strip() for start, end in sentence_spans(text))


@given(st.text(alphabet=st.sampled_from("aB1.!?。 \n-|`#*\"”)['\u2028\r\x0b"), max_size=80) | st.text(max_size=80))
def test_spans_are_in_order_do_not_overlap_and_leave_out_only_white_space(text: str) -> None:
    position = 0
    for start, end in sentence_spans(text):
        assert position <= start < end
        assert not text[position:start].strip()
        assert text[start:end] == text[start:end].strip()
        position = end
    assert not text[position:].strip()
