"""Metrics of every service: an instrument is named once, where it is measured, and sent by OTLP to a collector.

::

    TURNS = metrics.histogram("talkdown.turn.duration", "s", "From a question's acceptance to its end.")
    TURNS.record(1.2, {conventions.TURN_STATUS: "completed"})

Without a collector an instrument costs a look at one attribute. With one, a thread of its own sends what was measured
every few seconds, and a collector that is gone costs a warning, never a request. What is recorded inside a span carries
that span's trace as its exemplar, so that a slow value leads to the question it came from.

Attributes are few and bounded: statuses, stages, names of streams and models. Never content, an id, or a path.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from opentelemetry.util.types import AttributeValue

if TYPE_CHECKING:
    from opentelemetry.metrics import Meter
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import MetricReader
    from opentelemetry.sdk.resources import Resource

Attributes = Mapping[str, AttributeValue]

QUICK_S = (0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10)
"""Seconds, as the conventions advise for HTTP and messaging."""
MODEL_S = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92)
"""Seconds, as the conventions advise for generative AI."""
TOKENS = (1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864)
"""Tokens, as the conventions advise."""


class _Sink(Protocol):
    def __call__(self, amount: float, attributes: Attributes | None = None, /) -> None: ...


class Instrument(ABC):
    """What is measured under one name; ``unit`` is UCUM's."""

    __slots__ = ("boundaries", "description", "name", "sink", "unit")

    def __init__(self, name: str, unit: str, description: str, boundaries: Sequence[float] = ()) -> None:
        self.name, self.unit, self.description, self.boundaries = name, unit, description, tuple(boundaries)
        self.sink: _Sink | None = None

    @abstractmethod
    def bind(self, meter: Meter) -> None:
        """Measure into a provider."""


class Histogram(Instrument):
    """How values are distributed."""

    __slots__ = ()

    def bind(self, meter: Meter) -> None:
        """Measure into a provider."""
        self.sink = meter.create_histogram(
            self.name, self.unit, self.description, explicit_bucket_boundaries_advisory=self.boundaries
        ).record

    def record(self, value: float, attributes: Attributes | None = None) -> None:
        """Count one value, in the instrument's unit; one below zero, as two machines' clocks may give, as zero."""
        if self.sink is not None:
            self.sink(max(value, 0), attributes)


class Counter(Instrument):
    """How often something happened."""

    __slots__ = ()

    def bind(self, meter: Meter) -> None:
        """Measure into a provider."""
        self.sink = meter.create_counter(self.name, self.unit, self.description).add

    def add(self, amount: int, attributes: Attributes | None = None) -> None:
        """It happened so many times more."""
        if self.sink is not None:
            self.sink(amount, attributes)


class Level(Instrument):
    """How much there is of something that comes and goes, counted by its comings and goings."""

    __slots__ = ()

    def bind(self, meter: Meter) -> None:
        """Measure into a provider; it is nothing from the start, and not unknown."""
        self.sink = meter.create_up_down_counter(self.name, self.unit, self.description).add
        self.sink(0)

    def add(self, amount: int, attributes: Attributes | None = None) -> None:
        """So many more, or fewer."""
        if self.sink is not None:
            self.sink(amount, attributes)


class Gauge(Instrument):
    """The latest reading of something that is looked at now and then."""

    __slots__ = ()

    def bind(self, meter: Meter) -> None:
        """Measure into a provider."""
        self.sink = meter.create_gauge(self.name, self.unit, self.description).set

    def set(self, value: float, attributes: Attributes | None = None) -> None:
        """It is so much now."""
        if self.sink is not None:
            self.sink(value, attributes)


class _Now:
    """What measures; replaced by :func:`begin` and :func:`end`."""

    instruments: dict[str, Instrument] = {}  # noqa: RUF012 - it is the one registry
    provider: MeterProvider | None = None


I = TypeVar("I", bound=Instrument)  # noqa: E741 - an instrument


def histogram(name: str, unit: str, description: str, boundaries: Sequence[float] = QUICK_S) -> Histogram:
    """A histogram with buckets up to each of ``boundaries``."""
    return _registered(Histogram(name, unit, description, boundaries))


def counter(name: str, unit: str, description: str) -> Counter:
    """A count that only grows."""
    return _registered(Counter(name, unit, description))


def level(name: str, unit: str, description: str) -> Level:
    """A count that grows and shrinks."""
    return _registered(Level(name, unit, description))


def gauge(name: str, unit: str, description: str) -> Gauge:
    """A reading."""
    return _registered(Gauge(name, unit, description))


def _registered(instrument: I) -> I:
    if instrument.name in _Now.instruments:
        raise ValueError(f"there is a metric {instrument.name} already")
    _Now.instruments[instrument.name] = instrument
    if _Now.provider is not None:
        instrument.bind(_Now.provider.get_meter("talkdown"))
    return instrument


def instruments() -> Mapping[str, Instrument]:
    """Every instrument of the modules that were imported, by name."""
    return _Now.instruments


def measuring() -> bool:
    """Whether anybody hears what is measured: for what costs something to find out."""
    return _Now.provider is not None


def begin(resource: Resource, *readers: MetricReader) -> None:
    """Measure as ``resource`` into these readers, and no more into those before."""
    # It costs some 30 ms to import: only where somebody wants metrics.
    from opentelemetry.sdk.metrics import MeterProvider

    end()
    _Now.provider = provider = MeterProvider(readers, resource, shutdown_on_exit=False)
    meter = provider.get_meter("talkdown")
    for instrument in _Now.instruments.values():
        instrument.bind(meter)


def end() -> None:
    """Send what is left and measure no more."""
    provider, _Now.provider = _Now.provider, None
    for instrument in _Now.instruments.values():
        instrument.sink = None
    if provider is not None:
        provider.shutdown()


def reading(reader: Any) -> dict[str, list[Any]]:
    """What an in-memory reader has by now: the data points of each metric by its name."""
    data = reader.get_metrics_data()
    return {
        metric.name: list(metric.data.data_points)
        for of_resource in (data.resource_metrics if data else ())
        for of_scope in of_resource.scope_metrics
        for metric in of_scope.metrics
    }
