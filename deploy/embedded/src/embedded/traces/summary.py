"""What stands above the waterfall: where the time went, in one sentence and a short table."""

from __future__ import annotations

from html import escape

from embedded.traces.cause import Cause, Step
from embedded.traces.store import Trace

MOST_STEPS = 5
WIDTH = 100


def sentence(trace: Trace, cause: Cause) -> str:
    """The slowest step in words, as plain text."""
    slowest = cause.slowest
    if slowest is None:
        return "Nothing in it took any time."
    times = f" in {slowest.count} pieces" if slowest.count > 1 else ""
    said = f"{slowest.title} ({slowest.service}) took {time_of(slowest.milliseconds)}{times}"
    spoken = cause.until is not None
    whole = time_of(sum(step.milliseconds for step in cause.steps) if spoken else trace.milliseconds)
    if cause.dominates:
        return (
            f"{said}, {slowest.share:.0%} of the {whole} {'until it was heard' if spoken else 'that all of it took'}."
        )
    until = " until it was heard" if spoken else ""
    return f"No single step: {said}, and that is the most, {slowest.share:.0%} of {whole}{until}."


def moments(trace: Trace) -> list[tuple[str, float]]:
    """What happened on the way, with the milliseconds since the trace began; each name once, at its first time."""
    found: dict[str, float] = {}
    for span in trace.spans.values():
        for event in span.events:
            at = (event.at - trace.start) / 1e6
            found[event.name] = min(at, found.get(event.name, at))
    return sorted(found.items(), key=lambda moment: moment[1])


def summary(trace: Trace, cause: Cause, colours: dict[str, int]) -> str:
    """The same as HTML, with what failed first."""
    failed = [span for span in trace.spans.values() if span.error]
    deepest = max(failed, key=lambda span: (span.start, span.span_id), default=None)
    lines = (
        f'<p class="failed"><strong>Failed:</strong> <a href="#{deepest.span_id}">{escape(deepest.title)}</a>'
        f" ({escape(deepest.service)}): {escape(deepest.error or '')}</p>"
        if deepest
        else ""
    )
    lines += f'<p class="cause">{escape(sentence(trace, cause))}</p>'
    if happened := moments(trace):
        told = "".join(f"<li>{escape(name)} <b>{time_of(at)}</b></li>" for name, at in happened)
        lines += f'<ul class="moments" aria-label="What happened, since the start">{told}</ul>'
    rows = "".join(_step(step, colours) for step in cause.steps[:MOST_STEPS])
    rest = cause.steps[MOST_STEPS:]
    if rest:
        took, share = sum(step.milliseconds for step in rest), sum(step.share for step in rest)
        rows += f'<tr><td>{len(rest)} more steps</td><td class="share"></td><td class="number">{time_of(took)}</td>'
        rows += f'<td class="number">{share:.0%}</td></tr>'
    return (
        f'{lines}<table class="steps"><caption>Where the time went</caption><thead><tr><th scope="col">Step</th>'
        '<th scope="col" class="share">Share</th><th scope="col" class="number">Waited for</th>'
        f'<th scope="col" class="number">%</th></tr></thead><tbody>{rows}</tbody></table>'
    )


def _step(step: Step, colours: dict[str, int]) -> str:
    colour = colours[step.service]
    times = f" × {step.count}" if step.count > 1 else ""
    return (
        f'<tr><td><a href="#{step.longest.span_id}">{escape(step.title)}</a>{times}'
        f' <span class="service">{escape(step.service)}</span></td>'
        f'<td class="share"><svg class="bar s{colour}" viewBox="0 0 {WIDTH} 10" preserveAspectRatio="none"'
        f' aria-hidden="true"><rect width="{max(step.share * WIDTH, 0.5):.1f}" height="10"/></svg></td>'
        f'<td class="number">{time_of(step.milliseconds)}</td><td class="number">{step.share:.0%}</td></tr>'
    )


def time_of(milliseconds: float) -> str:
    """A duration as a person reads it."""
    if milliseconds >= 1000:
        return f"{milliseconds / 1000:.2f} s"
    return f"{milliseconds:.0f} ms" if milliseconds >= 10 else f"{milliseconds:.2f} ms"
