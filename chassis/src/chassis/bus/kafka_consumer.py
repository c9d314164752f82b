"""One member of a Kafka consumer group: fetching, settling out of order, committing what is settled.

An offset is committed when everything before it is settled; what was settled after the first unsettled one comes again
when the process dies. A partition that moves to another member is given up once nothing of it is in hand.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from aiokafka import AIOKafkaConsumer, ConsumerRebalanceListener, TopicPartition
from aiokafka.errors import CommitFailedError, KafkaError

from chassis.bus.port import GaveUp, Handlers, Options
from chassis.bus.wire import STREAM_PREFIX, Assembler, Delivery, Fields, delivery_of
from chassis.bus.worker import Worker

log = logging.getLogger(__name__)

POLL_MS = 250
COMMIT_EVERY_S = 0.2
LOST_PART = "A part of the event did not come; it was published in several because of its size."


def fields_of_record(record: Any) -> Fields:
    """A record's plain fields."""
    fields: Fields = {name.encode(): value for name, value in record.headers}
    return fields | {b"key": record.key or b"", b"data": record.value or b""}


class _Progress:
    """What of a partition is in hand, and up to where all is settled."""

    def __init__(self) -> None:
        self.next = 0
        self.committed = 0
        self._open: set[int] = set()

    def begin(self, offset: int) -> None:
        """A record is in hand."""
        self._open.add(offset)
        self.next = offset + 1

    def settle(self, offsets: Iterable[int]) -> None:
        """Records were let go of."""
        self._open.difference_update(offsets)

    @property
    def safe(self) -> int:
        """The offset before which all is settled."""
        return min(self._open, default=self.next)


