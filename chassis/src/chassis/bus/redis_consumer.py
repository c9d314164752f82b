"""One member of a consumer group on Redis Streams: leases, reading, claiming, acknowledging.

::

    loop:  beat (renew the lease, learn which partitions are ours) -> claim what the last owner left -> read
           now and then claim anew: a process that stood still may have read after its lease had ended, and let go
    beside it: acknowledge in batches · try failed ones again · take suspects one by one
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress

from redis.asyncio import Redis
from redis.exceptions import RedisError, ResponseError

from chassis.bus.leases import Leases
from chassis.bus.port import GaveUp, Handlers, Options
from chassis.bus.scripts import Scripts
from chassis.bus.settling import RedisSettling
from chassis.bus.wire import Assembler, delivery_of, stream_name
from chassis.bus.worker import Worker
from chassis.redis import ANSWER_TIMEOUT_S, LOST, Line, Pauses, ask
from chassis.tasks import end

log = logging.getLogger(__name__)

PENDING_PAGE = 100
SUSPECT_AFTER = 1
"""An event that was left behind more often than this is taken up alone: one that kills its process is found out."""
MAX_COUNT = 32
LOST_PART = "A part of the event did not come; it was published in several because of its size."


class RedisConsumer:
    """Consumes a stream for a group until it is cancelled."""

    def __init__(
        self,
        redis: Redis,
        scripts: Scripts,
        stream: str,
        group: str,
        name: str,
        handlers: Handlers,
        options: Options,
        *,
        concurrency: int,
        gave_up: GaveUp | None,
    ) -> None:
        self._redis = redis
        self._scripts = scripts
        self._group = group
        self._options = options
        self._names = [stream_name(stream, partition) for partition in range(options.partitions)]
        self._partition_of = {name.encode(): partition for partition, name in enumerate(self._names)}
        self._leases = Leases(scripts, stream, group, name, options)
        self._settling = RedisSettling(redis, scripts, stream, group, self._names, self._leases, options)
        self._worker = Worker(
            "redis", stream, group, handlers, self._settling, options, concurrency=concurrency, gave_up=gave_up
        )
        self._settling.worker = self._worker
        self._assembler = Assembler(options.parts_within_s)
        self._claims: dict[int, asyncio.Task[None]] = {}
        self._one_suspect = asyncio.Lock()
        self._trim_at = 0.0
        self._claim_at = 0.0

    async def run(self) -> None:
        """Consume until cancelled; then finish what runs, within the grace, and give up the leases."""
        acknowledging = asyncio.create_task(self._settling.acknowledge(), name=f"{self._group} acknowledges")
        try:
            await self._serve(acknowledging)
        finally:
            await self._end(acknowledging)

    async def _serve(self, acknowledging: asyncio.Task[None]) -> None:
        pauses = Pauses()
        while True:
            try:
                await self._create_groups()
                async with Line(self._redis) as line:
                    self._leases.unclaimed |= self._leases.owned
                    while True:
                        if acknowledging.done():
                            acknowledging.result()  # what went wrong there ends this consumer too
                        await self._tend()
                        await self._read(line)
                        pauses.over()
            except ResponseError as error:
                flushed = "NOGROUP" in str(error) or "UNBLOCKED" in str(error)
                log.warning("the streams were flushed" if flushed else "Redis refused", extra={"group": self._group})
                self._leases.forget()
                await pauses.rest()
            except (RedisError, *LOST) as error:
                log.warning("the bus waits for Redis", extra={"group": self._group, "error": type(error).__name__})
                await pauses.rest()

    async def _create_groups(self) -> None:
        async with self._redis.pipeline(transaction=False) as pipeline:
            for name in self._names:
                pipeline.execute_command("XGROUP", "CREATE", name, self._group, "0", "MKSTREAM")
            answers = await pipeline.execute(raise_on_error=False)
        for answer in answers:
            if isinstance(answer, Exception) and not str(answer).startswith("BUSYGROUP"):
                raise answer

    async def _tend(self) -> None:
        await self._leases.beat_if_due(self._in_hand)
        for partition in self._leases.take_lost():
            self._worker.drop(partition)
            self._settling.lose(partition, self._assembler.drop(partition))
        now = asyncio.get_running_loop().time()
        if now >= self._claim_at:
            self._claim_at = now + self._options.lease_s
            self._leases.unclaimed |= self._leases.owned
        for partition in list(self._leases.unclaimed):
            self._leases.unclaimed.discard(partition)
            await self._claim(partition)
        for delivery in self._assembler.lost():
            delivery.verdict = LOST_PART
            self._worker.take(delivery)
        if now >= self._trim_at:
            self._trim_at = now + self._options.trim_every_s
            await self._trim()

    async def _read(self, line: Line) -> None:
        partitions = self._leases.readable
        rest = self._leases.until_beat()
        if not partitions:
            await asyncio.sleep(rest)
            return
        if not self._leases.sure:
            return
        if not self._worker.has_room or self._settling.crowded:
            self._assembler.postpone()
            with suppress(TimeoutError):
                async with asyncio.timeout(rest):
                    await self._worker.room.wait()
                    await self._settling.not_crowded.wait()
            return
        count = max(1, min(MAX_COUNT, self._worker.free // len(partitions)))
        command: list[bytes | str | int] = ["XREADGROUP", "GROUP", self._group, "owner", "COUNT", count]
        command += ["BLOCK", max(1, int(rest * 1000)), "STREAMS"]
        command += [self._names[partition] for partition in partitions]
        command += [">"] * len(partitions)
        answer = await line.ask(*command, within=rest + ANSWER_TIMEOUT_S)
        for name, entries in answer or ():
            partition = self._partition_of[name]
            for place, fields in entries:
                self._take(partition, place, fields, 1)

    def _in_hand(self, partition: int) -> bool:
        held = self._worker.held_in.get(partition)
        return bool(held) or self._settling.busy(partition)

    def _take(self, partition: int, place: bytes, flat: list[bytes], attempts: int) -> bool:
        """Hand an entry to the worker; false where it is a part of an event that is not whole yet."""
        self._settling.held[partition].add(place)
        fields = dict(zip(flat[::2], flat[1::2], strict=True))
        delivery = delivery_of(partition, place, fields, attempts)
        part = fields.get(b"part")
        if part is not None:
            whole = self._assembler.add(part, delivery)
            if whole is None:
                return False
            delivery = whole
        self._worker.take(delivery)
        return True

    async def _claim(self, partition: int) -> None:
        """Take over what is pending in a partition that is ours now, but for what this process already has."""
        name, first, suspects = self._names[partition], "-", list[tuple[bytes, int]]()
        while True:
            page = await ask(self._redis, "XPENDING", name, self._group, first, "+", PENDING_PAGE, parse_detail=True)
            rows = [(row["message_id"], int(row["times_delivered"])) for row in page]
            unknown = [row for row in rows if row[0] not in self._settling.held[partition]]
            suspects += [row for row in unknown if row[1] > SUSPECT_AFTER]
            await self._claim_these(partition, [row for row in unknown if row[1] <= SUSPECT_AFTER])
            if len(rows) < PENDING_PAGE:
                break
            first = "(" + rows[-1][0].decode()
        before = self._claims.get(partition)
        if suspects and (before is None or before.done()):
            alone = self._claim_alone(partition, self._leases.term(partition), suspects)
            self._claims[partition] = asyncio.create_task(alone)

    async def _claim_these(self, partition: int, rows: list[tuple[bytes, int]]) -> bool:
        if not rows:
            return False
        counts = dict(rows)
        command = ("XCLAIM", self._names[partition], self._group, "owner", 0, *counts)
        taken = False
        for place, fields in await ask(self._redis, *command, parse_justid=False):
            flat = [part for pair in fields.items() for part in pair]
            taken = self._take(partition, place, flat, counts[place] + 1) or taken
        return taken

    async def _claim_alone(self, partition: int, term: int, suspects: list[tuple[bytes, int]]) -> None:
        for place, count in suspects:
            if self._leases.term(partition) != term:
                return
            if place in self._settling.held[partition]:
                continue
            # One in the whole process: of several, those that did not end it would be blamed too.
            async with self._one_suspect:
                self._settling.claiming[partition] += 1
                try:
                    taken = await self._claim_these(partition, [(place, count)])
                except (RedisError, *LOST):
                    return  # the reader notices too, and claims anew when it is connected again
                finally:
                    self._settling.claiming[partition] -= 1
                if taken:
                    await self._settling.settled(partition, place)

    async def _trim(self) -> None:
        seconds, micros = await self._redis.time()
        oldest = f"{max(0, int((seconds + micros / 1e6 - self._options.keep_s) * 1000))}-0"
        for partition in list(self._leases.owned):
            await self._scripts.trim([self._names[partition]], [oldest])

    async def _end(self, acknowledging: asyncio.Task[None]) -> None:
        self._leases.close()
        beating = asyncio.create_task(self._leases.keep_beating())
        try:
            await end(*self._claims.values())
            await self._worker.stop(self._options.grace_s)
        finally:
            await end(beating, acknowledging)
            with suppress(RedisError, *LOST, TimeoutError):
                async with asyncio.timeout(2):
                    await self._settling.finish()
                    await self._leases.leave()
