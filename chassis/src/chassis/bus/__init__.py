"""The bus: facts and requests that must not be lost, over memory, Redis or Kafka."""

from chassis.bus.errors import BusError, BusUnavailable, EventTooLarge, LetterNotFound, Reject
from chassis.bus.opening import open_bus
from chassis.bus.port import Bus, GaveUp, Handler, Handlers, Options

__all__ = [
    "Bus",
    "BusError",
    "BusUnavailable",
    "EventTooLarge",
    "GaveUp",
    "Handler",
    "Handlers",
    "LetterNotFound",
    "Options",
    "Reject",
    "open_bus",
]
