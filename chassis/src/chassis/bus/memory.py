"""The bus in one process's memory, for tests and small tools: the same promises, but for outliving the process."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from chassis import conventions
from chassis.bus.errors import LetterNotFound
from chassis.bus.letters import letter_of
from chassis.bus.port import GaveUp, Handlers, Options
from chassis.bus.wire import Assembler, Delivery, Fields, delivery_of, fields_of, new_id, partition_of, split
from chassis.bus.worker import Worker
from chassis.telemetry import PRODUCER, span, traceparent_of
from contracts.corpus import DeadLetter, Replayed
from contracts.events import Event

log = logging.getLogger(__name__)

SYSTEM = "memory"


@dataclass(slots=True)
class _Entry:
    partition: int
    fields: Fields


@dataclass(slots=True)
class _Group:
    """Where a group is in a stream. ``owners`` are the consumers that have the partitions."""

    read: list[int]
    left: deque[Delivery] = field(default_factory=deque[Delivery])
    owners: list[_Consumer] = field(default_factory=list["_Consumer"])


class MemoryBus:
    """The bus over lists."""

    def __init__(self, options: Options | None = None) -> None:
        self.options = options or Options()
        self._streams: dict[str, list[list[_Entry]]] = {}
        self._groups: dict[tuple[str, str], _Group] = {}
        self._letters: dict[str, tuple[Fields, str]] = {}
        self._changed: set[asyncio.Event] = set()
        self._number = 0

    async def publish(self, *events: Event) -> None:
        """See :class:`chassis.bus.port.Bus`."""
        if not events:
            return
        stream = events[0].stream
        attributes: dict[str, str | int] = {
            conventions.MESSAGING_SYSTEM: SYSTEM,
            conventions.MESSAGING_OPERATION_NAME: conventions.SEND,
            conventions.MESSAGING_OPERATION_TYPE: conventions.SEND,
            conventions.MESSAGING_DESTINATION: stream,
            conventions.MESSAGING_BATCH_COUNT: len(events),
        }
        with span(f"{conventions.SEND} {stream}", attributes, kind=PRODUCER) as current:
            for event in events:
                fields = fields_of(event, traceparent_of(current))
                parts = split(fields, self.options.part_bytes, self.options.largest_bytes)
                self._append(event.stream, parts)

    async def consume(
        self, stream: str, group: str, handlers: Handlers, *, concurrency: int = 16, gave_up: GaveUp | None = None
    ) -> None:
        """See :class:`chassis.bus.port.Bus`."""
        consumer = _Consumer(self, stream, group, handlers, concurrency, gave_up)
        await consumer.run()

    async def lag(self, stream: str, group: str) -> int:
        """See :class:`chassis.bus.port.Bus`."""
        state = self.group(stream, group)
        unread = sum(len(entries) - read for entries, read in zip(self.entries(stream), state.read, strict=True))
        return unread + len(state.left) + sum(owner.held for owner in state.owners)

    async def dead_letters(self, limit: int = 100) -> tuple[DeadLetter, ...]:
        """See :class:`chassis.bus.port.Bus`."""
        newest = list(self._letters.items())[::-1][:limit]
        return tuple(letter_of(letter, fields) for letter, (fields, _) in newest)

    async def replay(self, letter: str) -> Replayed:
        """See :class:`chassis.bus.port.Bus`."""
        found = self._letters.pop(letter, None)
        if found is None:
            raise LetterNotFound(letter)
        dead, stream = found
        event_id = new_id()
        again = {name: dead[name] for name in (b"type", b"key", b"data", b"traceparent") if name in dead}
        self._append(stream, [again | {b"id": event_id.encode(), b"only": dead[b"group"]}])
        return Replayed(id=letter, event_id=event_id)

    def entries(self, stream: str) -> list[list[_Entry]]:
        """The partitions of a stream."""
        return self._streams.setdefault(stream, [[] for _ in range(self.options.partitions)])

    def group(self, stream: str, group: str) -> _Group:
        """A group's place in a stream; a new one begins at the start."""
        return self._groups.setdefault((stream, group), _Group([0] * self.options.partitions))

    def bury(self, stream: str, group: str, delivery: Delivery, reason: str) -> None:
        """Keep a dead letter."""
        self._number += 1
        fields = {
            b"stream": stream.encode(),
            b"group": group.encode(),
            b"type": delivery.type,
            b"id": delivery.id,
            b"key": delivery.key,
            b"attempts": str(delivery.attempts).encode(),
            b"reason": reason.encode(),
            b"died_at": datetime.now(UTC).isoformat().encode(),
            b"traceparent": delivery.traceparent,
            b"data": delivery.data,
        }
        self._letters[f"{self._number}-0"] = (fields, stream)
        while len(self._letters) > self.options.dead_kept:
            del self._letters[next(iter(self._letters))]

    def watch(self, changed: asyncio.Event) -> None:
        """Set an event whenever there is something new."""
        self._changed.add(changed)

    def unwatch(self, changed: asyncio.Event) -> None:
        """Set it no more."""
        self._changed.discard(changed)
        self.wake()

    def wake(self) -> None:
        """Let every consumer look again."""
        for changed in self._changed:
            changed.set()

    def _append(self, stream: str, parts: list[Fields]) -> None:
        partition = partition_of(parts[0][b"key"], self.options.partitions)
        self.entries(stream)[partition] += [_Entry(partition, part) for part in parts]
        self.wake()


