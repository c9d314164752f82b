"""Sending spans to an OTLP collector that may be slow, late, or gone.

The exporter's own packages cost a third of a second to import, so they are loaded in the thread that sends the first
batch, after the service has started.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence

from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

log = logging.getLogger(__name__)

TIMEOUT_S = 2.0
PAUSE_S = 2.0
"""How long nothing is sent after a failure: what ends meanwhile is dropped."""


class PatientExporter(SpanExporter):
    """Sends spans by OTLP over HTTP in protobuf, and says once when the collector goes and once when it is back."""

    def __init__(self, endpoint: str) -> None:
        self._endpoint = endpoint.rstrip("/").removesuffix("/v1/traces") + "/v1/traces"
        self._sender: SpanExporter | None = None
        self._gone_since: float | None = None

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Send a batch; a failure drops it."""
        if self._gone_since is not None and time.monotonic() - self._gone_since < PAUSE_S:
            return SpanExportResult.FAILURE
        sender = self._sender or self._connect()
        try:
            result = sender.export(spans)
        except Exception as error:  # a collector that answers nonsense must not end the thread that sends
            log.debug("the exporter failed", extra={"error": type(error).__name__})
            result = SpanExportResult.FAILURE
        self._tell(result is SpanExportResult.SUCCESS)
        return result

    def shutdown(self) -> None:
        """Close the connection."""
        if self._sender is not None:
            self._sender.shutdown()

    def force_flush(self, timeout_millis: int = 30000) -> bool:
        """Nothing is kept here."""
        return True

    def _connect(self) -> SpanExporter:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

        logging.getLogger("opentelemetry.exporter").setLevel(logging.CRITICAL)
        logging.getLogger("urllib3").setLevel(logging.CRITICAL)
        self._sender = OTLPSpanExporter(endpoint=self._endpoint, timeout=TIMEOUT_S)
        return self._sender

    def _tell(self, sent: bool) -> None:
        if sent:
            if self._gone_since is not None:
                log.info("the trace collector answers again", extra={"endpoint": self._endpoint})
            self._gone_since = None
            return
        if self._gone_since is None:
            log.warning(
                "the trace collector does not answer; traces are dropped until it does",
                extra={"endpoint": self._endpoint},
            )
        self._gone_since = time.monotonic()
