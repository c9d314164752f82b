"""How passages are chosen for an answer: hits first, within the budget, in file order (R1, R2)."""

from __future__ import annotations

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retriever.windows import SHORTEST_CUT, Row, choose, context_of, cut


def row(path: str, ordinal: int, text: str, *, key: int = 0, context: str = "", line: int = 1) -> Row:
    lines = text.split("\n")
    runs: list[tuple[int, int, int]] = []
    point = 0
    for number, each in enumerate(lines):
        runs.append((point, point, line + number))
        point += len(each) + 1
    return Row(
        key=key or ordinal + 1,
        id=f"{key or ordinal + 1:016x}",
        document=sum(map(ord, path)),
        path=path,
        ordinal=ordinal,
        heading=("Top",),
        lines=(line, line + len(lines) - 1),
        plain=text,
        text=text,
        runs=tuple(runs),
        context=context,
        version="0" * 64,
        saved_at=dt.datetime(2026, 11, 30, tzinfo=dt.UTC),
        language="en",
        title=None,
        trace=None,
        sentences=b"",
    )


@pytest.mark.behaviour("R2")
def test_the_budget_is_spent_on_the_best_hits_first_and_the_answer_is_in_file_order() -> None:
    rows = [row("a.md", 0, "x" * 300, key=1), row("b.md", 0, "y" * 300, key=2), row("z.md", 0, "z" * 300, key=3)]
    chosen = choose(rows, {1: 0.1, 2: 0.2, 3: 0.9}, 700)
    assert [one.path for one in chosen] == ["b.md", "z.md"], "the best hit sorts last and is there whole"
    assert chosen[1].text == "z" * 300


@pytest.mark.behaviour("R2")
def test_the_passage_that_does_not_fit_is_cut_with_its_lines_and_runs() -> None:
    rows = [row("a.md", 0, "\n".join(f"line {n:03}" for n in range(1, 41)), key=1, line=10)]
    (only,) = choose(rows, {1: 1.0}, 200)
    assert len(context_of([only])) <= 200
    assert rows[0].text.startswith(only.text)
    assert only.text.endswith(f"line {only.lines[1] - 9:03}"[: len(only.text.split(chr(10))[-1])])
    assert only.lines == (10, 10 + only.text.count("\n"))
    assert only.runs == rows[0].runs[: only.text.count("\n") + 1]


@pytest.mark.behaviour("R1")
def test_neighbours_come_after_every_hit_those_of_the_best_hit_first() -> None:
    rows = [row("a.md", n, f"a{n} " + "x" * 96, key=n + 1) for n in range(3)]
    rows += [row("b.md", n, f"b{n} " + "y" * 96, key=n + 11) for n in range(3)]
    hits = {2: 0.5, 12: 0.6}
    three = choose(rows, hits, 3 * 118 + 20)
    assert {one.key for one in three} >= {2, 12, 11}
    assert 1 not in {one.key for one in three}


@pytest.mark.behaviour("R1")
def test_ties_break_by_id() -> None:
    rows = [row("b.md", 0, "x" * 150, key=1), row("a.md", 0, "y" * 150, key=2)]
    assert [one.key for one in choose(rows, {1: 0.5, 2: 0.5}, 200)] == [1]


@pytest.mark.behaviour("R2")
def test_headers_separators_and_repeated_table_headers_count() -> None:
    first, second = row("a.md", 0, "x" * 50, key=1, context="| Name | Code |"), row("b.md", 0, "y" * 50, key=2)
    whole = context_of([first, second])
    assert whole.startswith("[1] a.md:1-1 > Top\n| Name | Code |\nxxx")
    assert "\n\n[2] b.md:1-1 > Top\nyyy" in whole
    assert choose([first, second], {1: 0.2, 2: 0.1}, len(whole)) == [first, second]
    shorter = choose([first, second], {1: 0.2, 2: 0.1}, len(whole) - 1)
    assert [len(one.text) for one in shorter] == [50, 49]


@pytest.mark.behaviour("R2")
@given(
    texts=st.lists(st.text("ab .\n", min_size=1, max_size=400), min_size=1, max_size=8),
    hits=st.dictionaries(st.integers(1, 8), st.floats(0, 1), min_size=1),
    budget=st.integers(200, 1500),
)
def test_the_context_is_never_over_the_budget_and_holds_exactly_the_text_of_its_sources(
    texts: list[str], hits: dict[int, float], budget: int
) -> None:
    rows = [row("a.md" if n % 2 else "b.md", n // 2, text, key=n + 1) for n, text in enumerate(texts)]
    rows = [one for one in rows if any(one.document == rows[key - 1].document for key in hits if key <= len(rows))]
    hits = {key: score for key, score in hits.items() if key <= len(texts)}
    chosen = choose(rows, hits, budget)
    context = context_of(chosen)
    assert len(context) <= budget
    assert [(one.path, one.ordinal) for one in chosen] == sorted({(one.path, one.ordinal) for one in chosen})
    whole = {one.key: one for one in rows}
    shortened = [one for one in chosen if one != whole[one.key]]
    assert len(shortened) <= 1
    for one in chosen:
        assert one.text in context
        assert whole[one.key].text.startswith(one.text)
        assert one not in shortened or all(run[0] < len(one.text) for run in one.runs)
        assert one in shortened or one.text == whole[one.key].text
        assert one not in shortened or len(one.text) >= SHORTEST_CUT


def test_a_cut_in_the_middle_of_a_line_keeps_that_line() -> None:
    half = cut(row("a.md", 0, "first line\nsecond line\nthird line", line=5), 15)
    assert (half.text, half.lines) == ("first line\nseco", (5, 6))
