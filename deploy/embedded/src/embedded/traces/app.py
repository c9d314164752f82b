"""The supervisor's own small server on the loopback: OTLP in, the trace page out, and the state of the services."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from importlib.resources import files
from typing import Any, TypedDict

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from embedded.traces.cause import cause_of
from embedded.traces.page import latest_page, missing_page, trace_page, trace_text
from embedded.traces.receiver import receive
from embedded.traces.store import Span, Trace, TraceStore
from embedded.traces.summary import sentence

SECURITY_HEADERS = {
    "content-security-policy": "default-src 'none'; style-src 'self'; img-src data:; base-uri 'none';"
    " form-action 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
CSS = files("embedded.traces").joinpath("traces.css").read_text(encoding="utf-8")

GONE = "This trace is not here: it may still be under way, or be gone."

Services = Callable[[], list[dict[str, Any]]]


class State(TypedDict):
    """What the handlers need."""

    traces: TraceStore
    services: Services


def app(traces: TraceStore, services: Services) -> Starlette:
    """The application; ``services`` gives the state of each child as :class:`contracts.corpus.ServiceState`."""

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncGenerator[State]:
        yield {"traces": traces, "services": services}

    return Starlette(
        routes=[
            Route("/v1/traces", receive, methods=["POST"]),
            Route("/trace/{trace_id}.txt", one_text),
            Route("/trace/{trace_id}", one_page),
            Route("/api/traces/{trace_id}", one_json),
            Route("/api/traces", latest_json),
            Route("/services", states),
            Route("/traces.css", css),
            Route("/", latest),
        ],
        # A name that an attacker owns may point at the loopback; only ours are served.
        middleware=[Middleware(TrustedHostMiddleware, allowed_hosts=["127.0.0.1", "localhost"])],
        lifespan=lifespan,
    )


async def one_page(request: Request) -> Response:
    """``GET /trace/{trace_id}``: the waterfall; 404 with a page that asks again while it is not here."""
    trace = _traces(request).get(str(request.path_params["trace_id"]).lower())
    if trace is None:
        return HTMLResponse(missing_page(str(request.path_params["trace_id"])), 404, SECURITY_HEADERS)
    return HTMLResponse(trace_page(trace, _traces(request).get), headers=SECURITY_HEADERS)


async def one_text(request: Request) -> Response:
    """``GET /trace/{trace_id}.txt``: the slowest step in a sentence and every step in a line, for a terminal."""
    trace = _traces(request).get(str(request.path_params["trace_id"]).lower())
    if trace is None:
        return PlainTextResponse(f"{GONE}\n", 404, SECURITY_HEADERS)
    return PlainTextResponse(trace_text(trace), headers=SECURITY_HEADERS)


async def one_json(request: Request) -> Response:
    """``GET /api/traces/{trace_id}``: the spans, parents before children."""
    trace = _traces(request).get(str(request.path_params["trace_id"]).lower())
    if trace is None:
        refusal = {"code": "not_found", "message": GONE}
        return JSONResponse(refusal, 404, SECURITY_HEADERS)
    cause = cause_of(trace)
    said = {
        **_summary(trace),
        "cause": sentence(trace, cause),
        "spans": [{**_span_json(span), "waited_for_ms": cause.own_ms(span)} for span, _ in trace.rows()],
    }
    return JSONResponse(said, headers=SECURITY_HEADERS)


async def latest_json(request: Request) -> Response:
    """``GET /api/traces``: the latest traces, newest first."""
    return JSONResponse({"traces": [_summary(trace) for trace in _traces(request).latest()]}, headers=SECURITY_HEADERS)


async def latest(request: Request) -> Response:
    """``GET /``: the latest traces as a page; ``/?all`` also those that only read."""
    reads = "all" in request.query_params
    return HTMLResponse(latest_page(_traces(request).latest(reads=reads), reads=reads), headers=SECURITY_HEADERS)


async def states(request: Request) -> Response:
    """``GET /services``: what the supervisor knows of its children."""
    services: Services = request.state.services
    return JSONResponse({"services": services()}, headers=SECURITY_HEADERS)


async def css(_: Request) -> Response:
    """``GET /traces.css``."""
    return Response(CSS, media_type="text/css", headers={**SECURITY_HEADERS, "cache-control": "max-age=3600"})


def _traces(request: Request) -> TraceStore:
    traces: TraceStore = request.state.traces
    return traces


def _summary(trace: Trace) -> dict[str, Any]:
    return {
        "trace_id": trace.trace_id,
        "name": trace.name,
        "services": trace.services,
        "start": trace.start,
        "milliseconds": trace.milliseconds,
        "span_count": len(trace.spans),
        "left_out": trace.left_out,
    }


def _span_json(span: Span) -> dict[str, Any]:
    return {
        "span_id": span.span_id,
        "parent_id": span.parent_id,
        "name": span.name,
        "kind": span.kind,
        "service": span.service,
        "start": span.start,
        "end": span.end,
        "attributes": span.attributes,
        "events": [{"name": event.name, "at": event.at, "attributes": event.attributes} for event in span.events],
        "links": list(span.links),
        "error": span.error,
    }
