"""Which partitions of a stream are ours: a lease that is renewed by heartbeats, shared fairly among a group's members.

A member's lease ends ``lease_s`` after its last beat; its partitions are then free. A member that finds that its own
lease may have ended (its process or its server stood still) begins nothing until a beat has said what is still its own,
and lets go of the rest; one that was late itself does not take another for dead at once (``lua/balance.lua``). What
remains is a handler that was running when its process stood still for longer than the lease: it may overlap with its
successor. A partition that a newcomer is owed is given up once nothing of it is in hand, so that no event is handled
twice because of a newcomer.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress

from redis.exceptions import RedisError

from chassis.bus.port import Options
from chassis.bus.scripts import Scripts
from chassis.bus.wire import STREAM_PREFIX
from chassis.redis import LOST

log = logging.getLogger(__name__)

HURRIED_S = 0.1
"""Between beats while fewer partitions are ours than we are owed."""


class Leases:
    """The partitions of one member of a group."""

    def __init__(self, scripts: Scripts, stream: str, group: str, name: str, options: Options) -> None:
        self.owned: set[int] = set()
        self.unclaimed: set[int] = set()
        self._leaving: set[int] = set()
        self._leaving_since = 0.0
        self._lost: set[int] = set()
        self._scripts = scripts
        self._name = name
        self._keys = [f"{STREAM_PREFIX}.{kind}.{stream}.{group}" for kind in ("members", "leases")]
        self._options = options
        self._every_s = options.lease_s / 3
        self._beat_at = 0.0
        self._sure_until = 0.0
        self._beaten = asyncio.Event()
        self._closed = False
        self._terms = [0] * options.partitions

    @property
    def readable(self) -> list[int]:
        """The partitions to read from: ours, and not about to be given up.

        Those run empty, but by turns: a handler that takes long must not keep others waiting for as long.
        """
        periods = (asyncio.get_running_loop().time() - self._leaving_since) / self._options.lease_s
        if not self._leaving or int(periods) % 2 == 1:
            return list(self.owned)
        return [partition for partition in self.owned if partition not in self._leaving]

    def until_beat(self) -> float:
        """Seconds until the next beat is due."""
        return max(0.001, self._beat_at - asyncio.get_running_loop().time())

    @property
    def sure(self) -> bool:
        """Whether the lease stands for certain."""
        return asyncio.get_running_loop().time() < self._sure_until

    def term(self, partition: int) -> int:
        """Counts how often a partition ceased to be ours."""
        return self._terms[partition]

    async def hold(self, partition: int) -> bool:
        """Whether a partition is still ours; waits for a beat where the lease may have ended."""
        term = self._terms[partition]
        while not self.sure and not self._closed:
            await self._beaten.wait()
        return partition in self.owned and self._terms[partition] == term and not self._closed

    def close(self) -> None:
        """Let nobody wait for a beat any more: nothing new is begun."""
        self._closed = True
        self._beaten.set()

    def take_lost(self) -> set[int]:
        """The partitions that ceased to be ours since this was last asked."""
        lost, self._lost = self._lost, set()
        return lost

    def forget(self) -> None:
        """Beat at once, because what the server knew of us may be gone."""
        self._beat_at = 0.0

    async def beat_if_due(self, in_hand: Callable[[int], bool]) -> None:
        """Beat when it is time; ``in_hand`` says whether anything of a partition is."""
        if asyncio.get_running_loop().time() >= self._beat_at:
            await self.beat([partition for partition in self._leaving if not in_hand(partition)])

    async def beat(self, giving_up: list[int]) -> None:
        """Renew the lease, give up partitions, and learn which are ours and how many we are owed."""
        now = asyncio.get_running_loop().time()
        arguments = [self._name, int(self._options.lease_s * 1000), self._options.partitions, *giving_up]
        self._lose(set(giving_up))  # from now on another may have them
        share, new, *owned = await self._scripts.balance(self._keys, arguments)
        now_owned, fresh = set(owned), set(owned[len(owned) - new :])
        self._lose(self.owned - now_owned | self.owned & fresh)
        self.unclaimed = (self.unclaimed | (now_owned - self.owned)) & now_owned
        self.owned = now_owned
        self._sure_until = now + self._options.lease_s
        self._beaten.set()
        if not self._closed:
            self._beaten.clear()
        self._leaving &= now_owned
        if not self._leaving:
            self._leaving_since = asyncio.get_running_loop().time()
        while len(now_owned) - len(self._leaving) > share:
            self._leaving.add(max(now_owned - self._leaving))
        while self._leaving and len(now_owned) - len(self._leaving) < share:
            self._leaving.pop()
        hurried = len(now_owned) < min(share, self._options.partitions) or bool(self._leaving)
        pause = min(HURRIED_S, self._every_s) if hurried else self._every_s
        self._beat_at = asyncio.get_running_loop().time() + pause

    async def keep_beating(self) -> None:
        """Renew the lease until cancelled (while the last handlers finish)."""
        while True:
            with suppress(RedisError, *LOST):
                await self.beat([])
            await asyncio.sleep(self._every_s)

    async def leave(self) -> None:
        """Give everything up at once."""
        await self._scripts.leave(self._keys, [self._name])
        self.owned = set()

    def _lose(self, partitions: set[int]) -> None:
        self._lost |= partitions
        self.owned = self.owned - partitions
        for partition in partitions:
            self._terms[partition] += 1
