"""The calls that were opened, and what happened in them, added to the traces they belong to.

A call is known by the id of its session from the moment its credential is minted until an hour after its last use, and
at most so many are remembered. What happened in a turn of the call continues that turn's trace; what belongs to no
known turn stands in the trace of whoever reports it, or else of the call.
"""

from __future__ import annotations

import datetime as dt
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from uuid import UUID

from chassis import conventions, telemetry
from contracts.voice import TimelineEvent
from voice_gateway.errors import BadRequest, CallUnknown

CALL_ID = "talkdown.call.id"
LIFETIME_S = 3600.0
MAX_CALLS = 2000
MAX_TURNS = 200
EVENTS_A_SPAN = 100
"""A span keeps 128 events by the SDK's default; more would be dropped without a word."""
MAX_NAME_LENGTH = 100
MAX_DISTANCE = dt.timedelta(days=1)


@dataclass(slots=True)
class _Call:
    chat_id: UUID
    traceparent: str | None
    used_at: float
    turns: OrderedDict[UUID, str] = field(default_factory=OrderedDict[UUID, str])


class Calls:
    """The calls of this process."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._calls: OrderedDict[str, _Call] = OrderedDict()

    def open(self, call_id: str, chat_id: UUID, traceparent: str | None) -> None:
        """Remember a call; the one longest unused is forgotten for it when there are too many."""
        self._calls[call_id] = _Call(chat_id, traceparent, self._clock())
        while len(self._calls) > MAX_CALLS:
            self._calls.popitem(last=False)

    def connected(self, call_id: str) -> None:
        """A connection was opened for the call; a call that was forgotten meanwhile stays so."""
        call = self._calls.get(call_id)
        if call is not None:
            self._use(call_id, call)

    def turn(self, call_id: str, turn_id: UUID, traceparent: str) -> None:
        """Remember in which span a turn of the call was asked."""
        call = self._calls.get(call_id)
        if call is None:
            return
        self._use(call_id, call)
        call.turns[turn_id] = traceparent
        while len(call.turns) > MAX_TURNS:
            call.turns.popitem(last=False)

    def record(self, call_id: str, events: Iterable[TimelineEvent], reported_in: str | None) -> None:
        """Add ``events`` to their traces; :class:`CallUnknown` for a call that was never opened, or long ago."""
        call = self._calls.get(call_id)
        if call is None or self._clock() - call.used_at > LIFETIME_S:
            self._calls.pop(call_id, None)
            raise CallUnknown
        self._use(call_id, call)
        told = sorted(events, key=lambda event: (str(event.turn_id), event.at))
        now = dt.datetime.now(dt.UTC)
        for event in told:
            _refuse_odd(event, now)
        for turn_id, of_turn in groupby(told, key=lambda event: event.turn_id):
            parent = call.turns.get(turn_id) if turn_id else None
            _tell(call_id, turn_id, list(of_turn), parent or reported_in or call.traceparent)

    def _use(self, call_id: str, call: _Call) -> None:
        call.used_at = self._clock()
        self._calls.move_to_end(call_id)


def _refuse_odd(event: TimelineEvent, now: dt.datetime) -> None:
    if not 0 < len(event.name) <= MAX_NAME_LENGTH:
        raise BadRequest(f"The name of an event has 1 to {MAX_NAME_LENGTH} characters.")
    if abs(event.at - now) > MAX_DISTANCE:
        raise BadRequest("An event of a call happened within a day of now; is the clock right?")


def _tell(call_id: str, turn_id: UUID | None, events: Sequence[TimelineEvent], parent: str | None) -> None:
    attributes = {CALL_ID: call_id, **({conventions.TURN_ID: str(turn_id)} if turn_id else {})}
    for first in range(0, len(events), EVENTS_A_SPAN):
        with telemetry.span("voice timeline", attributes, parent=parent or "") as current:
            for event in events[first : first + EVENTS_A_SPAN]:
                current.add_event(event.name, timestamp=int(event.at.timestamp() * 1_000_000_000))
