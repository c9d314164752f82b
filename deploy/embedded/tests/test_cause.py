"""Why a trace took as long as it did: each moment belongs to one step, and the slowest is named."""

from __future__ import annotations

import pytest

from embedded.traces.cause import cause_of
from embedded.traces.page import trace_page, trace_text
from embedded.traces.store import Event, Span, Trace
from embedded.traces.summary import moments, sentence

MS = 1_000_000


def span(name: str, start: int, end: int, parent: str | None = None, **more: object) -> Span:
    """A span of a service named like its first letter, whose times are milliseconds."""
    given: dict[str, object] = {"events": (), "error": None, "links": (), **more}
    return Span("a" * 32, name, parent, name, "internal", name[0], start * MS, end * MS, {}, **given)  # type: ignore[arg-type]


def trace(*spans: Span) -> Trace:
    return Trace("a" * 32, {one.span_id: one for one in spans})


QUESTION = trace(
    span("web", 0, 1000),
    span("accept", 10, 30, "web"),
    # The agent goes on after its request was answered, and is below it all the same.
    span("agent", 50, 990, "accept", events=(Event("first delta", 900 * MS, {}),)),
    span("retrieval", 60, 160, "agent"),
    span("model", 160, 980, "agent"),
)


def test_the_slowest_step_is_the_one_that_everything_waited_for() -> None:
    cause = cause_of(QUESTION)
    assert cause.slowest is not None
    assert (cause.slowest.title, cause.slowest.milliseconds) == ("model", 820)
    assert cause.dominates
    assert sentence(QUESTION, cause) == "model (m) took 820 ms, 82% of the 1.00 s that all of it took."
    assert moments(QUESTION) == [("first delta", 900)]


def test_a_spoken_answer_is_waited_for_until_it_is_heard() -> None:
    spoken = trace(
        span("voice", 0, 9000, events=(Event("first_sound_played", 800 * MS, {}),)), span("mouth", 100, 700, "voice")
    )
    cause = cause_of(spoken)
    assert sentence(spoken, cause) == "mouth (m) took 600 ms, 75% of the 800 ms until it was heard."
    assert sum(step.share for step in cause.steps) == pytest.approx(1)


def test_all_steps_together_are_the_whole() -> None:
    cause = cause_of(QUESTION)
    assert sum(step.milliseconds for step in cause.steps) == pytest.approx(1000)
    assert sum(step.share for step in cause.steps) == pytest.approx(1)
    own = {name: cause.own_ms(one) for name, one in QUESTION.spans.items()}
    assert own == {"web": 40, "accept": 20, "agent": 20, "retrieval": 100, "model": 820}


def test_of_what_runs_side_by_side_the_last_to_end_was_waited_for() -> None:
    both = trace(span("search", 0, 100), span("words", 0, 40, "search"), span("vector", 0, 90, "search"))
    own = {name: cause_of(both).own_ms(one) for name, one in both.spans.items()}
    assert own == {"search": 10, "words": 0, "vector": 90}


def test_a_wait_in_which_nothing_is_under_way_is_a_step_too() -> None:
    save = trace(span("ingest", 0, 10), span("process", 60, 70, "ingest"))
    slowest = cause_of(save).slowest
    assert slowest is not None
    assert (slowest.title, slowest.milliseconds, slowest.service) == ("waiting for process", 50, "p")


def test_where_nothing_stands_out_it_is_said() -> None:
    many = trace(span("root", 0, 100), *(span(f"s{place}", 20 * place, 20 * place + 20, "root") for place in range(5)))
    assert sentence(many, cause_of(many)).startswith("No single step: s0 (s) took 20 ms")
    assert "slowest</strong>" not in trace_page(many)


@pytest.mark.parametrize(
    "odd",
    [
        trace(),
        trace(span("empty", 5, 5)),
        trace(span("a", 0, 9, "b"), span("b", 0, 9, "a"), span("c", 3, 3, "c")),
        trace(span("orphan", 0, 9, "gone")),
    ],
)
def test_odd_traces_have_a_page_all_the_same(odd: Trace) -> None:
    assert "Where the time went" in trace_page(odd)
    assert trace_text(odd)


def test_the_page_names_the_cause_above_all_and_marks_it(monkeypatch: pytest.MonkeyPatch) -> None:
    page = trace_page(QUESTION)
    assert page.index("82% of the 1.00 s") < page.index("Where the time went") < page.index("Every step")
    assert '<details id="model" class="hot">' in page
    assert page.count("slowest</strong>") == 1
    assert "first delta <b>900 ms</b>" in page


def test_a_failure_is_named_before_anything_else() -> None:
    failed = trace(span("web", 0, 10, error="503"), span("search", 1, 9, "web", error="Unreachable"))
    page = trace_page(failed)
    assert '<a href="#search">search</a> (s): Unreachable' in page


def test_a_linked_trace_has_its_name_while_it_is_here() -> None:
    save = Trace("b" * 32, {"s": span("save notes.md", 0, 5)})
    rests = trace(span("retrieval", 0, 5, links=("b" * 32, "c" * 32)))
    page = trace_page(rests, {"b" * 32: save}.get)
    assert f'<a href="/trace/{"b" * 32}">save notes.md</a>' in page
    assert f'<a href="/trace/{"c" * 32}">{"c" * 32}</a> (not here)' in page


def test_a_terminal_is_told_the_same() -> None:
    text = trace_text(QUESTION)
    assert text.splitlines()[1] == "model (m) took 820 ms, 82% of the 1.00 s that all of it took."
    assert "   820 ms     820 ms        model  [m]" in text
