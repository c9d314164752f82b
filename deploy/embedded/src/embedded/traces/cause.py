"""Where the time of a trace went: each moment belongs to the one piece of work that everything else waited for.

::

    web      |=====================================|      the moment at * belongs to `chat`: it has nothing below it
    agent       |================================|        that is under way, and of all such it is the last to end
    retriever      |=====|
    chat                   |=========*=========|

So the times of all steps add up to the whole, however deep they are nested and whatever ran beside them. Work that goes
on after whoever asked for it has its answer counts where it is: below its parent, though its parent has ended. A spoken
answer has been waited for until its first sound; how long it is spoken then is nobody's wait.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest

from embedded.traces.store import Span, Trace

Segment = tuple[int, int]
"""From and to, in nanoseconds since 1970."""
BEFORE = "waiting for"
HEARD = "first_sound_played"
"""What happens when the wait for a spoken answer is over."""
MOST = 0.4
"""From this share on a step is called the cause."""


@dataclass(frozen=True)
class Step:
    """A kind of work of a service: how long everything waited for it, and in how many pieces."""

    title: str
    service: str
    milliseconds: float
    share: float
    count: int
    longest: Span


@dataclass(frozen=True)
class Cause:
    """The steps of a trace, the slowest first, and which part of each span was waited for."""

    steps: tuple[Step, ...]
    segments: dict[str, tuple[Segment, ...]]
    until: int | None = None
    """When the answer was first heard, in nanoseconds since 1970, if it was spoken: nothing counts from then on."""

    @property
    def slowest(self) -> Step | None:
        """The step that most time went to."""
        return self.steps[0] if self.steps else None

    @property
    def dominates(self) -> bool:
        """Whether the slowest step alone explains how long it took."""
        return self.slowest is not None and self.slowest.share >= MOST

    def own_ms(self, span: Span) -> float:
        """How long everything waited for a span itself."""
        return sum(end - start for start, end in self.segments.get(span.span_id, ())) / 1e6


def cause_of(trace: Trace) -> Cause:
    """Find it; a trace of n spans takes n log n."""
    segments: dict[str, list[Segment]] = defaultdict(list)
    gaps: list[tuple[int, Span]] = []
    until = min(
        (event.at for span in trace.spans.values() for event in span.events if event.name == HEARD), default=None
    )
    for span, start, stop, is_gap in _owned(trace):
        end = stop if until is None else min(stop, until)
        if end <= start:
            continue
        if is_gap:
            gaps.append((end - start, span))
            continue
        known = segments[span.span_id]
        if known and known[-1][1] == start:
            known[-1] = (known[-1][0], end)
        else:
            known.append((start, end))
    return Cause(_steps(trace, segments, gaps), {key: tuple(value) for key, value in segments.items()}, until)


def _owned(trace: Trace) -> list[tuple[Span, int, int, bool]]:
    """The pieces of time between starts and ends, each with the span that it belongs to.

    The last says whether that span was waited for before it began, because nothing was under way.
    """
    under_way: set[str] = set()
    below: dict[str, int] = defaultdict(int)  # how many of a span's descendants are under way
    moments = sorted(
        [(span.start, 1, span) for span in trace.spans.values() if span.end > span.start]
        + [(span.end, 0, span) for span in trace.spans.values() if span.end > span.start],
        key=lambda moment: (moment[0], moment[1]),
    )
    ancestors = {span.span_id: _ancestors(span, trace) for span in trace.spans.values()}
    pieces: list[tuple[Span, int, int, bool]] = []
    for (at, begins, span), following in zip_longest(moments, moments[1:]):
        (under_way.add if begins else under_way.discard)(span.span_id)
        for above in ancestors[span.span_id]:
            below[above] += 1 if begins else -1
        if following is not None and following[0] > at:
            leaves = [trace.spans[key] for key in under_way if not below[key]]
            last = max(leaves, key=lambda leaf: (leaf.end, leaf.span_id)) if leaves else following[2]
            pieces.append((last, at, following[0], not leaves))
    return pieces


def _ancestors(span: Span, trace: Trace) -> Sequence[str]:
    found: list[str] = []
    above = span.parent_id
    while above in trace.spans and above not in found and above != span.span_id:
        found.append(above)
        above = trace.spans[above].parent_id
    return found


def _steps(trace: Trace, segments: dict[str, list[Segment]], gaps: Sequence[tuple[int, Span]]) -> tuple[Step, ...]:
    kinds: dict[tuple[str, str], list[tuple[int, Span]]] = defaultdict(list)
    for key, owned in segments.items():
        span = trace.spans[key]
        kinds[span.title, span.service].append((sum(end - start for start, end in owned), span))
    for took, span in gaps:
        kinds[f"{BEFORE} {span.title}", span.service].append((took, span))
    whole = sum(took for pieces in kinds.values() for took, _ in pieces)
    steps = [_step(title, service, pieces, whole) for (title, service), pieces in kinds.items()]
    return tuple(sorted(steps, key=lambda step: (-step.milliseconds, step.title)))


def _step(title: str, service: str, pieces: Sequence[tuple[int, Span]], whole: int) -> Step:
    took = sum(one for one, _ in pieces)
    longest = max(pieces, key=lambda piece: piece[0])[1]
    return Step(title, service, took / 1e6, took / whole, len(pieces), longest)
