"""What the tests of the bus share: an adapter as a kit, events, victims, and waiting for a condition."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

from bus_relay import Relay

from chassis.bus import Bus, GaveUp, Handlers, Options, open_bus
from chassis.bus.memory import MemoryBus
from contracts.events import TurnRequested

ADAPTERS = ["memory", "redis", "kafka"]
SERVERS = ADAPTERS[1:]

QUICK = Options(lease_s=0.6, grace_s=5.0, first_pause_s=0.02, pause_growth=1.5, attempts=3)
"""Short times, so that a suite of failures is over soon."""

VICTIM = Path(__file__).with_name("bus_victim.py")


def asked(chat: UUID | None = None) -> TurnRequested:
    """An event of a chat."""
    return TurnRequested(turn_id=uuid4(), chat_id=chat or uuid4())


def into(got: list[TurnRequested]) -> Callable[[TurnRequested], Awaitable[None]]:
    """A handler that keeps what it gets."""

    async def keep(event: TurnRequested) -> None:
        got.append(event)

    return keep


async def eventually(holds: Callable[[], Any] | Callable[[], Awaitable[Any]], within_s: float = 60.0) -> None:
    """Wait until a condition holds; fail when it does not in time."""
    async with asyncio.timeout(within_s):
        while True:
            answer = holds()
            if asyncio.iscoroutine(answer):
                answer = await answer
            if answer:
                return
            await asyncio.sleep(0.01)


def nothing_left(bus: Bus, group: str = "workers", *, but: int = 0) -> Callable[[], Awaitable[bool]]:
    """A condition: a group has handled every event of the turns, but for so many."""

    async def holds() -> bool:
        return await bus.lag("turns", group) == but

    return holds


class Carrier:
    """One adapter under test: opens buses on the same carrier, as separate processes would, and runs consumers.

    ``relay`` is what the buses of a :meth:`detour` go through.
    """

    def __init__(self, name: str, url: str, relay: Relay | None = None, relayed_url: str = "") -> None:
        self.name = name
        self.url = url
        self._relay = relay
        self._relayed_url = relayed_url
        self._stack = AsyncExitStack()
        self._memory: MemoryBus | None = None
        self._consumers: list[asyncio.Task[None]] = []

    @property
    def lease_s(self) -> float:
        """How long a process has what it holds after it was last heard of; the shortest that the broker allows."""
        return 3.0 if self.name == "kafka" else QUICK.lease_s

    @property
    def relay(self) -> Relay:
        """What stands between the server and the buses of a detour."""
        assert self._relay is not None
        return self._relay

    async def bus(self, options: Options = QUICK) -> Bus:
        """A bus of its own connections."""
        if self.name == "memory":
            self._memory = self._memory or MemoryBus(options)
            return self._memory
        return await self._stack.enter_async_context(open_bus(self.url, service="test", options=options))

    async def detour(self, options: Options = QUICK) -> Bus:
        """A bus whose connections go through the relay."""
        await self.relay.mend()
        return await self._stack.enter_async_context(open_bus(self._relayed_url, service="test", options=options))

    def consume(
        self,
        bus: Bus,
        group: str,
        handlers: Handlers,
        *,
        stream: str = "turns",
        concurrency: int = 16,
        gave_up: GaveUp | None = None,
    ) -> asyncio.Task[None]:
        """Run a consumer in the background."""
        work = bus.consume(stream, group, handlers, concurrency=concurrency, gave_up=gave_up)
        task = asyncio.create_task(work)
        self._consumers.append(task)
        return task

    async def close(self) -> None:
        """Stop every consumer and close every bus."""
        if self._relay is not None:
            self._relay.release()
        for task in self._consumers:
            task.cancel()
        await asyncio.gather(*self._consumers, return_exceptions=True)
        await self._stack.aclose()
        if self._relay is not None:
            await self._relay.cut()


async def stop(task: asyncio.Task[None]) -> None:
    """Stop a consumer and wait for its end."""
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


class Victim:
    """A consumer in a process of its own, which another follows when it dies."""

    def __init__(self, supervisor: asyncio.subprocess.Process) -> None:
        self._supervisor = supervisor
        self.pid = 0

    async def said(self) -> str:
        """The turn that it says it begins next; ``pid`` is then its process."""
        assert self._supervisor.stdout is not None
        async with asyncio.timeout(60):
            pid, turn = (await self._supervisor.stdout.readline()).decode().split()
        self.pid = int(pid)
        return turn

    def kill(self) -> None:
        """Kill the process that spoke last."""
        os.kill(self.pid, signal.SIGKILL)

    async def rest(self) -> list[str]:
        """Kill it and those that would follow; the turns that it said besides."""
        with suppress(ProcessLookupError):
            os.killpg(self._supervisor.pid, signal.SIGKILL)
        told, _ = await self._supervisor.communicate()
        return re.findall(r"^\d+ (\S+)\n", told.decode(), re.MULTILINE)  # the last line may be half a one


@asynccontextmanager
async def victim(url: str, mode: str, turn: str = "") -> AsyncGenerator[Victim]:
    """A process that consumes as ``bus_victim.py`` says; it is killed in the end."""
    command = (sys.executable, str(VICTIM), url, mode, turn)
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE, start_new_session=True)
    one = Victim(process)
    try:
        yield one
    finally:
        await one.rest()
