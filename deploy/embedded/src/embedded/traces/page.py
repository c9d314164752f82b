"""The trace page as HTML: a waterfall without a line of script, for a mouse, a keyboard, and a screen reader.

Each span is a ``<details>``: its summary is the row of the waterfall, its body the attributes. The bars are SVG, whose
place and width are attributes, so that the page needs no inline style and its policy can forbid them.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from html import escape

from embedded.traces.cause import Cause, cause_of
from embedded.traces.store import ANSWER, Span, Trace
from embedded.traces.summary import sentence, summary, time_of

WIDTH = 1000
"""Units of the waterfall's time axis; the picture is stretched to the width that there is."""
COLOURS = 8
DEEPEST = 12
SETTLED_S = 5
"""Spans arrive a moment after their work, each service's by themselves: until then the page asks again by itself."""


Known = Callable[[str], Trace | None]


def trace_page(trace: Trace, known: Known = lambda _: None) -> str:
    """The page of one trace; ``known`` gives others by their ids, of which links then tell the names."""
    settled = time.time_ns() - trace.end > SETTLED_S * 1_000_000_000
    colours = {service: place % COLOURS for place, service in enumerate(trace.services)}
    cause = cause_of(trace)
    rows = "".join(_row(span, min(depth, DEEPEST), trace, colours, cause, known) for span, depth in trace.rows())
    legend = "".join(
        f'<li><svg class="key s{colour}" viewBox="0 0 10 10" aria-hidden="true"><rect width="10" height="10"/></svg>'
        f"{escape(service)}</li>"
        for service, colour in colours.items()
    )
    left_out = (
        f'<p class="note">{trace.left_out} more spans of this trace arrived and are not shown.</p>'
        if trace.left_out
        else ""
    )
    linked = sorted({link for span in trace.spans.values() for link in span.links} - {trace.trace_id})
    links = (
        f"<h2>Linked traces</h2><p>What this one rests on, such as the saves that its passages came from:</p>"
        f"<ul>{''.join(f'<li>{_link(link, known)}</li>' for link in linked)}</ul>"
        if linked
        else ""
    )
    return _page(
        f"{trace.name} · {time_of(trace.milliseconds)}",
        f'<h1>{escape(_heading(trace))} <span class="took">{time_of(trace.milliseconds)}</span></h1>'
        f"{summary(trace, cause, colours)}"
        f'<h2>Every step</h2><p class="note">A bar is how long a step lasted, its solid part how long everything else'
        f" waited for the step itself. Each opens.</p>"
        f'<ul class="legend" aria-label="Services">{legend}</ul>{left_out}'
        f'<div class="waterfall">{_axis(trace.milliseconds)}{rows}</div>{links}'
        f'<p class="note">{len(trace.spans)} spans · {_moment(trace.start)} ·'
        f' <a href="/api/traces/{trace.trace_id}">JSON</a> · <a href="/trace/{trace.trace_id}.txt">text</a></p>',
        head="" if settled else '<meta http-equiv="refresh" content="1">',
    )


def missing_page(trace_id: str) -> str:
    """The page of a trace that is not here (yet): it asks again by itself."""
    return _page(
        "No such trace yet",
        "<h1>This trace is not here yet</h1>"
        "<p>Spans arrive a moment after the work that they describe. This page asks again every two seconds.</p>"
        "<p>Traces live in memory: those of an earlier run, and the oldest of a long one, are gone.</p>"
        f"<p><code>{escape(trace_id)}</code></p>",
        head='<meta http-equiv="refresh" content="2">',
    )


def latest_page(traces: Iterable[Trace], *, reads: bool = False) -> str:
    """The page of the latest traces; ``reads`` says whether those that only read are among them."""
    traces = list(traces)
    of_notes = _table([trace for trace in traces if trace.is_of_notes])
    others = _table([trace for trace in traces if not trace.is_of_notes])
    body = (
        f"<h2>Answers and saves</h2>{of_notes or '<p>None yet: ask a question, or save a note.</p>'}"
        f"{others and f'<h2>Other requests</h2>{others}'}"
    )
    other = (
        '<a href="/">Questions, saves and other work alone</a>'
        if reads
        else '<a href="/?all">Also requests that only read</a>'
    )
    return _page("Latest traces", f"<h1>Latest traces</h1>{body}<p>{other}</p>")


def _table(traces: list[Trace]) -> str:
    rows = "".join(
        f'<tr><td>{_moment(trace.start)}</td><td><a href="/trace/{trace.trace_id}">{escape(trace.name)}</a></td>'
        f'<td class="number">{time_of(trace.milliseconds)}</td><td class="number">{len(trace.spans)}</td>'
        f"<td>{escape(', '.join(trace.services))}</td></tr>"
        for trace in traces
    )
    return rows and (
        '<table><thead><tr><th scope="col">Began</th><th scope="col">Trace</th><th scope="col">Took</th>'
        f'<th scope="col">Spans</th><th scope="col">Services</th></tr></thead><tbody>{rows}</tbody></table>'
    )


