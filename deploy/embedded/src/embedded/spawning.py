"""How a child process comes to be: by the nursery where there is one (Linux), else as a program of its own."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import json
import os
import signal
import socket
import sys
from typing import BinaryIO, Protocol

from embedded.launch import Launch

_PR_SET_CHILD_SUBREAPER = 36
ANSWER_S = 30.0
"""A first order waits for the nursery to have loaded."""


class Process(Protocol):
    """A child that runs."""

    @property
    def pid(self) -> int:
        """Its id."""
        ...

    async def wait(self) -> int:
        """Its exit code once it has ended; a signal's negative number when that ended it."""
        ...


async def execute(launch: Launch, log: BinaryIO) -> Process:
    """Start a program of its own, in a session of its own."""
    return await asyncio.create_subprocess_exec(
        *launch.command,
        cwd=launch.folder,
        env=dict(launch.environment),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=log,
        stderr=log,
        start_new_session=True,
        pass_fds=() if launch.listening is None else (launch.listening,),
        preexec_fn=launch.become,
    )


class Born:
    """A child that the nursery forked, and that is ours because we are the reaper of what it leaves."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self._ended = os.pidfd_open(pid)

    async def wait(self) -> int:
        """Its exit code once it has ended."""
        loop, ended = asyncio.get_running_loop(), asyncio.Event()
        loop.add_reader(self._ended, ended.set)
        try:
            await ended.wait()
        finally:
            loop.remove_reader(self._ended)
            os.close(self._ended)
        _, status = os.waitpid(self.pid, os.WNOHANG)  # noqa: ASYNC222 - it has ended, and waits for nobody
        return os.waitstatus_to_exitcode(status)


class Nursery:
    """Our end of :mod:`embedded.nursery`."""

    def __init__(self) -> None:
        self._control: socket.socket | None = None
        self._process: asyncio.subprocess.Process | None = None
        self._turn = asyncio.Lock()

    @property
    def pid(self) -> int | None:
        """Its process, where there is one."""
        return self._process.pid if self._process else None

    async def start(self) -> None:
        """Let it load; without it (another system, an old kernel) services are programs of their own."""
        if not _can_adopt():
            return
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours.setblocking(False)
        with theirs:
            self._process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-u",
                "-m",
                "embedded.nursery",
                str(theirs.fileno()),
                str(os.getpid()),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.DEVNULL,
                start_new_session=True,
                pass_fds=(theirs.fileno(),),
            )
        self._control = ours

    async def spawn(self, launch: Launch, log: BinaryIO) -> Process:
        """Start a program: one with a module is born here, any other is executed.

        Who is cancelled meanwhile never learns its id, so it is ended here.
        """
        birth = asyncio.ensure_future(self._spawn(launch, log))
        try:
            return await asyncio.shield(birth)
        except asyncio.CancelledError:
            await asyncio.wait({birth})
            if not birth.cancelled() and birth.exception() is None:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(birth.result().pid, signal.SIGKILL)
                await birth.result().wait()
            raise

    async def _spawn(self, launch: Launch, log: BinaryIO) -> Process:
        if launch.module is None or self._control is None:
            return await execute(launch, log)
        order = {
            "name": launch.name,
            "module": launch.module,
            "folder": str(launch.folder),
            "environment": dict(launch.environment),
        }
        descriptors = [log.fileno(), *(() if launch.listening is None else (launch.listening,))]
        async with self._turn:
            try:
                socket.send_fds(self._control, [json.dumps(order).encode()], descriptors)
                said = await asyncio.wait_for(asyncio.get_running_loop().sock_recv(self._control, 32), ANSWER_S)
                return Born(int(said))
            except (OSError, ValueError, TimeoutError):
                self._control.close()
                self._control = None  # the nursery is gone; what is started from now on is a program of its own
        return await execute(launch, log)

    async def stop(self) -> None:
        """Let it end."""
        if self._control is not None:
            self._control.close()
            self._control = None
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                self._process.terminate()
            await self._process.wait()


def _can_adopt() -> bool:
    """Whether this process can be the parent of what the nursery forks, and notice its end."""
    if sys.platform != "linux":
        return False
    try:
        os.close(os.pidfd_open(os.getpid()))
    except (OSError, AttributeError):
        return False
    return ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0


async def bury_strangers(every_s: float = 1.0) -> None:
    """Read the end of processes that became ours because their parents died, such as PostgreSQL's after a kill.

    The end of a child of our own is read at once by who waits for it; what is still unread a round later is a stranger.
    """
    unread = 0
    while True:
        with contextlib.suppress(ChildProcessError):
            dead = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)  # noqa: ASYNC222 - does not wait
            if dead and dead.si_pid == unread:
                os.waitpid(unread, os.WNOHANG)  # noqa: ASYNC222 - does not wait
            unread = dead.si_pid if dead else 0
        await asyncio.sleep(every_s)
