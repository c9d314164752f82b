"""The partitions of one member of a Kafka consumer group: prepared, committed, and given up when another is owed them.

::

    assigned --> prepare: read the note, write our own, seek --> ours --> commit now and then, which is also the beat
                                                                  |       that says that they are still ours
                     joins again without it, nothing in hand <----+ surplus: another member is owed it

A member whose session may have ended (its process or the broker stood still) begins nothing until a commit, which only
a partition's owner may do, has said what is still its own. One that was late itself does not take at once what another
had: perhaps both stood still, and the other will claim it in a moment. What remains is a handler that was running when
its process stood still for longer than the session: it may overlap with its successor.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from aiokafka import ConsumerRebalanceListener, TopicPartition
from aiokafka.errors import CommitFailedError, IllegalStateError, KafkaError

from chassis.bus.kafka_cluster import Cluster
from chassis.bus.kafka_progress import Note, Progress
from chassis.bus.kafka_sharing import Sharing
from chassis.bus.wire import Delivery

log = logging.getLogger(__name__)

COMMIT_EVERY_S = 0.2
LEAVE_AGAIN_S = 0.05
EXCUSED_SESSIONS = 2
"""So long the one who had a partition has time to claim it again, where the next one was late itself."""


class KafkaPartitions(ConsumerRebalanceListener):
    """Knows which partitions are ours and how far we are in each; ``lost`` and ``take`` tell the consumer."""

    def __init__(
        self,
        cluster: Cluster,
        stream: str,
        group: str,
        member: str,
        *,
        lost: Callable[[int], None],
        take: Callable[[Delivery], None],
    ) -> None:
        self.consumer: Any = None
        self.progress: dict[int, Progress] = {}
        self.sharing = Sharing(cluster.names.topic(stream), lambda: self.progress.keys() | self._preparing)
        self._cluster = cluster
        self._stream, self._group, self._member = stream, group, member
        self._lost, self._take = lost, take
        self._assigned: frozenset[int] = frozenset()
        self._preparing: frozenset[int] = frozenset()
        self._surplus: set[int] = set()
        self._surplus_since = 0.0
        self._excused: dict[int, float] = {}
        self._late = False
        self._sure_until = 0.0
        self._awake_until = 0.0
        self._beat_at = 0.0
        self._wanted = asyncio.Event()
        self._changed = asyncio.Event()
        self._closed = False

    async def hold(self, partition: int) -> bool:
        """Whether a partition is still ours; waits for a commit where the session may have ended."""
        progress = self.progress.get(partition)
        while progress is not None and progress is self.progress.get(partition) and not self._closed:
            if asyncio.get_running_loop().time() < self._sure_until:
                return True
            await self._changed.wait()
        return False

    def settle(self, delivery: Delivery) -> None:
        """Let the offsets of an event be committed."""
        progress = self.progress.get(delivery.partition)
        if progress is not None:
            progress.settle(delivery.places)
            if progress.alone is delivery:
                progress.alone = None
                self._wanted.set()

    def hand_in(self, delivery: Delivery) -> None:
        """Give an event to the worker, at once or when its turn comes to be taken up alone."""
        progress = self.progress[delivery.partition]
        if progress.suspects and progress.waits(delivery):
            self._wanted.set()
        else:
            self._take(delivery)

    def begin_anew(self, partition: int, offset: int) -> Progress:
        """Forget a partition's progress, because its topic was made anew."""
        self._drop(partition)
        self.progress[partition] = Progress(offset, Note(), self._member)
        return self.progress[partition]

    def close(self) -> None:
        """Let nobody wait for a commit any more: nothing new is begun."""
        self._closed = True
        self._changed.set()

    async def keep(self) -> None:
        """Prepare, commit and give up, until cancelled."""
        while True:
            try:
                async with asyncio.timeout(COMMIT_EVERY_S):
                    await self._wanted.wait()
            except TimeoutError:
                pass
            self._wanted.clear()
            if self.consumer is None:
                continue
            try:
                await self._prepare(self.consumer)
                await self._commit(self.consumer)
                await self._give_up_surplus(self.consumer)
            except KafkaError as error:
                log.warning("offsets wait for Kafka", extra={"group": self._group, "error": type(error).__name__})

    async def leave(self) -> None:
        """Commit what is settled, in good order; again and again while the group changes and takes no commit."""
        while self.consumer is not None and self.progress:
            marks = {partition: progress.mark(leaving=True) for partition, progress in self.progress.items()}
            try:
                if await self._send(self.consumer, marks):
                    return
            except KafkaError as error:
                log.info("the last offsets wait for Kafka", extra={"error": type(error).__name__})
            await asyncio.sleep(LEAVE_AGAIN_S)

    async def on_partitions_revoked(  # pyright: ignore[reportIncompatibleMethodOverride] - the base has no types
        self, revoked: Iterable[TopicPartition]
    ) -> None:
        """Keep everything: the group leaves a member what it claims."""

    async def on_partitions_assigned(  # pyright: ignore[reportIncompatibleMethodOverride] - the base has no types
        self, assigned: Iterable[TopicPartition]
    ) -> None:
        """Let go of what is another's, and go on where we were in the rest; without a wait, so that nothing is read."""
        now = asyncio.get_running_loop().time()
        self._late = self._late or 0 < self._sure_until <= now
        self._sure_until = min(self._sure_until, now)  # until the next commit
        self._beat_at = 0.0
        self._assigned = frozenset(place.partition for place in assigned)
        for partition in self.progress.keys() - self._assigned:
            self._drop(partition)
        for partition, progress in self.progress.items():
            self.consumer.seek(self._place(partition), progress.next)
        busy_first = sorted(self._assigned, key=lambda p: (p not in self.progress or self.progress[p].drained, p))
        self._surplus = set(busy_first[self.sharing.fair :])
        self._surplus_since = now
        self._read_surplus(self.consumer, reading=False)
        self._excused = {partition: until for partition, until in self._excused.items() if partition in self._assigned}
        self._wanted.set()

    async def _prepare(self, consumer: Any) -> None:
        """Take over partitions that are new here; where we were late, look whether the others are still ours."""
        assigned, now = self._assigned, asyncio.get_running_loop().time()
        late = self._late or 0 < self._awake_until <= now
        doubtful = self.progress.keys() & assigned if late else set[int]()
        fresh = {p for p in assigned - self.progress.keys() - self._surplus if late or self._excused.get(p, 0.0) <= now}
        if not fresh and not doubtful:
            return
        self._preparing = frozenset(fresh)
        try:
            notes = await self._cluster.notes(self._stream, self._group, fresh | doubtful)
            firsts = await self._cluster.first_offsets(self._stream, fresh - notes.keys())
            if assigned is not self._assigned:
                return
            for partition in doubtful:
                if partition not in notes or notes[partition][1].owner != self._member:
                    self._drop(partition)
                    self._wanted.set()
            ready: dict[int, Progress] = {}
            for partition in fresh:
                offset, note = notes.get(partition) or (firsts[partition], Note())
                if late and note.owner not in ("", self._member):
                    self._excused[partition] = now + EXCUSED_SESSIONS * self._cluster.session_s
                else:
                    ready[partition] = Progress(offset, note.seen_by(self._member, offset), self._member)
            self._preparing = frozenset(ready)
            self._late, self._awake_until = False, max(self._awake_until, now + self._cluster.session_s)
            marks = {partition: progress.mark() for partition, progress in ready.items()}
            if not await self._send(consumer, marks) or assigned is not self._assigned:
                return
            for partition, progress in ready.items():
                progress.written = marks[partition]
                self.progress[partition] = progress
                consumer.seek(self._place(partition), progress.next)
        finally:
            self._preparing = frozenset()

    async def _commit(self, consumer: Any) -> None:
        """Commit what changed, or everything when a beat is due; then let the next suspects begin."""
        now = asyncio.get_running_loop().time()
        mine = dict(self.progress)
        await self._pass_markers(consumer)
        turns: dict[int, list[Delivery]] = {}
        for partition, progress in mine.items():
            # One suspect in the whole process: of several, those that did not end it would be blamed too.
            busy = any(other.alone is not None for other in mine.values())
            turns[partition] = progress.turns(no_suspect=busy)
        marks = {partition: progress.mark() for partition, progress in mine.items()}
        due = {p: mark for p, mark in marks.items() if now >= self._beat_at or mark != mine[p].written}
        noted = not due
        try:
            noted = noted or await self._send(consumer, due)
        finally:
            for partition, progress in mine.items():
                if not noted:
                    progress.put_back(turns[partition])
                elif progress is self.progress.get(partition):
                    progress.written = marks[partition]
                    for delivery in turns[partition]:
                        self._take(delivery)
        if due and noted:
            self._beat_at = now + self._cluster.session_s / 3

    async def _pass_markers(self, consumer: Any) -> None:
        """Count the ends of transactions, which take an offset each and come as no record, as read."""
        for partition, progress in self.progress.items():
            if progress.drained and (place := self._place(partition)) in consumer.assignment():
                progress.next = max(progress.next, await consumer.position(place))

    async def _give_up_surplus(self, consumer: Any) -> None:
        """Leave partitions that another member is owed, and join again without them."""
        if self._surplus:
            periods = (asyncio.get_running_loop().time() - self._surplus_since) / self._cluster.session_s
            self._read_surplus(consumer, reading=int(periods) % 2 == 1)
        given = {p for p in self._surplus if p not in self.progress or self.progress[p].drained}
        if not given or not consumer.assignment():
            return
        # What would be read while the mark is on its way is its next owner's.
        consumer.pause(*(place for place in consumer.assignment() if place.partition in given))
        marks = {partition: self.progress[partition].mark(leaving=True) for partition in given & self.progress.keys()}
        if await self._send(consumer, marks):
            for partition in given:
                self._drop(partition)
            self._surplus -= given
            consumer.subscribe([self._cluster.names.topic(self._stream)], listener=self)

    def _read_surplus(self, consumer: Any, *, reading: bool) -> None:
        """Let what is to be given up run empty, but by turns: one slow handler must not keep others waiting."""
        for place in consumer.assignment():
            if place.partition in self._surplus:
                (consumer.resume if reading else consumer.pause)(place)

    async def _send(self, consumer: Any, marks: Mapping[int, tuple[int, str]]) -> bool:
        """Commit; false when the group has changed, so that it does not count."""
        if not marks:
            return True
        assigned, begun = self._assigned, asyncio.get_running_loop().time()
        try:
            await consumer.commit({self._place(partition): mark for partition, mark in marks.items()})
        except (CommitFailedError, IllegalStateError) as error:
            log.info("the group changes", extra={"group": self._group, "error": type(error).__name__})
            return False
        if assigned is not self._assigned:
            return False
        self._sure_until = self._awake_until = begun + self._cluster.session_s
        self.sharing.confirm()
        self._tell()
        return True

    def _drop(self, partition: int) -> None:
        self.progress.pop(partition, None)
        self._lost(partition)
        self._tell()

    def _tell(self) -> None:
        """Let whoever waits to begin look again."""
        self._changed.set()
        if not self._closed:
            self._changed.clear()

    def _place(self, partition: int) -> TopicPartition:
        return TopicPartition(self._cluster.names.topic(self._stream), partition)