class _Consumer:
    """One member of a group; the first member that is still there has all partitions."""

    def __init__(
        self, bus: MemoryBus, stream: str, group: str, handlers: Handlers, concurrency: int, gave_up: GaveUp | None
    ) -> None:
        self._bus, self._stream, self._name = bus, stream, group
        self._group = bus.group(stream, group)
        self._changed = asyncio.Event()
        self._held: dict[int, Delivery] = {}
        self._assembler = Assembler(bus.options.parts_within_s)
        self._pauses: set[asyncio.TimerHandle] = set()
        self._worker = Worker(
            SYSTEM, stream, group, handlers, self, bus.options, concurrency=concurrency, gave_up=gave_up
        )

    @property
    def held(self) -> int:
        return len(self._held)

    async def run(self) -> None:
        self._group.owners.append(self)
        self._bus.watch(self._changed)
        try:
            while True:
                self._changed.clear()
                if self._group.owners[0] is self:
                    for delivery in self._new():
                        self._held[id(delivery)] = delivery
                        self._worker.take(delivery)
                await self._changed.wait()
                await self._worker.room.wait()
        finally:
            try:
                await self._worker.stop(self._bus.options.grace_s)
            finally:
                self._leave()

    def _new(self) -> Iterator[Delivery]:
        while self._group.left:
            yield self._group.left.popleft()
        assembler = self._assembler
        for partition, entries in enumerate(self._bus.entries(self._stream)):
            while self._group.read[partition] < len(entries) and (self._worker.has_room or len(assembler)):
                at = self._group.read[partition]
                self._group.read[partition] += 1
                fields = entries[at].fields
                delivery = delivery_of(partition, b"%d-0" % at, fields)
                part = fields.get(b"part")
                whole = assembler.add(part, delivery) if part is not None else delivery
                if whole is not None:
                    yield whole

    async def ours(self, delivery: Delivery) -> bool:
        return True

    def dropped(self, delivery: Delivery) -> None:
        self.done(delivery)

    def done(self, delivery: Delivery) -> None:
        self._held.pop(id(delivery), None)
        self._changed.set()

    def again(self, delivery: Delivery, pause_s: float) -> None:
        def once_more() -> None:
            self._pauses.discard(timer)
            delivery.attempts += 1
            self._worker.take(delivery)

        timer = asyncio.get_running_loop().call_later(pause_s, once_more)
        self._pauses.add(timer)

    async def bury(self, delivery: Delivery, reason: str) -> None:
        self._bus.bury(self._stream, self._name, delivery, reason)
        self.done(delivery)

    def _leave(self) -> None:
        for timer in self._pauses:
            timer.cancel()
        self._group.left.extend(replace(delivery, attempts=delivery.attempts + 1) for delivery in self._held.values())
        self._group.owners.remove(self)
        self._bus.unwatch(self._changed)
