"""One member of a Kafka consumer group: fetching, handing in, settling out of order.

::

    fetch --> take (what a note calls settled is passed over) --> Worker --> settled --> committed by KafkaPartitions
                                                                     └─ failed: again after a pause; others go on
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

from aiokafka import AIOKafkaConsumer
from aiokafka.errors import KafkaError

from chassis.bus.kafka_cluster import Cluster, begin
from chassis.bus.kafka_letters import fields_of_record
from chassis.bus.kafka_partitions import KafkaPartitions
from chassis.bus.port import GaveUp, Handlers, Options
from chassis.bus.wire import Assembler, Delivery, delivery_of
from chassis.bus.worker import Worker
from chassis.redis import Pauses
from chassis.tasks import end

log = logging.getLogger(__name__)

POLL_MS = 1000
CROWD = 64
"""So many events may wait for another attempt before no new ones are taken."""
LAST_WORDS_S = 3.0
LOST_PART = "A part of the event did not come; it was published in several because of its size."


class KafkaConsumer:
    """Consumes a stream for a group until it is cancelled."""

    def __init__(
        self,
        cluster: Cluster,
        stream: str,
        group: str,
        handlers: Handlers,
        store: Callable[[Delivery, str], Awaitable[None]],
        options: Options,
        *,
        concurrency: int,
        gave_up: GaveUp | None,
    ) -> None:
        self._cluster = cluster
        self._stream, self._group = stream, group
        self._store = store
        self._options = options
        self._worker = Worker("kafka", stream, group, handlers, self, options, concurrency=concurrency, gave_up=gave_up)
        member = secrets.token_hex(8)
        self._partitions = KafkaPartitions(cluster, stream, group, member, lost=self._lose, take=self._worker.take)
        self._assembler = Assembler(options.parts_within_s)
        self._waiting: dict[asyncio.TimerHandle, Delivery] = {}
        self._not_crowded = asyncio.Event()
        self._not_crowded.set()

    async def run(self) -> None:
        """Consume until cancelled; then finish what runs, within the grace, and leave the group."""
        keeping = asyncio.create_task(self._partitions.keep(), name=f"{self._group} keeps")
        tending = asyncio.create_task(self._tend(), name=f"{self._group} tends")
        try:
            await self._serve(keeping)
        finally:
            self._partitions.close()
            try:
                await self._worker.stop(self._options.grace_s)
            finally:
                for timer in self._waiting:
                    timer.cancel()
                await end(keeping, tending)
                await self._leave()

    async def _serve(self, keeping: asyncio.Task[None]) -> None:
        pauses = Pauses()
        while True:
            consumer = self._partitions.consumer = self._member()
            try:
                consumer.subscribe([self._cluster.names.topic(self._stream)], listener=self._partitions)
                await begin(consumer)
                while True:
                    if keeping.done():
                        keeping.result()  # what went wrong there ends this consumer too
                    await self._read(consumer)
                    pauses.over()
            except KafkaError as error:
                log.warning("the bus waits for Kafka", extra={"group": self._group, "error": type(error).__name__})
                self._partitions.consumer = None
                await consumer.stop()
                await pauses.rest()

    def _member(self) -> Any:
        session_ms = int(self._cluster.session_s * 1000)
        return AIOKafkaConsumer(
            bootstrap_servers=self._cluster.servers,
            group_id=self._cluster.names.group(self._stream, self._group),
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            isolation_level="read_committed",
            max_partition_fetch_bytes=4 * self._options.part_bytes,
            partition_assignment_strategy=(self._partitions.sharing,),
            session_timeout_ms=session_ms,
            heartbeat_interval_ms=max(100, session_ms // 6),
            rebalance_timeout_ms=session_ms,
            request_timeout_ms=2 * session_ms + 5000,  # joining is answered when all have joined
            max_poll_interval_ms=24 * 3600 * 1000,  # that a handler is slow says nothing about its process
            metadata_max_age_ms=int(self._options.trim_every_s * 1000),  # or a topic made anew is seen after minutes
        )

    async def _read(self, consumer: Any) -> None:
        if not self._worker.has_room or not self._not_crowded.is_set():
            self._assembler.postpone()
            await self._worker.room.wait()
            await self._not_crowded.wait()
        fetched = await consumer.getmany(timeout_ms=POLL_MS, max_records=max(1, self._worker.free))
        for place, records in fetched.items():
            for record in records:
                self._take(place.partition, record)
        if len(self._assembler):
            for delivery in self._assembler.lost():
                delivery.verdict = LOST_PART
                self._partitions.hand_in(delivery)

    def _take(self, partition: int, record: Any) -> None:
        progress = self._partitions.progress.get(partition)
        if progress is None:
            return  # not prepared yet; it will be read again from where the group is
        if record.offset < progress.next:
            progress = self._partitions.begin_anew(partition, record.offset)
        attempt = progress.begin(record.offset)
        if not attempt:
            return
        fields = fields_of_record(record)
        delivery = delivery_of(partition, b"%d" % record.offset, fields, attempt)
        part = fields.get(b"part")
        whole = self._assembler.add(part, delivery) if part is not None else delivery
        if whole is not None:
            self._partitions.hand_in(whole)

    async def ours(self, delivery: Delivery) -> bool:
        """Whether its partition is still this member's."""
        return await self._partitions.hold(delivery.partition)

    def dropped(self, delivery: Delivery) -> None:
        """Leave it to whoever has its partition now."""

    def done(self, delivery: Delivery) -> None:
        """Let its offsets be committed."""
        self._partitions.settle(delivery)

    def again(self, delivery: Delivery, pause_s: float) -> None:
        """Hand it to the worker again after a pause, unless the partition is another's by then."""
        if delivery.partition not in self._partitions.progress:
            return

        def once_more() -> None:
            self._forget(timer)
            delivery.attempts += 1
            self._worker.take(delivery)

        timer = asyncio.get_running_loop().call_later(pause_s, once_more)
        self._waiting[timer] = delivery
        if len(self._waiting) >= CROWD:
            self._not_crowded.clear()

    async def bury(self, delivery: Delivery, reason: str) -> None:
        """Store the dead letter, then let go of the event."""
        await self._store(delivery, reason)
        self._partitions.settle(delivery)

    def _forget(self, timer: asyncio.TimerHandle) -> None:
        self._waiting.pop(timer, None)
        if len(self._waiting) < CROWD:
            self._not_crowded.set()

    def _lose(self, partition: int) -> None:
        """Begin nothing more of a partition that is another's; what runs goes on."""
        self._worker.drop(partition)
        self._assembler.drop(partition)
        for timer, delivery in list(self._waiting.items()):
            if delivery.partition == partition:
                timer.cancel()
                self._forget(timer)

    async def _tend(self) -> None:
        """Now and then trim the topic; make it anew where the cluster lost it, with what else it lost."""
        while True:
            await asyncio.sleep(self._options.trim_every_s)
            try:
                await self._cluster.make_topics()
                if partitions := list(self._partitions.progress):
                    await self._cluster.trim(self._stream, partitions)
            except KafkaError as error:  # away, or it does not let us
                log.warning("a topic could not be trimmed", extra={"error": type(error).__name__})

    async def _leave(self) -> None:
        consumer = self._partitions.consumer
        if consumer is None:
            return
        try:
            with suppress(KafkaError, TimeoutError):
                async with asyncio.timeout(LAST_WORDS_S):
                    await self._partitions.leave()
        finally:
            await consumer.stop()
