"""Sending metrics to an OTLP collector: imported only where one is named, since the SDK's metrics cost time to load."""

from __future__ import annotations

from opentelemetry.sdk.metrics.export import (
    MetricExporter,
    MetricExportResult,
    MetricReader,
    MetricsData,
    PeriodicExportingMetricReader,
)

from chassis.exporting import TIMEOUT_S, Patience, address, hush


def metric_reader(endpoint: str, interval_s: float) -> MetricReader:
    """Send what was measured every so many seconds, from a thread of its own, and a last time when it is shut down."""
    return PeriodicExportingMetricReader(PatientMetricExporter(endpoint), interval_s * 1000)


class PatientMetricExporter(MetricExporter):
    """Sends metrics by OTLP over HTTP in protobuf; what fails to be sent stands in the next sending's sums."""

    def __init__(self, endpoint: str) -> None:
        super().__init__()
        self._endpoint = address(endpoint, "/v1/metrics")
        self._sender: MetricExporter | None = None
        self._patience = Patience("metrics", self._endpoint)

    def export(self, metrics_data: MetricsData, timeout_millis: float = 10_000, **kwargs: object) -> MetricExportResult:
        """Send all sums as they stand."""
        return self._patience.send(
            lambda: (self._sender or self._connect()).export(metrics_data), MetricExportResult.FAILURE
        )

    def force_flush(self, timeout_millis: float = 10_000) -> bool:
        """Nothing is kept here."""
        return True

    def shutdown(self, timeout_millis: float = 30_000, **kwargs: object) -> None:
        """Close the connection."""
        if self._sender is not None:
            self._sender.shutdown()

    def _connect(self) -> MetricExporter:
        from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter

        hush()
        self._sender = OTLPMetricExporter(endpoint=self._endpoint, timeout=TIMEOUT_S)
        return self._sender
