"""The replicas behind one address of the settings, and which of them a request goes to.

::

    http://retriever:3011  --DNS-->  10.0.0.4, 10.0.0.7       each of them a replica
    http://a:3013,http://b:3013  -->  a and b, each of them perhaps several

A client that keeps its connections would stay with the replica that it met first, so each request chooses: the one
with the fewest open requests, in turn where they are equal. Two kinds choose for themselves: ``near`` a key (all of one
chat go to one replica, another only when that is gone), and ``replica`` by name (a call lives where it was opened). A
replica that takes no connection rests for a moment, and the next one is asked: nothing was sent yet.
"""

from __future__ import annotations

import asyncio
import hashlib
import ipaddress
import re
import socket
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from urllib.parse import SplitResult, urlsplit

HEADER = "talkdown-replica"
"""Tells a replica the name that it is known by here, for the ids that have to find their way back to it."""
NAME = "[0-9a-f]{6}"
MARKED = re.compile(rf"[a-z]+_({NAME})-.")
RESOLVE_EVERY_S = 2.0
REST_S = 1.0
"""A replica that took no connection is asked last for so long."""

Address = tuple[str, int]
Resolve = Callable[[str, int], Awaitable[list[str]]]


@dataclass
class Replica:
    """One process of a service, by its address."""

    host: str
    port: int
    open: int = 0
    rests_until: float = 0.0
    name: str = field(init=False)

    def __post_init__(self) -> None:
        self.name = hashlib.sha256(f"{self.host}:{self.port}".encode()).hexdigest()[:6]

    @property
    def netloc(self) -> str:
        """Host and port, as a URL has them."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class Replicas:
    """All that ``urls`` (separated by commas) stand for now; names are looked up again every two seconds."""

    def __init__(
        self, urls: str, *, resolve: Resolve | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._named = [_place(urlsplit(url.strip())) for url in urls.split(",") if url.strip()]
        self._resolve, self._clock = resolve or _look_up, clock
        self._known: dict[Address, Replica] = {}
        self._looked_at = float("-inf")
        self._looking: asyncio.Task[None] | None = None
        self._turn = 0

    async def all(self) -> tuple[Replica, ...]:
        """The replicas that are known; :class:`OSError` while a name stands for nothing."""
        if self._clock() - self._looked_at >= RESOLVE_EVERY_S and (self._looking is None or self._looking.done()):
            self._looking = asyncio.create_task(self._look())
        if not self._known and self._looking is not None:
            await asyncio.shield(self._looking)
        if not self._known:
            raise OSError("no address is known")
        return tuple(self._known.values())

    async def ordered(self, near: str | None = None) -> list[Replica]:
        """The replicas, the one to ask first in front; for one ``near`` always in the same order."""
        every, now = await self.all(), self._clock()
        self._turn += 1
        start = self._turn % len(every)
        ahead = (
            sorted(every, key=lambda one: _weight(near, one.name), reverse=True)
            if near is not None
            else sorted((*every[start:], *every[:start]), key=lambda one: one.open)
        )
        return sorted(ahead, key=lambda one: one.rests_until > now)

    async def named(self, name: str) -> Replica | None:
        """The replica of this name, if it is still there."""
        return next((one for one in await self.all() if one.name == name), None)

    def rest(self, replica: Replica) -> None:
        """Say that it took no connection just now."""
        replica.rests_until = self._clock() + REST_S
        self._looked_at = float("-inf")

    async def close(self) -> None:
        """Look nothing up any more."""
        if self._looking is not None:
            self._looking.cancel()
            await asyncio.gather(self._looking, return_exceptions=True)

    async def _look(self) -> None:
        self._looked_at = self._clock()
        found: dict[Address, Replica] = {}
        for host, port in self._named:
            try:
                hosts = [host] if _is_literal(host) else await self._resolve(host, port)
            except OSError:  # a server of names that is away takes no replica with it
                hosts = []
            for one in hosts:
                found[one, port] = self._known.get((one, port)) or Replica(one, port)
        if found:
            self._known = found


def mark(told: str | None) -> str:
    """What stands in front of the random part of an id made by the replica of this name; nothing without one."""
    return f"{told}-" if told is not None and re.fullmatch(NAME, told) else ""


def marked_with(made: str) -> str | None:
    """The name of the replica that made an id such as ``sess_0a1b2c-...``; nothing when none is in it."""
    found = MARKED.match(made)
    return found[1] if found else None


def stand_for_several(urls: str) -> bool:
    """Whether more than one process may be behind ``urls``: a name may stand for many, an address for one.

    A name under https stays as it is, since its certificate is made out to it.
    """
    if "," in urls:
        return True
    parts = urlsplit(urls)
    return parts.scheme == "http" and parts.hostname is not None and not _is_literal(parts.hostname)


def _place(url: SplitResult) -> Address:
    return url.hostname or "", url.port or (443 if url.scheme == "https" else 80)


def _is_literal(host: str) -> bool:
    if host == "localhost":  # two addresses of one and the same process
        return True
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _weight(key: str, name: str) -> bytes:
    """Rendezvous hashing: a replica that comes or goes moves the keys of no other."""
    return hashlib.sha256(f"{key} {name}".encode()).digest()


async def _look_up(host: str, port: int) -> list[str]:
    """Every address of a name, of one family: of a process that has two, both would stand for it."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    plain = sorted({str(where[0]) for family, *_, where in found if family == socket.AF_INET})
    return plain or sorted({str(where[0]) for *_, where in found})
