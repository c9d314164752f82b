"""Sending spans to an OTLP collector that may be slow, late, or gone; metrics do so by :mod:`chassis.metric_export`.

The exporters' own packages cost a third of a second to import, so they are loaded in the thread that sends the first
batch, after the service has started.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from enum import Enum
from typing import TypeVar

from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

log = logging.getLogger(__name__)

TIMEOUT_S = 2.0
PAUSE_S = 2.0
"""How long nothing is sent after a failure: what ends meanwhile is dropped."""

R = TypeVar("R", bound=Enum)


class Patience:
    """How it stands with a collector: told once when it takes nothing, and once when it takes ``what`` again."""

    def __init__(self, what: str, endpoint: str) -> None:
        self._what, self._endpoint = what, endpoint
        self._gone_since: float | None = None

    def send(self, export: Callable[[], R], failure: R) -> R:
        """Try it, unless it failed a moment ago; a failure drops what was to be sent."""
        if self._gone_since is not None and time.monotonic() - self._gone_since < PAUSE_S:
            return failure
        try:
            result = export()
        except Exception as error:  # a collector that answers nonsense must not end the thread that sends
            log.debug("the exporter failed", extra={"error": type(error).__name__})
            result = failure
        self._tell(result is not failure)
        return result

    def _tell(self, sent: bool) -> None:
        told = {"endpoint": self._endpoint}
        if sent:
            if self._gone_since is not None:
                log.info("the collector takes %s again", self._what, extra=told)
            self._gone_since = None
            return
        if self._gone_since is None:
            log.warning("the collector takes no %s; they are dropped until it does", self._what, extra=told)
        self._gone_since = time.monotonic()


class PatientExporter(SpanExporter):
    """Sends spans by OTLP over HTTP in protobuf, and says once when the collector goes and once when it is back."""

    def __init__(self, endpoint: str) -> None:
        self._endpoint = address(endpoint, "/v1/traces")
        self._sender: SpanExporter | None = None
        self._patience = Patience("traces", self._endpoint)

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Send a batch; a failure drops it."""
        return self._patience.send(lambda: (self._sender or self._connect()).export(spans), SpanExportResult.FAILURE)

    def shutdown(self) -> None:
        """Close the connection."""
        if self._sender is not None:
            self._sender.shutdown()

    def force_flush(self, timeout_millis: int = 30000) -> bool:
        """Nothing is kept here."""
        return True

    def _connect(self) -> SpanExporter:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

        hush()
        self._sender = OTLPSpanExporter(endpoint=self._endpoint, timeout=TIMEOUT_S)
        return self._sender


def address(endpoint: str, path: str) -> str:
    """Where a signal is sent: the collector's base address with the signal's path, which may stand in it already."""
    return endpoint.rstrip("/").removesuffix(path) + path


def hush() -> None:
    """What the exporters say of a collector is said by :class:`Patience`, once."""
    logging.getLogger("opentelemetry.exporter").setLevel(logging.CRITICAL)
    logging.getLogger("urllib3").setLevel(logging.CRITICAL)
