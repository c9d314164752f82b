"""What the bus promises, whatever carries it.

- An event is delivered at least once to every group that consumes its stream; a new group begins at the oldest one.
- Events with one key are handled one at a time, and in order when nothing fails; other keys run beside them.
- An event whose handler fails is tried again with growing pauses; after ``attempts``, or at once on ``Reject``, it
  becomes a dead letter with its reason, and the group goes on. The dead letter can be replayed, to that group alone.
- A slow handler keeps its event for as long as its process lives; what a process held that died, or that lost its
  connection for longer than ``lease_s``, is handled by another.
- What is unread or unfinished by any group is never removed.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from chassis.settings import ServiceSettings
from contracts.corpus import DeadLetter, Replayed
from contracts.events import Event

Handler = Callable[[Any], Awaitable[object]]
"""Takes an event of the type that it is registered for; must bear to be called twice with the same one."""

Handlers = Mapping[type[Event], Handler]
"""A handler for each type of event that a group takes; other types are passed over."""

GaveUp = Callable[[Event | None, str], Awaitable[object]]
"""Told just before an event becomes a dead letter: the event (nothing when it could not be read) and the reason."""


@dataclass(frozen=True, slots=True)
class Options:
    """How the bus behaves. Times are in seconds, sizes in bytes."""

    partitions: int = 8
    attempts: int = 5
    first_pause_s: float = 0.2
    pause_growth: float = 3.0
    longest_pause_s: float = 30.0
    lease_s: float = 3.0
    grace_s: float = 8.0
    keep_s: float = 60.0
    trim_every_s: float = 10.0
    part_bytes: int = 900_000
    largest_bytes: int = 256_000_000
    parts_within_s: float = 30.0
    publish_within_s: float = 5.0
    dead_kept: int = 1000

    @classmethod
    def of(cls, settings: ServiceSettings) -> Options:
        """What a service's settings say of the bus."""
        return cls(
            partitions=settings.bus_partitions,
            attempts=settings.bus_attempts,
            lease_s=settings.bus_lease_s,
            grace_s=settings.grace_s,
        )

    def pause_after(self, attempts: int) -> float:
        """How long to wait before the next attempt, after so many."""
        return min(self.first_pause_s * self.pause_growth ** (attempts - 1), self.longest_pause_s)


class Bus(Protocol):
    """Publishes events and hands them to handlers."""

    async def publish(self, *events: Event) -> None:
        """Put events on their streams, in order, in one round trip; when it returns they will be delivered."""
        ...

    async def consume(
        self, stream: str, group: str, handlers: Handlers, *, concurrency: int = 16, gave_up: GaveUp | None = None
    ) -> None:
        """Handle a stream's events as a member of ``group``, at most ``concurrency`` at once, until cancelled.

        When it is cancelled it takes nothing new, and running handlers have ``grace_s`` before they are cancelled too.
        """
        ...

    async def lag(self, stream: str, group: str) -> int:
        """How many of a stream's events a group has not handled yet; it costs some round trips."""
        ...

    async def dead_letters(self, limit: int = 100) -> tuple[DeadLetter, ...]:
        """The dead letters, newest first."""
        ...

    async def replay(self, letter: str) -> Replayed:
        """Give a dead letter's event once more, under a new id, to the group that failed on it; the letter is gone."""
        ...
