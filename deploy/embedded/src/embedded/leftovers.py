"""Processes of a run that ended without ending them: both the supervisor and its watchdog were killed."""

from __future__ import annotations

import contextlib
import os
import signal
import time

from embedded.data import DataFolder

SAME_START_S = 2.0
PATIENCE_S = 10.0


def end_leftovers(data: DataFolder) -> list[str]:
    """End what the last run of a data folder left behind; their names. Call it only while holding the folder.

    A process counts as left behind when its id and its start time are those that the run wrote down, so that a stranger
    who was given the same id since is left alone.
    """
    run = data.read_run()
    if run is None:
        return []
    import psutil  # only after a bad end, so that an ordinary start does not load it

    left: list[psutil.Process] = []
    names: list[str] = []
    for name, pid, since in run.children:
        with contextlib.suppress(psutil.Error):
            process = psutil.Process(pid)
            if abs(process.create_time() - since) < SAME_START_S:
                left.append(process)
                names.append(name)
    for process, name in zip(left, names, strict=True):
        with contextlib.suppress(psutil.Error):
            process.send_signal(signal.SIGINT if name == "PostgreSQL" else signal.SIGTERM)
    until = time.monotonic() + PATIENCE_S
    _, alive = psutil.wait_procs(left, timeout=max(until - time.monotonic(), 0))
    for process in alive:
        with contextlib.suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL)
    psutil.wait_procs(alive, timeout=PATIENCE_S)
    data.forget_run()
    return names
