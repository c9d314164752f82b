"""One connection a process that reads the frames of all turns that anybody reads, and hands them to their readers.

The blocked read is woken with CLIENT UNBLOCK when a turn is added. Between two reads that gave something lie at least
``PACE_S`` seconds, so that under load one read carries the frames of many turns; a first frame is never held back.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from types import TracebackType
from typing import Self
from uuid import UUID

from redis.asyncio import Redis
from redis.exceptions import RedisError

from chassis.redis import ANSWER_TIMEOUT_S, LOST, Line, Pauses, ask
from chassis.tasks import end
from contracts.frames import frames_key

log = logging.getLogger(__name__)

Frames = list[tuple[bytes, bytes]]
"""``(cursor, frame as JSON)``, in order."""

PACE_S = 0.010
BLOCK_MS = 2000
MAX_AHEAD = 64
"""Batches that wait for a slow reader before they are forgotten and read again."""
MAX_BATCH = 256
"""Frames of one turn in one read."""
UNBLOCK_AGAIN_S = 0.001
PATIENCE_S = 2.0
"""How long Redis may be gone before readers are told."""


class FramesLost(Exception):
    """The frames cannot be read now: Redis is gone. The reader may begin again after its last cursor."""


class Reader:
    """The frames of one turn after a cursor, batch by batch; iterate over it, and close it (``async with``).

    ``idle_s`` seconds without a frame give an empty batch, so that its owner can look at other things.
    """

    def __init__(self, hub: FrameHub, key: bytes, after: bytes, idle_s: float | None) -> None:
        self.cursor = after
        self._hub = hub
        self._key = key
        self._idle_s = idle_s
        self._batches: deque[Frames] = deque()
        self._lost = False
        self._ahead = False
        self._behind = False
        self._wake: asyncio.Future[bool] | None = None
        self._joined = False
        self._timer: asyncio.TimerHandle | None = None
        self._looked_at = 0.0

    def __aiter__(self) -> Self:
        return self

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Read no more; nothing of this reader is left."""
        self._leave()

    async def __anext__(self) -> Frames:
        if not self._joined:
            self._joined = True
            self._hub.join(self._key, self)
        while True:
            if self._batches:
                batch = self._batches.popleft()
                if self._ahead:
                    batch = self._unseen(batch)
                    if not batch:
                        continue
                self.cursor = batch[-1][0]
                return batch
            if self._lost:
                self._leave()
                raise FramesLost("Redis does not answer; the frames cannot be read now.")
            if self._behind:
                batch = await self._catch_up()
                if batch:
                    self.cursor = batch[-1][0]
                    return batch
                continue
            if not await self._wait():
                return []

    def _unseen(self, batch: Frames) -> Frames:
        seen = _order(self.cursor)
        unseen = [entry for entry in batch if _order(entry[0]) > seen]
        self._ahead = len(unseen) < len(batch)
        return unseen

    @property
    def waiting(self) -> int:
        """How many batches are kept for it."""
        return len(self._batches)

    def push(self, batch: Frames) -> None:
        """Take frames from the hub; a reader that is behind takes them from the stream itself."""
        if self._behind:
            return
        if len(self._batches) >= MAX_AHEAD:
            self._batches.clear()
            self._behind = True
        else:
            self._batches.append(batch)
        self.wake()

    def lose(self) -> None:
        """Learn that Redis is gone."""
        self._lost = True
        self.wake()

    def wake(self) -> None:
        """Let the reader look again."""
        if self._wake is not None:
            _resolve(self._wake, True)

    def begin_behind(self) -> None:
        """Begin by reading from the stream, because the hub is further on than this reader."""
        self._behind = True

    def _leave(self) -> None:
        self._joined = False
        self._hub.leave(self._key, self)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    async def _wait(self) -> bool:
        loop = asyncio.get_running_loop()
        self._wake = wake = loop.create_future()
        if self._idle_s is not None:
            self._looked_at = loop.time()
            if self._timer is None:
                self._timer = loop.call_later(self._idle_s, self._look)
        try:
            return await wake
        finally:
            self._wake = None

    def _look(self) -> None:
        """Wake an idle reader; one timer goes on while frames come, rather than one a frame."""
        self._timer = None
        if self._idle_s is None or self._wake is None:
            return
        loop = asyncio.get_running_loop()
        left = self._looked_at + self._idle_s - loop.time()
        if left > 0.001:
            self._timer = loop.call_later(left, self._look)
        else:
            _resolve(self._wake, False)

    async def _catch_up(self) -> Frames:
        before = self._hub.position(self._key)
        try:
            batch = await self._hub.range_after(self._key, self.cursor)
        except (RedisError, *LOST):
            self._lost = True
            return []
        if not batch and self._hub.position(self._key) == before:
            self._behind, self._ahead = False, True
        return batch


def _resolve(wake: asyncio.Future[bool], value: bool) -> None:
    if not wake.done():
        wake.set_result(value)


