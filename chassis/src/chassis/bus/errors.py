"""What goes wrong on the bus.

::

    BusError
    ├── BusUnavailable   the server did not answer for a while
    ├── EventTooLarge    an event is larger than the bus carries
    └── LetterNotFound   a dead letter is not there (any more)
    Reject               raised by a handler: dead-letter this event now; anything else that it raises means "try again"
"""

from __future__ import annotations

from chassis.plain import Plain


class BusError(Plain):
    """The bus could not do what it was asked."""


class BusUnavailable(BusError):
    """The bus does not answer; try again in a moment."""


class EventTooLarge(BusError):
    """The event is larger than the bus carries."""


class LetterNotFound(BusError):
    """There is no such dead letter; it may have been replayed already."""

    def __init__(self, letter: str) -> None:
        super().__init__(f"There is no dead letter {letter}; it may have been replayed already.")


class Reject(Exception):
    """Raised by a handler: this event can never be handled; its message is the dead letter's reason."""
