"""How the Redis adapter lets go of events: acknowledged in batches, tried again after a pause, or made dead letters."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable
from datetime import UTC, datetime

from redis.asyncio import Redis
from redis.exceptions import RedisError, ResponseError

from chassis.bus.leases import Leases
from chassis.bus.port import Options
from chassis.bus.scripts import Scripts
from chassis.bus.wire import DEAD, Delivery
from chassis.bus.worker import Worker
from chassis.redis import LOST, Line, Pauses, ask
from chassis.tasks import end

log = logging.getLogger(__name__)

CROWD = 64
"""So many events may wait for another attempt before no new ones are taken."""


class RedisSettling:
    """Knows what this process has in hand, and tells the server how it ended."""

    worker: Worker

    def __init__(
        self,
        redis: Redis,
        scripts: Scripts,
        stream: str,
        group: str,
        names: list[str],
        leases: Leases,
        options: Options,
    ) -> None:
        self.held: list[set[bytes]] = [set() for _ in names]
        self.claiming = [0] * len(names)
        self.not_crowded = asyncio.Event()
        self.not_crowded.set()
        self._redis = redis
        self._scripts = scripts
        self._stream = stream
        self._group = group
        self._names = names
        self._leases = leases
        self._options = options
        self._acks: list[list[bytes]] = [[] for _ in names]
        self._sending: list[list[bytes]] = [[] for _ in names]
        self._wanted = asyncio.Event()
        self._waiting: dict[asyncio.Task[None], Delivery] = {}
        self._watched: dict[tuple[int, bytes], asyncio.Future[None]] = {}

    @property
    def crowded(self) -> bool:
        """Whether too many events wait for another attempt."""
        return len(self._waiting) >= CROWD

    def busy(self, partition: int) -> bool:
        """Whether anything of a partition is about to be acknowledged, or to be taken up again."""
        return bool(self._acks[partition] or self._sending[partition] or self.claiming[partition])

    def lose(self, partition: int, parts: list[bytes]) -> None:
        """Leave what waits for another attempt, and what came in parts that are not whole, to another process."""
        self.held[partition].difference_update(parts)
        for task, delivery in self._waiting.items():
            if delivery.partition == partition:
                task.cancel()
                self.held[partition].difference_update(delivery.places)

    async def ours(self, delivery: Delivery) -> bool:
        """Whether its partition is ours; waits for a beat where the lease may have ended."""
        return await self._leases.hold(delivery.partition)

    def dropped(self, delivery: Delivery) -> None:
        """Leave it where it is pending: whoever has the partition claims it."""
        self.held[delivery.partition].difference_update(delivery.places)
        self._tell(delivery.partition, delivery.places)

    def done(self, delivery: Delivery) -> None:
        """Acknowledge it with the next batch."""
        self._acks[delivery.partition] += delivery.places
        self._wanted.set()

    def again(self, delivery: Delivery, pause_s: float) -> None:
        """Hand it to the worker again after a pause, counted on the server as one more attempt."""
        task = asyncio.create_task(self._try_again(delivery, pause_s))
        self._waiting[task] = delivery
        task.add_done_callback(self._forget)
        if self.crowded:
            self.not_crowded.clear()
        self._tell(delivery.partition, delivery.places)

    async def bury(self, delivery: Delivery, reason: str) -> None:
        """Move it to the dead letters; does nothing when another process did."""
        letter: dict[str, bytes | str | int] = {
            "stream": self._stream,
            "partition_stream": self._names[delivery.partition],
            "group": self._group,
            "type": delivery.type,
            "id": delivery.id,
            "key": delivery.key,
            "attempts": delivery.attempts,
            "reason": reason,
            "died_at": datetime.now(UTC).isoformat(),
            "traceparent": delivery.traceparent,
            "data": delivery.data,
        }
        fields = [word for pair in letter.items() for word in pair]
        await self._scripts.bury(
            [self._names[delivery.partition], DEAD],
            [self._group, self._options.dead_kept, len(delivery.places), *delivery.places, *fields],
        )
        self.held[delivery.partition].difference_update(delivery.places)
        self._tell(delivery.partition, delivery.places)

    async def settled(self, partition: int, place: bytes) -> None:
        """Wait until the server knows that an event that is in hand was let go of in one way or another."""
        future = self._watched.setdefault((partition, place), asyncio.get_running_loop().create_future())
        await future

    async def acknowledge(self) -> None:
        """Send what was handled, in batches, until cancelled."""
        pauses = Pauses()
        while True:
            try:
                async with Line(self._redis) as line:
                    while True:
                        await self._wanted.wait()
                        self._wanted.clear()
                        await self._send(line)
                        pauses.over()
            except ResponseError as error:
                log.warning("events could not be acknowledged", extra={"error": str(error)[:80]})
            except LOST:
                await pauses.rest()

    async def finish(self) -> None:
        """Stop trying again, and acknowledge what is left."""
        await end(*self._waiting)
        if any(self._acks):
            async with Line(self._redis) as line:
                await self._send(line)

    async def _send(self, line: Line) -> None:
        acks, self._acks = self._acks, [[] for _ in self._names]
        self._sending = acks
        batches = [(partition, places) for partition, places in enumerate(acks) if places]
        if not batches:
            return
        try:
            await line.ask_all([("XACK", self._names[at], self._group, *places) for at, places in batches])
        except BaseException:
            for partition, places in batches:
                self._acks[partition] += places
            self._wanted.set()
            raise
        finally:
            self._sending = [[] for _ in self._names]
        for partition, places in batches:
            self.held[partition].difference_update(places)
            if self._watched:
                self._tell(partition, places)

    async def _try_again(self, delivery: Delivery, pause_s: float) -> None:
        await asyncio.sleep(pause_s)
        held = self.held[delivery.partition]
        while True:
            if delivery.partition not in self._leases.owned:
                held.difference_update(delivery.places)  # whoever has the partition now claims it
                return
            self.claiming[delivery.partition] += 1
            try:
                command = ("XCLAIM", self._names[delivery.partition], self._group, "owner", 0, *delivery.places)
                more = ("RETRYCOUNT", delivery.attempts + 1, "JUSTID")
                claimed: list[bytes] = await ask(self._redis, *command, *more, parse_justid=True)
                break
            except (RedisError, *LOST) as error:
                if isinstance(error, ResponseError):  # the group is gone, and the event with it
                    claimed = []
                    break
            finally:
                self.claiming[delivery.partition] -= 1
            await asyncio.sleep(self._options.first_pause_s)
        if not claimed:
            held.difference_update(delivery.places)
            return
        delivery.attempts += 1
        self.worker.take(delivery)

    def _forget(self, task: asyncio.Task[None]) -> None:
        self._waiting.pop(task, None)
        if not self.crowded:
            self.not_crowded.set()

    def _tell(self, partition: int, places: Iterable[bytes]) -> None:
        for place in places:
            future = self._watched.pop((partition, place), None)
            if future is not None and not future.done():
                future.set_result(None)