def _order(cursor: bytes) -> tuple[int, int]:
    moment, _, sequence = cursor.partition(b"-")
    return int(moment), int(sequence or 0)


class _Turn:
    """A turn that is read: how far the hub is, and who reads."""

    __slots__ = ("position", "readers")

    def __init__(self, position: bytes) -> None:
        self.position = position
        self.readers: set[Reader] = set()

    def hand_out(self, batch: Frames) -> None:
        """Give a batch to all readers."""
        self.position = batch[-1][0]
        for reader in self.readers:
            reader.push(batch)


class FrameHub:
    """Reads the turns of all readers of this process; enter it (``async with``) before it is used."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis
        self._turns: dict[bytes, _Turn] = {}
        self._wanted = asyncio.Event()
        self._stale = False
        self._reading = False
        self._line = 0
        self._task: asyncio.Task[None] | None = None
        self._unblocking: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._run(), name="frame hub")
        return self

    async def __aexit__(self, *_: object) -> None:
        await end(*(task for task in (self._task, self._unblocking) if task is not None))
        self._lose_readers()

    @property
    def turns(self) -> int:
        """How many turns are read now."""
        return len(self._turns)

    def read(self, turn_id: UUID | str, after: str = "0-0", *, idle_s: float | None = None) -> Reader:
        """The frames of a turn after a cursor; they begin to be read when the first batch is awaited."""
        return Reader(self, frames_key(turn_id).encode(), after.encode(), idle_s)

    def join(self, key: bytes, reader: Reader) -> None:
        """Count a reader in."""
        turn = self._turns.get(key)
        if turn is None:
            turn = self._turns[key] = _Turn(reader.cursor)
            self._stale = True
            self._wanted.set()
            if self._reading and self._unblocking is None:
                self._unblocking = asyncio.create_task(self._unblock(), name="frame hub wakes")
        if reader not in turn.readers:
            if turn.position != reader.cursor:
                reader.begin_behind()
            turn.readers.add(reader)

    def leave(self, key: bytes, reader: Reader) -> None:
        """Count a reader out."""
        turn = self._turns.get(key)
        if turn is not None:
            turn.readers.discard(reader)
            if not turn.readers:
                del self._turns[key]

    def position(self, key: bytes) -> bytes:
        """How far a turn was read."""
        turn = self._turns.get(key)
        return turn.position if turn is not None else b"0-0"

    async def range_after(self, key: bytes, cursor: bytes) -> Frames:
        """Frames straight from the stream, for a reader that is behind."""
        command = ("XRANGE", key, b"(" + cursor, b"+", "COUNT", MAX_BATCH)
        entries = await ask(self._redis, *command)
        return [(cursor, fields[b"frame"]) for cursor, fields in entries]

    async def _run(self) -> None:
        pauses = Pauses()
        lost_at: float | None = None
        while True:
            await self._wanted.wait()
            try:
                async with Line(self._redis) as line:
                    self._line = line.id
                    while True:
                        await self._wanted.wait()
                        await self._read_once(line)
                        lost_at = None
                        pauses.over()
            except (RedisError, *LOST) as error:
                now = asyncio.get_running_loop().time()
                lost_at = now if lost_at is None else lost_at
                if now - lost_at >= PATIENCE_S:
                    log.warning("the frames cannot be read", extra={"error": type(error).__name__})
                    self._lose_readers()
                await pauses.rest()

    async def _read_once(self, line: Line) -> None:
        self._stale = False
        reading = list(self._turns.items())
        if not reading:
            self._wanted.clear()
            return
        begun = asyncio.get_running_loop().time()
        command: list[bytes | str | int] = ["XREAD", "COUNT", MAX_BATCH, "BLOCK", BLOCK_MS, "STREAMS"]
        command += [key for key, _ in reading]
        command += [turn.position for _, turn in reading]
        self._reading = True
        try:
            answer = await line.ask(*command, within=BLOCK_MS / 1000 + ANSWER_TIMEOUT_S)
        finally:
            self._reading = False
        if not answer:
            return
        asked = dict(reading)
        for key, entries in answer:
            turn = asked[key]
            if self._turns.get(key) is turn:
                turn.hand_out([(entry[0], entry[1][1]) for entry in entries])
        pause = PACE_S - (asyncio.get_running_loop().time() - begun)
        if pause > 0:
            await asyncio.sleep(pause)

    async def _unblock(self) -> None:
        try:
            while self._stale and self._reading:
                if not await self._redis.execute_command("CLIENT", "UNBLOCK", self._line):
                    await asyncio.sleep(UNBLOCK_AGAIN_S)  # the read was sent and does not block yet
        except (RedisError, *LOST):
            log.debug("the frame hub could not be woken")  # then its read fails too, and says so
        finally:
            self._unblocking = None

    def _lose_readers(self) -> None:
        turns = list(self._turns.values())
        self._turns.clear()
        for turn in turns:
            for reader in list(turn.readers):
                reader.lose()
