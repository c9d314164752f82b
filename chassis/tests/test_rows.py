"""Rows of tables are read with the header above them."""

import pytest

from chassis.rows import cells, header_above, is_header, is_item, line_around

TABLE = "The houses.\n\nhouse | days | litres\nFern House | every day | 420\nNursery |  | 150\n\nDone."


def span(part: str, text: str = TABLE) -> tuple[int, int]:
    start = text.index(part)
    return start, start + len(part)


@pytest.mark.parametrize(
    ("text", "row"),
    [
        ("a | b", ["a", "b"]),
        ("a |  | c", ["a", "", "c"]),
        ("a | b |", ["a", "b", ""]),
        ("| a", ["", "a"]),
        ("grep a|b", ["grep a|b"]),
        ("", [""]),
    ],
)
def test_a_row_is_cut_into_its_cells_and_a_sentence_is_one(text: str, row: list[str]) -> None:
    assert cells(text) == row


def test_the_header_is_the_first_of_the_rows_that_stand_together() -> None:
    assert header_above(TABLE, span("Nursery |  | 150")) == "house | days | litres"
    assert header_above(TABLE, span("house | days | litres")) == ""
    assert header_above(TABLE, span("The houses.")) == ""
    assert header_above(TABLE, span("Done.")) == ""


def test_the_header_repeated_above_the_rest_of_a_long_table_is_taken() -> None:
    rest = "Nursery | every day | 150\nDry House | Monday | 35"

    assert (
        header_above(rest, span("Nursery | every day | 150", rest), "house | days | litres") == "house | days | litres"
    )
    assert not is_header(rest, span("Nursery | every day | 150", rest), "house | days | litres")


def test_only_a_row_with_rows_under_it_is_a_header() -> None:
    lone = "this | that\n\nAnd a sentence."

    assert is_header(TABLE, span("house | days | litres"))
    assert not is_header(TABLE, span("Fern House | every day | 420"))
    assert not is_header(lone, span("this | that", lone))


def test_the_line_around_a_part_is_given_whole() -> None:
    assert TABLE[slice(*line_around(TABLE, span("every day")))] == "Fern House | every day | 420"
    assert TABLE[slice(*line_around(TABLE, span("Done.")))] == "Done."


@pytest.mark.parametrize("line", ["- One", "1. One", "  2) One", "[ ] One", "[x] One", "* One"])
def test_a_line_with_a_mark_is_an_item_wherever_in_it_a_part_begins(line: str) -> None:
    text = f"First:\n\n{line}. And more.\n\nDone."
    assert is_item(text, span("One", text))
    assert is_item(text, span("And more.", text))
    assert not is_item(text, span("First:", text))
    assert not is_item(text, span("Done.", text))
