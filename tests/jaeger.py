"""Jaeger, run on this machine, and asked by its query API: https://www.jaegertracing.io/docs/latest/architecture/apis/."""

from __future__ import annotations

import http.client
import json
import os
import socket
import subprocess
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from signal import SIGTERM
from typing import Any
from urllib.parse import urlsplit

from jaeger_program import program

from embedded.launch import ends_with_parent, last_words, stop

LOOPBACK = "127.0.0.1"
START_S = 60.0
JAEGER = """
service:
  extensions: [jaeger_storage, jaeger_query]
  telemetry: {{metrics: {{level: none}}}}
  pipelines:
    traces: {{receivers: [otlp], exporters: [jaeger_storage_exporter]}}
extensions:
  jaeger_storage: {{backends: {{memory: {{memory: {{max_traces: 1000}}}}}}}}
  jaeger_query:
    storage: {{traces: memory}}
    http: {{endpoint: "127.0.0.1:{query}"}}
    grpc: {{endpoint: "127.0.0.1:{grpc}"}}
receivers:
  otlp: {{protocols: {{http: {{endpoint: "127.0.0.1:{otlp}"}}}}}}
exporters:
  jaeger_storage_exporter: {{trace_storage: memory}}
"""


@dataclass(frozen=True)
class Span:
    """A span as the query API gives it; times in seconds."""

    span_id: str
    parent_id: str | None
    name: str
    service: str
    instance: str
    start: float
    seconds: float
    attributes: Mapping[str, Any]
    events: tuple[str, ...]
    links: frozenset[str]


@dataclass(frozen=True)
class JaegerTrace:
    """A trace as the query API gives it."""

    trace_id: str
    spans: tuple[Span, ...]

    @property
    def services(self) -> frozenset[str]:
        """The services that it goes through."""
        return frozenset(span.service for span in self.spans)

    @property
    def roots(self) -> list[str]:
        """The names of the spans that hang below no other span of the trace."""
        ids = {span.span_id for span in self.spans}
        return sorted(span.name for span in self.spans if span.parent_id not in ids)

    def with_attribute(self, name: str) -> tuple[Span, ...]:
        """The spans that have it."""
        return tuple(span for span in self.spans if name in span.attributes)


@dataclass(frozen=True)
class Jaeger:
    """A Jaeger that runs somewhere, by the address of its page and query API."""

    url: str

    def ask(self, path: str) -> tuple[int, Any]:
        """``GET`` of the query API: the status, and the body read as JSON, or as text where it is none."""
        status, body = get(self.url + path)
        try:
            return status, json.loads(body)
        except ValueError:
            return status, body.decode(errors="replace")

    def trace(self, trace_id: str) -> JaegerTrace | None:
        """A trace as far as it has arrived."""
        status, said = self.ask(f"/api/traces/{trace_id}")
        if status != 200 or not said["data"]:
            return None
        (trace,) = said["data"]
        return JaegerTrace(trace_id, tuple(_span(span, trace["processes"]) for span in trace["spans"]))

    def find(self, service: str, operation: str) -> list[str]:
        """The ids of the latest traces with such an operation of a service."""
        _, said = self.ask(f"/api/traces?service={service}&operation={operation.replace(' ', '%20')}&limit=20")
        return [trace["traceID"] for trace in said["data"] or ()]


def _span(span: dict[str, Any], processes: dict[str, Any]) -> Span:
    references: list[dict[str, str]] = span["references"]
    parents = [
        one["spanID"] for one in references if one["refType"] == "CHILD_OF" and one["traceID"] == span["traceID"]
    ]
    process = processes[span["processID"]]
    return Span(
        span_id=span["spanID"],
        parent_id=parents[0] if parents else None,
        name=span["operationName"],
        service=process["serviceName"],
        instance=next(tag["value"] for tag in process["tags"] if tag["key"] == "service.instance.id"),
        start=span["startTime"] / 1e6,
        seconds=span["duration"] / 1e6,
        attributes={tag["key"]: tag["value"] for tag in span["tags"]},
        events=tuple(field["value"] for log in span["logs"] for field in log["fields"] if field["key"] == "event"),
        links=frozenset(one["traceID"] for one in references if one["traceID"] != span["traceID"]),
    )


@contextmanager
def running_jaeger(folder: Path) -> Generator[tuple[Jaeger, str]]:
    """A Jaeger of one's own in memory, and the address where it takes traces by OTLP over HTTP."""
    query, grpc, otlp = free_ports(3)
    config = folder / "jaeger.yaml"
    config.write_text(JAEGER.format(query=query, grpc=grpc, otlp=otlp))
    with started(config, {}, folder / "jaeger.log", lambda: get(f"http://{LOOPBACK}:{query}/api/services")[0] == 200):
        yield Jaeger(f"http://{LOOPBACK}:{query}"), f"http://{LOOPBACK}:{otlp}"


@contextmanager
def started(config: Path, environment: Mapping[str, str], log: Path, ready: Callable[[], bool]) -> Generator[None]:
    """Jaeger's program with a configuration, as which it is Jaeger, or a collector."""
    with log.open("ab") as written:
        process = subprocess.Popen(
            [str(program()), "--config", str(config)],
            env={**os.environ, **environment},
            stdin=subprocess.DEVNULL,
            stdout=written,
            stderr=written,
            start_new_session=True,
            preexec_fn=ends_with_parent(SIGTERM),
        )
    try:
        last = time.monotonic() + START_S
        while not ready():
            assert process.poll() is None, f"it ended as it started: {last_words(log)}"
            assert time.monotonic() < last, f"it is not ready: {last_words(log)}"
            time.sleep(0.05)
        yield
    finally:
        stop(process)


def get(url: str, headers: Mapping[str, str] | None = None) -> tuple[int, bytes]:
    """``GET``; the status 0 where nobody answers."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or LOOPBACK, parts.port, timeout=10)
    try:
        connection.request("GET", f"{parts.path or '/'}?{parts.query}", headers=dict(headers or {}))
        answer = connection.getresponse()
        return answer.status, answer.read()
    except OSError:
        return 0, b""
    finally:
        connection.close()


def free_ports(count: int) -> list[int]:
    """Ports that were free a moment ago."""
    with ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind((LOOPBACK, 0))
        return [one.getsockname()[1] for one in sockets]
