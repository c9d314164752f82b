"""Traces, metrics and logs of every service.

One provider a process. Without a collector nothing is recorded, but every span still has its ids, so that logs and
answers carry a trace id. With one, spans leave in batches from a thread of their own, and a collector that is gone
costs a warning, never a request. Metrics (:mod:`chassis.metrics`) go to a collector of their own setting, since Jaeger
takes none. Both signals carry the same resource: service, version, and an instance that tells replicas apart.

Content (questions, passages) goes into spans only where :func:`content_allowed` says so; of an exception only its type.
"""

from __future__ import annotations

# Loaded before a tracer is made. In a fork OpenTelemetry's tracers start threads, and the handlers of a fork run in the
# order in which they were registered: without this the fork waits for ever for a lock that the later handler renews.
import concurrent.futures.thread  # noqa: F401  # pyright: ignore[reportUnusedImport]
import importlib.metadata
import os
import re
import socket
import threading
from collections.abc import Mapping, Sequence
from functools import lru_cache
from random import getrandbits
from types import TracebackType
from typing import TYPE_CHECKING, Self
from uuid import uuid4

from opentelemetry import context as otel_context
from opentelemetry.context import Context
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, ALWAYS_ON
from opentelemetry.trace import (
    Link,
    NonRecordingSpan,
    Span,
    SpanContext,
    SpanKind,
    Status,
    StatusCode,
    TraceFlags,
    Tracer,
    get_current_span,
    set_span_in_context,
)
from opentelemetry.util.types import AttributeValue

from chassis import conventions, metrics
from chassis.exporting import PatientExporter
from chassis.logs import write_logs
from chassis.settings import ServiceSettings

if TYPE_CHECKING:
    from opentelemetry.sdk.metrics.export import MetricReader

Attributes = Mapping[str, AttributeValue]
CLIENT, SERVER, PRODUCER, CONSUMER = SpanKind.CLIENT, SpanKind.SERVER, SpanKind.PRODUCER, SpanKind.CONSUMER
INTERNAL = SpanKind.INTERNAL

SCHEDULE_DELAY_MS = 500
_TRACEPARENT = re.compile(r"^[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$")


class _Now:
    """The provider in force; replaced by :func:`setup`."""

    provider = TracerProvider(sampler=ALWAYS_OFF, resource=Resource({}), shutdown_on_exit=False)
    tracer: Tracer = provider.get_tracer("talkdown")
    recording = False
    content = False


def setup(
    service: str, settings: ServiceSettings, *processors: SpanProcessor, readers: Sequence[MetricReader] = ()
) -> TracerProvider:
    """Begin to log, to trace and to measure as ``service``.

    ``processors`` see every span, ``readers`` every measurement, beside the collectors (tests use them).
    :func:`finish` sends what is left.
    """
    write_logs(service, settings.log_level)
    recording = bool(settings.otlp_endpoint or processors)
    resource = Resource(identity(service))
    provider = TracerProvider(
        sampler=ALWAYS_ON if recording else ALWAYS_OFF,
        resource=resource,
        shutdown_on_exit=False,
    )
    for processor in processors:
        provider.add_span_processor(processor)
    if settings.otlp_endpoint:
        exporter = PatientExporter(settings.otlp_endpoint)
        provider.add_span_processor(BatchSpanProcessor(exporter, schedule_delay_millis=SCHEDULE_DELAY_MS))
    _Now.provider, _Now.tracer = provider, provider.get_tracer("talkdown")
    _Now.recording, _Now.content = recording, settings.trace_content
    if settings.otlp_metrics_endpoint:
        from chassis.metric_export import metric_reader

        readers = [*readers, metric_reader(settings.otlp_metrics_endpoint, settings.otlp_metrics_interval_s)]
    if readers:
        metrics.begin(resource, *readers)
    else:
        metrics.end()
    return provider


def identity(service: str) -> dict[str, str]:
    """What tells this process apart in traces and metrics, as resource attributes.

    The instance begins with the host's name, which in a container is the container's id.
    """
    try:
        version = importlib.metadata.version(f"talkdown-{service}")
    except importlib.metadata.PackageNotFoundError:
        version = importlib.metadata.version("talkdown-chassis")
    return {
        conventions.SERVICE_NAME: service,
        conventions.SERVICE_NAMESPACE: "talkdown",
        conventions.SERVICE_VERSION: version,
        conventions.SERVICE_INSTANCE: f"{socket.gethostname()}:{os.getpid()}:{uuid4().hex[:8]}",
    }


