"""The last one out: ends what the supervisor started when the supervisor ends without doing so (``kill -9``, OOM).

::

    supervisor --pipe--> watchdog      "+ PID SIGNAL STAGE" a process group that was started, "- PID" one that ended
    the pipe's end without more to end: nothing to do
    the pipe's end otherwise: stage by stage each group gets its signal, then SIGKILL

It runs by itself (``python -I -S watchdog.py``), in a session of its own, and imports little, so that it costs next to
nothing and dies of nothing that the others die of.
"""

from __future__ import annotations

import os
import signal
import sys
import time

PATIENCE_S = 10.0
"""How long a stage has to end in good order: the services' 8 s of grace and some."""


def main() -> None:
    """Read what is started and ended until the pipe ends, then end what is left."""
    for ignored in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(ignored, signal.SIG_IGN)
    groups: dict[int, tuple[int, int]] = {}
    for line in sys.stdin:
        word, pid, *rest = line.split()
        if word == "+":
            groups[int(pid)] = (int(rest[0]), int(rest[1]))
        else:
            groups.pop(int(pid), None)
    for stage in sorted({stage for _, stage in groups.values()}):
        end({pid: number for pid, (number, of) in groups.items() if of == stage})


def end(groups: dict[int, int]) -> None:
    """Send each process group its signal, wait, and kill what remains."""
    for pid, number in groups.items():
        send(pid, number)
    until = time.monotonic() + PATIENCE_S
    while any(runs(pid) for pid in groups) and time.monotonic() < until:
        time.sleep(0.05)
    for pid in groups:
        send(pid, signal.SIGKILL)


def runs(pid: int) -> bool:
    """Whether a process still runs; one that has ended and that nobody has read yet (a container's first process may
    never) does not."""
    if not send(pid, 0):
        return False
    try:
        with open(f"/proc/{pid}/stat", "rb") as stat:  # noqa: PTH123 - pathlib takes longer to load than all of this
            return stat.read().rpartition(b")")[2].split()[0] != b"Z"
    except OSError:
        return sys.platform != "linux"


def send(pid: int, number: int) -> bool:
    """Send a signal to a process group, to its leader alone for an orderly end; whether anyone was there."""
    try:
        if number in (0, signal.SIGKILL):
            os.killpg(pid, number)
        else:
            os.kill(pid, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True


if __name__ == "__main__":
    main()
