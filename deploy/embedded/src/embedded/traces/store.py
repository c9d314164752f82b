"""The latest traces, in memory, within bounds: the oldest trace leaves first."""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

MAX_TRACES = 500
MAX_READS = 100
"""How many of them may be requests that only read, as the page makes all the time: they go before the others."""
MAX_BYTES = 48 * 1024 * 1024
MAX_SPANS_OF_A_TRACE = 4000
"""A refresh of a large folder has tens of thousands; nobody reads so many lines."""

ANSWER = "POST /api/turns"
IDS = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
REQUESTS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")

Attributes = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened at a moment of a span (nanoseconds since 1970)."""

    name: str
    at: int
    attributes: Attributes


@dataclass(frozen=True, slots=True)
class Span:
    """One piece of work of one service; times are nanoseconds since 1970, ids lower-case hexadecimal."""

    trace_id: str
    span_id: str
    parent_id: str | None
    name: str
    kind: str
    service: str
    start: int
    end: int
    attributes: Attributes
    events: tuple[Event, ...] = ()
    links: tuple[str, ...] = ()
    error: str | None = None
    size: int = 0

    @property
    def milliseconds(self) -> float:
        """How long it took."""
        return max(self.end - self.start, 0) / 1e6

    @property
    def title(self) -> str:
        """Its name; of a request that was served, the method and the path as they were asked for, but for ids."""
        method, path = (self.attributes.get(name) for name in ("http.request.method", "url.path"))
        return f"{method} {IDS.sub('…', path)}" if self.kind == "server" and method and path else self.name


@dataclass
class Trace:
    """The spans of one trace that arrived so far, and how many were left out."""

    trace_id: str
    spans: dict[str, Span] = field(default_factory=dict[str, Span])
    left_out: int = 0
    size: int = 0

    @property
    def start(self) -> int:
        """When the first span began."""
        return min((span.start for span in self.spans.values()), default=0)

    @property
    def end(self) -> int:
        """When the last span ended."""
        return max((span.end for span in self.spans.values()), default=0)

    @property
    def milliseconds(self) -> float:
        """From the first span's start to the last one's end."""
        return max(self.end - self.start, 0) / 1e6

    @property
    def services(self) -> list[str]:
        """The services it went through, in the order of their first spans."""
        return list(dict.fromkeys(span.service for span in sorted(self.spans.values(), key=lambda span: span.start)))

    @property
    def name(self) -> str:
        """The title of its root, or of its earliest span while the root is still under way."""
        roots = [span for span, depth in self.rows() if depth == 0]
        return roots[0].title if roots else ""

    @property
    def only_reads(self) -> bool:
        """Whether it is a request that changes nothing, such as the page's look at the ledger."""
        return self.name.partition(" ")[0] in ("GET", "HEAD")

    @property
    def is_of_notes(self) -> bool:
        """Whether it is an answer or work that the product began by itself, such as on a save; no other request."""
        name = self.name
        return name == ANSWER or name.partition(" ")[0] not in REQUESTS

    def rows(self) -> list[tuple[Span, int]]:
        """Every span with its depth below the root: parents before children, siblings in the order of their starts.

        A span whose parent has not arrived (or is its own ancestor) stands at the top.
        """
        children: dict[str | None, list[Span]] = {}
        for span in sorted(self.spans.values(), key=lambda span: (span.start, span.span_id)):
            children.setdefault(span.parent_id if span.parent_id in self.spans else None, []).append(span)
        rows: list[tuple[Span, int]] = []
        seen: set[str] = set()
        waiting = [(span, 0) for span in reversed(children.get(None, []))]
        while waiting:
            span, depth = waiting.pop()
            if span.span_id in seen:
                continue
            seen.add(span.span_id)
            rows.append((span, depth))
            waiting.extend((child, depth + 1) for child in reversed(children.get(span.span_id, [])))
        rows.extend((span, 0) for span in self.spans.values() if span.span_id not in seen)
        return rows


class TraceStore:
    """Traces by id, the one that grew last at the end."""

    def __init__(self, max_traces: int = MAX_TRACES, max_bytes: int = MAX_BYTES) -> None:
        self._traces: OrderedDict[str, Trace] = OrderedDict()
        self._max_traces, self._max_bytes, self._bytes = max_traces, max_bytes, 0

    def add(self, spans: Iterable[Span]) -> None:
        """Keep spans; one that arrives twice replaces itself. Whole traces make room, oldest first."""
        for span in spans:
            trace = self._traces.setdefault(span.trace_id, Trace(span.trace_id))
            self._traces.move_to_end(span.trace_id)
            before = trace.spans.get(span.span_id)
            if before is None and len(trace.spans) >= MAX_SPANS_OF_A_TRACE:
                trace.left_out += 1
                continue
            grown = span.size - (before.size if before else 0)
            trace.spans[span.span_id] = span
            trace.size += grown
            self._bytes += grown
        while len(self._traces) > self._max_traces or (self._bytes > self._max_bytes and len(self._traces) > 1):
            self._bytes -= self._traces.pop(self._first_to_go()).size

    def _first_to_go(self) -> str:
        reads = [trace.trace_id for trace in self._traces.values() if trace.only_reads]
        return reads[0] if len(reads) > MAX_READS else next(iter(self._traces))

    def get(self, trace_id: str) -> Trace | None:
        """A trace by its id."""
        return self._traces.get(trace_id)

    def latest(self, count: int = 100, *, reads: bool = True) -> list[Trace]:
        """The traces that grew last, newest first; without those that only read if so wished."""
        wanted = (trace for trace in reversed(self._traces.values()) if reads or not trace.only_reads)
        return list(islice(wanted, count))
