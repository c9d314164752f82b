"""OTLP over HTTP with protobuf bodies: https://opentelemetry.io/docs/specs/otlp/#otlphttp."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterable, Iterator

from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span as WireSpan
from opentelemetry.proto.trace.v1.trace_pb2 import Status
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from embedded.traces.store import Attributes, Event, Span, TraceStore

MAX_BODY_BYTES = 16 * 1024 * 1024
MAX_VALUE_LENGTH = 4000
"""Characters of one attribute's value that are kept."""


class BadExport(ValueError):
    """The body is no export of traces."""


async def receive(request: Request) -> Response:
    """``POST /v1/traces``: keep the spans of an export; 415, 413 and 400 say what was wrong with it."""
    if request.headers.get("content-type", "").partition(";")[0] != "application/x-protobuf":
        return PlainTextResponse("send application/x-protobuf", 415)
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if len(body) > MAX_BODY_BYTES:
            return PlainTextResponse(f"an export may have {MAX_BODY_BYTES} bytes", 413)
    store: TraceStore = request.state.traces
    try:
        store.add(spans_of(bytes(body), request.headers.get("content-encoding", "")))
    except BadExport as error:
        return PlainTextResponse(str(error), 400)
    return Response(ExportTraceServiceResponse().SerializeToString(), media_type="application/x-protobuf")


def spans_of(body: bytes, encoding: str = "") -> list[Span]:
    """The spans of an export's body; :class:`BadExport` when it is none."""
    try:
        if encoding == "gzip":
            unpacker = zlib.decompressobj(16 + zlib.MAX_WBITS)
            body = unpacker.decompress(body, MAX_BODY_BYTES)
            if unpacker.unconsumed_tail:
                raise BadExport(f"an export may have {MAX_BODY_BYTES} bytes once unpacked")
        export = ExportTraceServiceRequest.FromString(body)
    except (DecodeError, zlib.error, gzip.BadGzipFile) as error:
        raise BadExport("the body is no ExportTraceServiceRequest") from error
    return list(_spans(export))


def _spans(export: ExportTraceServiceRequest) -> Iterator[Span]:
    for of_resource in export.resource_spans:
        service = str(_attributes(of_resource.resource.attributes).get("service.name", "unknown"))
        for of_scope in of_resource.scope_spans:
            for span in of_scope.spans:
                if len(span.trace_id) == 16 and len(span.span_id) == 8:
                    yield _span(span, service)


def _span(span: WireSpan, service: str) -> Span:
    failed = span.status.code == Status.STATUS_CODE_ERROR
    return Span(
        trace_id=span.trace_id.hex(),
        span_id=span.span_id.hex(),
        parent_id=span.parent_span_id.hex() or None,
        name=span.name,
        kind=WireSpan.SpanKind.Name(span.kind).removeprefix("SPAN_KIND_").lower(),
        service=service,
        start=span.start_time_unix_nano,
        end=span.end_time_unix_nano,
        attributes=_attributes(span.attributes),
        events=tuple(Event(event.name, event.time_unix_nano, _attributes(event.attributes)) for event in span.events),
        links=tuple(dict.fromkeys(link.trace_id.hex() for link in span.links)),
        error=(span.status.message or "error") if failed else None,
        size=span.ByteSize() + 400,  # what the objects around the bytes take, roughly
    )


def _attributes(pairs: Iterable[KeyValue]) -> Attributes:
    return {pair.key: _value(pair.value) for pair in pairs}


def _value(value: AnyValue) -> object:
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [_value(item) for item in value.array_value.values]
    if kind == "kvlist_value":
        return _attributes(value.kvlist_value.values)
    if kind == "bytes_value":
        return value.bytes_value.hex()[:MAX_VALUE_LENGTH]
    if kind == "string_value":
        return value.string_value[:MAX_VALUE_LENGTH]
    return getattr(value, kind) if kind else None