def _row(span: Span, depth: int, trace: Trace, colours: dict[str, int], cause: Cause, known: Known) -> str:
    colour = colours[span.service]
    failed = ' <strong class="failed">failed</strong>' if span.error else ""
    slowest = cause.dominates and cause.slowest is not None and cause.slowest.longest is span
    row = "hot" if slowest else "cold"
    badge = ' <strong class="slowest">slowest</strong>' if slowest else ""
    owned = "".join(_rect("own", start, end, trace) for start, end in cause.segments.get(span.span_id, ()))
    marks = "".join(_rect("mark", event.at, event.at, trace) for event in span.events)
    return (
        f'<details id="{span.span_id}" class="{row}"><summary>'
        f'<span class="what d{depth}"><svg class="key s{colour}" viewBox="0 0 10 10" aria-hidden="true">'
        f'<rect width="10" height="10"/></svg><span class="name">{escape(span.title)}</span>'
        f' <span class="service">{escape(span.service)}</span>{badge}{failed}</span>'
        f'<svg class="bar s{colour}" viewBox="0 0 {WIDTH} 10" preserveAspectRatio="none" aria-hidden="true">'
        f"{_rect('whole', span.start, span.end, trace)}{owned}{marks}</svg>"
        f'<span class="number">{time_of(span.milliseconds)}</span></summary>'
        f"{_details(span, trace, cause, known)}</details>"
    )


def _rect(kind: str, start: int, end: int, trace: Trace) -> str:
    whole = max(trace.end - trace.start, 1)
    x = min((start - trace.start) / whole * WIDTH, WIDTH - 2)
    width = max((end - start) / whole * WIDTH, 2)
    return f'<rect class="{kind}" x="{x:.1f}" width="{width:.1f}" height="10"/>'


def _details(span: Span, trace: Trace, cause: Cause, known: Known) -> str:
    facts: dict[str, object] = {
        "began": f"{(span.start - trace.start) / 1e6:.2f} ms after the start",
        "waited for itself": time_of(cause.own_ms(span)),
        "kind": span.kind,
        **({"error": span.error} if span.error else {}),
        **dict(sorted(span.attributes.items())),
    }
    rows = "".join(
        f'<tr><th scope="row">{escape(name)}</th><td>{_value(value)}</td></tr>' for name, value in facts.items()
    )
    events = "".join(
        f"<li>{(event.at - span.start) / 1e6:.2f} ms: {escape(event.name)} {_value(event.attributes or '')}</li>"
        for event in span.events
    )
    links = "".join(f"<li>{_link(link, known)}</li>" for link in span.links)
    return f'<div class="details"><table>{rows}</table>{_list("Events", events)}{_list("Links", links)}</div>'


def _list(title: str, items: str) -> str:
    return f"<h3>{title}</h3><ul>{items}</ul>" if items else ""


def _heading(trace: Trace) -> str:
    return f"A question: {trace.name}" if trace.name == ANSWER else trace.name


def _axis(milliseconds: float) -> str:
    marks = "".join(f'<span class="t{quarter}">{time_of(milliseconds * quarter / 4)}</span>' for quarter in range(5))
    return f'<div class="axis" aria-hidden="true"><span></span><div>{marks}</div><span></span></div>'


def _link(trace_id: str, known: Known) -> str:
    trace = known(trace_id)
    if trace is None:
        return f'<a href="/trace/{trace_id}">{trace_id}</a> (not here)'
    return f'<a href="/trace/{trace_id}">{escape(trace.name)}</a> · {_moment(trace.start)}'


def _value(value: object) -> str:
    return escape(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str))


def _moment(nanoseconds: int) -> str:
    moment = datetime.fromtimestamp(nanoseconds / 1e9, UTC)
    return f'<time datetime="{moment.isoformat()}">{moment:%Y-%m-%d %H:%M:%S} UTC</time>'


def _page(title: str, body: str, head: str = "") -> str:
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)} · Talkdown traces</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">{head}'
        '<link rel="stylesheet" href="/traces.css"><link rel="icon" href="data:,"></head>'
        f'<body><header><a href="/">Talkdown traces</a></header><main>{body}</main></body></html>'
    )


def trace_text(trace: Trace) -> str:
    """The same for a terminal: the sentence, then every step below what asked for it, with what it was waited for."""
    cause = cause_of(trace)
    lines = [f"{trace.name}  {time_of(trace.milliseconds)}", sentence(trace, cause), "", "   lasted  waited for"]
    for span, depth in trace.rows():
        own = cause.own_ms(span)
        lines.append(
            f"{time_of(span.milliseconds):>9}  {time_of(own) if own else '':>9}  {'  ' * depth}{span.title}"
            f"  [{span.service}]{f'  failed: {span.error}' if span.error else ''}"
        )
    return "\n".join([*lines, ""])
