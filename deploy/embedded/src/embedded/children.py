"""One child of the supervisor: started, watched until it ends, and started again after a pause that grows.

::

    starting --ready--> ready --ends--> restarting --(back-off)--> starting ...
        \\--ends GIVE_UP times before it was ever ready, or with a wrong setting--> down, and the start fails
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from embedded import watchdog
from embedded.errors import ServiceFailed
from embedded.launch import Launch, last_words
from embedded.spawning import Nursery

FIRST_PAUSE_S = 0.1
LONGEST_PAUSE_S = 10.0
STEADY_S = 20.0
"""A child that lived so long after it was ready starts with the shortest pause again."""
GIVE_UP = 4
WRONG_SETTING = 2
"""The exit code of a service whose settings are wrong."""
POLL_S = 0.03
STOP_S = 10.0

State = Literal["starting", "ready", "restarting", "down"]


class Watchdog:
    """The pipe to the process that ends everything if we cannot."""

    def __init__(self) -> None:
        self._process: asyncio.subprocess.Process | None = None

    async def start(self) -> None:
        """Start it in a session of its own."""
        self._process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-I",
            "-S",
            str(Path(watchdog.__file__)),
            stdin=asyncio.subprocess.PIPE,
            start_new_session=True,
        )

    def started(self, pid: int, stop: signal.Signals, stage: int) -> None:
        """A process group exists from now on."""
        self._say(f"+ {pid} {int(stop)} {stage}\n")

    def ended(self, pid: int) -> None:
        """A process group is gone."""
        self._say(f"- {pid}\n")

    async def stop(self) -> None:
        """Let it end; by now it has nothing left to do."""
        if self._process and self._process.stdin:
            self._process.stdin.close()
            await self._process.wait()

    def _say(self, line: str) -> None:
        if self._process and self._process.stdin:
            self._process.stdin.write(line.encode())


@dataclass
class Child:
    """A program that is kept running. ``launch`` is asked anew for each start; lower ``stage`` stops earlier."""

    name: str
    launch: Callable[[], Launch]
    stage: int
    state: State = "starting"
    detail: str | None = None
    restarts: int = 0
    pid: int | None = None
    since: float = 0.0
    was_ready: asyncio.Event = field(default_factory=asyncio.Event)
    stopping: bool = False
    _gone: asyncio.Event = field(default_factory=asyncio.Event)
    _how_to_stop: signal.Signals = signal.SIGTERM
    _nursery: Nursery = field(default_factory=Nursery)
    _exit: int = 0
    _said_before: int = 0

    async def keep(self, dog: Watchdog, nursery: Nursery, changed: Callable[[], None]) -> None:
        """Run the program again and again until it is stopped; :class:`ServiceFailed` when it never comes up."""
        self._nursery = nursery
        failures = 0
        while not self.stopping:
            launch = self.launch()
            began = await self._once(launch, dog, changed)
            if self.stopping:
                break
            failures = 0 if time.monotonic() - began > STEADY_S else failures
            failures += 1
            self.restarts += 1
            if not self.was_ready.is_set() and (failures >= GIVE_UP or self._exit == WRONG_SETTING):
                self.state = "down"
                raise ServiceFailed(self._failure(launch.log))
            pause = min(FIRST_PAUSE_S * 2 ** (failures - 1), LONGEST_PAUSE_S)
            self.state = "restarting"
            self.detail = f"It ended {_how(self._exit)} and starts again; see {launch.log}."
            changed()
            await asyncio.sleep(pause)

    async def stop(self, how: signal.Signals | None = None) -> None:
        """Ask the program to end in good order, and end it if it does not within 10 s."""
        self.stopping = True
        pid = self.pid
        if pid is None:
            return
        _signal(pid, how or self._how_to_stop)
        try:
            await asyncio.wait_for(self._gone.wait(), STOP_S)
        except TimeoutError:
            self.kill()
            await self._gone.wait()

    def kill(self) -> None:
        """End the program and whatever it started, at once."""
        self.stopping = True
        if self.pid is not None:
            _kill_group(self.pid)

    async def _once(self, launch: Launch, dog: Watchdog, changed: Callable[[], None]) -> float:
        self._how_to_stop = launch.stop
        with launch.log.open("ab") as log:
            self._said_before = log.tell()
            process = await self._nursery.spawn(launch, log)
        dog.started(process.pid, launch.stop, self.stage)
        self._gone.clear()
        self.pid, self.since = process.pid, time.time()
        if self.stopping:  # asked to while it was being started
            self.kill()
        changed()
        ended = asyncio.create_task(process.wait())
        await _until_ready(launch, process.pid, ended)
        began = time.monotonic()
        if not ended.done():
            self.state, self.detail = "ready", None
            self.was_ready.set()
            changed()
        self._exit = await ended
        _kill_group(process.pid)  # what it may have started and left behind
        dog.ended(process.pid)
        self.pid = None
        self._gone.set()
        return began

    def _failure(self, log: Path) -> str:
        if self._exit == WRONG_SETTING:
            return last_words(log, 1, self._said_before).removeprefix("talkdown: ")
        words = last_words(log, 5, self._said_before)
        return f"The {self.name} does not come up (it ended {_how(self._exit)}): {words}. See {log}."


async def _until_ready(launch: Launch, pid: int, ended: asyncio.Task[int]) -> None:
    """Ask whether it is ready until it is, or has ended."""
    while not ended.done():
        asking = asyncio.ensure_future(asyncio.to_thread(launch.ready, pid))
        await asyncio.wait({asking, ended}, return_when=asyncio.FIRST_COMPLETED)
        if asking.done() and asking.result():
            return
        await asyncio.wait({ended}, timeout=POLL_S)


def _how(code: int) -> str:
    return f"by {signal.Signals(-code).name}" if code < 0 else f"with code {code}"


def _signal(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def _kill_group(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)