def finish() -> None:
    """Send what is left and stop; takes at most about two seconds when the collectors are gone."""
    measuring = threading.Thread(target=metrics.end)
    measuring.start()
    _Now.provider.shutdown()
    measuring.join()


def content_allowed() -> bool:
    """Whether questions, passages and answers may stand in spans."""
    return _Now.content


class span:  # noqa: N801 - it is used as a verb: with span("embed"): ...
    """``with span("chat gpt", {...}) as current:`` a span that is current inside, and knows an error by its type alone.

    ``parent`` is a ``traceparent`` (or a context) to continue instead of the current span; ``links`` are such too.
    """

    __slots__ = ("_token", "current")

    def __init__(
        self,
        name: str,
        attributes: Attributes | None = None,
        *,
        kind: SpanKind = INTERNAL,
        parent: str | Context | None = None,
        links: Sequence[str] = (),
    ) -> None:
        context = extracted(parent) if isinstance(parent, str) else parent
        if _Now.recording:
            self.current: Span = _Now.tracer.start_span(
                name, context, kind, attributes, links=links_to(links) if links else None
            )
        else:
            self.current = _ids_alone(context)
        self._token = None

    def __enter__(self) -> Span:
        self._token = otel_context.attach(set_span_in_context(self.current))
        return self.current

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._token is not None:
            otel_context.detach(self._token)
        if kind is not None:
            fail(self.current, kind)
        self.current.end()


def _ids_alone(context: Context | None) -> Span:
    """Where nothing is recorded, a span is the trace that it belongs to, or begins one, and costs next to nothing."""
    above = get_current_span(context)
    if above.get_span_context().is_valid:
        return above
    return NonRecordingSpan(SpanContext(getrandbits(128) or 1, getrandbits(64) or 1, False))


def start(
    name: str, attributes: Attributes | None = None, *, kind: SpanKind = INTERNAL, parent: str | None = None
) -> Span:
    """A span that does not become current: the caller ends it (for work that spans several tasks)."""
    context = extracted(parent) if parent else None
    return _Now.tracer.start_span(name, context, kind, attributes) if _Now.recording else _ids_alone(context)


def fail(current: Span, kind: type[BaseException] | str) -> None:
    """Mark a span as failed, by the name of the error's type."""
    if current.is_recording():
        name = kind if isinstance(kind, str) else kind.__qualname__
        current.set_attribute(conventions.ERROR_TYPE, name)
        current.set_status(Status(StatusCode.ERROR, name))


def happened(what: str) -> None:
    """Note in the current span that something happened now: a constant, never content."""
    get_current_span().add_event(what)


@lru_cache(maxsize=256)  # events that were published together have it in common
def extracted(traceparent: str | None) -> Context:
    """The context of a W3C ``traceparent``; of a missing or malformed one, a context that begins a new trace."""
    parsed = _span_context(traceparent) if traceparent else None
    return set_span_in_context(NonRecordingSpan(parsed), Context()) if parsed else Context()


def links_to(traceparents: Sequence[str]) -> list[Link]:
    """Links to other traces; malformed ones are left out."""
    return [Link(parsed) for traceparent in traceparents if (parsed := _span_context(traceparent))]


def inject() -> str | None:
    """The ``traceparent`` of the current span, or nothing outside of one."""
    return traceparent_of(get_current_span())


def traceparent_of(current: Span) -> str | None:
    """A span as a W3C ``traceparent``."""
    context = current.get_span_context()
    if not context.is_valid:
        return None
    return f"00-{context.trace_id:032x}-{context.span_id:016x}-{context.trace_flags & 3:02x}"


def trace_id() -> str | None:
    """The current trace's id in 32 hexadecimal digits, or nothing outside of one."""
    context = get_current_span().get_span_context()
    return f"{context.trace_id:032x}" if context.is_valid else None


def _span_context(traceparent: str) -> SpanContext | None:
    match = _TRACEPARENT.match(traceparent)
    if match is None:
        return None
    parsed = SpanContext(int(match[1], 16), int(match[2], 16), True, TraceFlags(int(match[3], 16)))
    return parsed if parsed.is_valid else None


class attached:  # noqa: N801 - used as a verb
    """``with attached(traceparent):`` go on inside with the context of a ``traceparent``, without a span of its own."""

    __slots__ = ("_context", "_token")

    def __init__(self, traceparent: str | None) -> None:
        self._context = extracted(traceparent)

    def __enter__(self) -> Self:
        self._token = otel_context.attach(self._context)
        return self

    def __exit__(self, *_: object) -> None:
        otel_context.detach(self._token)