class KafkaConsumer(ConsumerRebalanceListener):
    """Consumes a stream for a group until it is cancelled."""

    def __init__(
        self,
        servers: str,
        stream: str,
        group: str,
        handlers: Handlers,
        store: Callable[[Delivery, str], Awaitable[None]],
        options: Options,
        *,
        concurrency: int,
        gave_up: GaveUp | None,
    ) -> None:
        self._topic = f"{STREAM_PREFIX}.{stream}"
        self._store = store
        self._options = options
        self._worker = Worker("kafka", stream, group, handlers, self, options, concurrency=concurrency, gave_up=gave_up)
        self._assembler = Assembler(options.parts_within_s)
        self._progress: dict[int, _Progress] = {}
        self._waiting: set[asyncio.TimerHandle] = set()
        self._settled = asyncio.Event()
        self._commit_at = 0.0
        self._consumer: Any = AIOKafkaConsumer(
            bootstrap_servers=servers,
            group_id=f"{STREAM_PREFIX}.{stream}.{group}",
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            isolation_level="read_committed",
            max_partition_fetch_bytes=4 * options.part_bytes,
            session_timeout_ms=max(6000, int(options.lease_s * 1000)),
            heartbeat_interval_ms=max(500, int(options.lease_s * 1000 / 3)),
            rebalance_timeout_ms=int((options.grace_s + 5) * 1000),
        )

    async def run(self) -> None:
        """Consume until cancelled; then finish what runs, within the grace, and leave the group."""
        await self._start()
        try:
            while True:
                await self._poll()
        finally:
            try:
                await self._worker.stop(self._options.grace_s)
            finally:
                for timer in self._waiting:
                    timer.cancel()
                await self._commit()
                await self._consumer.stop()

    async def _start(self) -> None:
        pause = self._options.first_pause_s
        self._consumer.subscribe([self._topic], listener=self)
        while True:
            try:
                await self._consumer.start()
            except KafkaError as error:
                log.warning("the bus waits for Kafka", extra={"error": type(error).__name__})
                await asyncio.sleep(pause)
                pause = min(pause * 2, self._options.longest_pause_s)
            else:
                return

    async def _poll(self) -> None:
        assigned = self._consumer.assignment()
        if self._worker.has_room and len(self._waiting) < 64:
            self._consumer.resume(*self._consumer.paused())
        else:
            self._consumer.pause(*assigned)  # polling goes on, so that the group does not take us for dead
            self._assembler.postpone()
        try:
            fetched = await self._consumer.getmany(timeout_ms=POLL_MS, max_records=max(1, self._worker.free))
        except KafkaError as error:
            log.warning("the bus waits for Kafka", extra={"error": type(error).__name__})
            await asyncio.sleep(self._options.first_pause_s)
            return
        for place, records in fetched.items():
            for record in records:
                self._take(place.partition, record)
        for delivery in self._assembler.lost():
            delivery.verdict = LOST_PART
            self._worker.take(delivery)
        if asyncio.get_running_loop().time() >= self._commit_at:
            self._commit_at = asyncio.get_running_loop().time() + COMMIT_EVERY_S
            await self._commit()

    def _take(self, partition: int, record: Any) -> None:
        self._progress.setdefault(partition, _Progress()).begin(record.offset)
        fields = fields_of_record(record)
        delivery = delivery_of(partition, str(record.offset).encode(), fields)
        part = fields.get(b"part")
        whole = self._assembler.add(part, delivery) if part is not None else delivery
        if whole is not None:
            self._worker.take(whole)

    async def ours(self, delivery: Delivery) -> bool:
        """Whether its partition is still this member's."""
        return delivery.partition in self._progress

    def dropped(self, delivery: Delivery) -> None:
        """Leave it to whoever has its partition now."""
        self._settled.set()

    def done(self, delivery: Delivery) -> None:
        """Let its offsets be committed."""
        progress = self._progress.get(delivery.partition)
        if progress is not None:
            progress.settle(int(place) for place in delivery.places)
        self._settled.set()

    def again(self, delivery: Delivery, pause_s: float) -> None:
        """Hand it to the worker again after a pause, unless the partition is another's by then."""

        def once_more() -> None:
            self._waiting.discard(timer)
            if delivery.partition in self._progress:
                delivery.attempts += 1
                self._worker.take(delivery)

        timer = asyncio.get_running_loop().call_later(pause_s, once_more)
        self._waiting.add(timer)

    async def bury(self, delivery: Delivery, reason: str) -> None:
        """Store the dead letter, then let go of the event."""
        await self._store(delivery, reason)
        self.done(delivery)

    async def on_partitions_revoked(  # pyright: ignore[reportIncompatibleMethodOverride] - the base has no types
        self, revoked: Iterable[TopicPartition]
    ) -> None:
        """Finish what is in hand of partitions that move, and commit it."""
        partitions = [place.partition for place in revoked]
        try:
            async with asyncio.timeout(self._options.grace_s):
                while any(self._worker.held_in.get(partition) for partition in partitions):
                    self._settled.clear()
                    await self._settled.wait()
        except TimeoutError:
            log.warning("a partition moves while it is handled", extra={"topic": self._topic})
        await self._commit()
        for partition in partitions:
            self._progress.pop(partition, None)
            self._assembler.drop(partition)

    async def on_partitions_assigned(  # pyright: ignore[reportIncompatibleMethodOverride] - the base has no types
        self, assigned: Iterable[TopicPartition]
    ) -> None:
        """Begin where the group has committed."""

    async def _commit(self) -> None:
        offsets: dict[TopicPartition, int] = {}
        for partition, progress in self._progress.items():
            if progress.safe > progress.committed:
                offsets[TopicPartition(self._topic, partition)] = progress.safe
        if not offsets:
            return
        try:
            await self._consumer.commit(offsets)
        except (CommitFailedError, KafkaError) as error:
            log.warning("offsets could not be committed", extra={"error": type(error).__name__})
            return
        for place, offset in offsets.items():
            progress = self._progress.get(place.partition)
            if progress is not None:
                progress.committed = offset
