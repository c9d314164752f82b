"""A collector in this process: takes traces and metrics by OTLP over HTTP, and keeps what it is sent."""

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.metrics.v1.metrics_pb2 import Metric
from opentelemetry.proto.resource.v1.resource_pb2 import Resource


class Collector(ThreadingHTTPServer):
    """What arrived: the names of spans, the latest of each metric by its name, and the resources of both."""

    def __init__(self, *, takes_metrics: bool = True) -> None:
        super().__init__(("127.0.0.1", 0), _Take)
        self.spans: list[str] = []
        self.metrics: dict[str, Metric] = {}
        self.resources: list[dict[str, str]] = []
        self.takes_metrics = takes_metrics

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def take_traces(self, body: bytes) -> None:
        for of_resource in ExportTraceServiceRequest.FromString(body).resource_spans:
            self.resources.append(_attributes(of_resource.resource))
            for scope in of_resource.scope_spans:
                self.spans += [span.name for span in scope.spans]

    def take_metrics(self, body: bytes) -> None:
        for of_resource in ExportMetricsServiceRequest.FromString(body).resource_metrics:
            self.resources.append(_attributes(of_resource.resource))
            for scope in of_resource.scope_metrics:
                self.metrics |= {metric.name: metric for metric in scope.metrics}


def _attributes(resource: Resource) -> dict[str, str]:
    return {attribute.key: attribute.value.string_value for attribute in resource.attributes}


class _Take(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        collector = self.server
        assert isinstance(collector, Collector)
        body = self.rfile.read(int(self.headers["content-length"]))
        taken = True
        if self.path == "/v1/traces":
            collector.take_traces(body)
        elif self.path == "/v1/metrics" and collector.takes_metrics:
            collector.take_metrics(body)
        else:
            taken = False
        self.send_response(200 if taken else 404)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is the parent's
        pass


@contextmanager
def collecting(*, takes_metrics: bool = True) -> Generator[Collector]:
    """A collector that serves while the block runs."""
    with Collector(takes_metrics=takes_metrics) as collector:
        serving = threading.Thread(target=collector.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        serving.start()
        try:
            yield collector
        finally:
            collector.shutdown()
            serving.join()
