"""Where services are born: a process that has loaded what all of them stand on, and forks one when it is told to.

::

    supervisor --socket: {module, environment, folder}, log, listening socket--> nursery
    nursery --fork--> (a moment) --fork--> service, whose parent is then the supervisor
    nursery --socket: its process id--> supervisor

Loading FastAPI, Redis, PostgreSQL and OpenTelemetry takes a processor longer than everything else that a service does
to start. Here it is paid once for five services, and a service that died is back before anyone has given up waiting.
The nursery has one thread and has opened nothing, so a fork of it is as good as a fresh interpreter; it ends when the
supervisor's end of the socket closes. A service is asked to end when the supervisor is gone, whether or not the
supervisor ever came to know its id.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import importlib
import json
import os
import runpy
import signal
import socket
import sys
import time
from typing import Any

LARGEST_ORDER = 1 << 20
PRELOADED = (
    "concurrent.futures.thread",
    "contracts.corpus",
    "contracts.events",
    "contracts.frames",
    "contracts.health",
    "contracts.search",
    "contracts.turns",
    "contracts.voice",
    "chassis.conventions",
    "chassis.settings",
    "fastapi",
    "httpx2",
    "opentelemetry.exporter.otlp.proto.http.trace_exporter",
    "opentelemetry.sdk.trace.export",
    "orjson",
    "psycopg",
    "psycopg_pool",
    "pydantic.v1",
    "redis.asyncio",
    "uvicorn.lifespan.on",
    "uvicorn.loops.uvloop",
    "uvicorn.protocols.http.httptools_impl",
    "uvicorn.protocols.websockets.websockets_sansio_impl",
)
"""Nothing that starts a thread, opens a file, reads the environment, or makes a tracer before the fork."""
_PR_SET_PDEATHSIG = 1
_PR_SET_NAME = 15


def main() -> None:
    """Load, then fork whatever is ordered; in a fork, become the service."""
    control, supervisor = socket.socket(fileno=int(sys.argv[1])), int(sys.argv[2])
    for name in PRELOADED:
        try:
            importlib.import_module(name)
        except ImportError:
            continue  # the service that needs it will say so in its own log
    gc.collect()
    gc.freeze()  # or the first collection of each child would copy what they share
    order = _serve(control)
    if order is not None:
        _become(order, supervisor)
        runpy.run_module(order["module"], run_name="__main__", alter_sys=True)


def _serve(control: socket.socket) -> dict[str, Any] | None:
    """Fork for each order; returns the order in the fork, and ``None`` in the nursery when there is nothing more."""
    while True:
        said, descriptors, _, _ = socket.recv_fds(control, LARGEST_ORDER, 4)
        if not said:
            return None
        born = _fork()
        if born == 0:
            control.close()
            order: dict[str, Any] = json.loads(said)
            order["descriptors"] = descriptors
            return order
        for descriptor in descriptors:
            os.close(descriptor)
        try:
            control.send(str(born).encode())
        except OSError:  # nobody is there to hear it, so nobody would ever end the newborn
            with contextlib.suppress(ProcessLookupError):
                os.kill(born, signal.SIGKILL)
            return None


def _fork() -> int:
    """Fork twice, so that the child's parent becomes the supervisor; its id, and 0 in the child."""
    reading, writing = os.pipe()
    between = os.fork()
    if between == 0:
        parent = os.getpid()
        if os.fork() != 0:
            os._exit(0)
        os.setsid()  # before its id is told, which is that of the group that is ended from then on
        while os.getppid() == parent:
            time.sleep(0.0005)
        os.write(writing, str(os.getpid()).encode())
        os.close(reading)
        os.close(writing)
        return 0
    os.close(writing)
    os.waitpid(between, 0)
    born = int(os.read(reading, 32))
    os.close(reading)
    return born


def _become(order: dict[str, Any], supervisor: int) -> None:
    """Take on a service's output, folder and environment, and end when the supervisor does."""
    log, *listening = order["descriptors"]
    with open(os.devnull, "rb") as nothing:  # noqa: PTH123 - a descriptor is wanted, not a path
        os.dup2(nothing.fileno(), 0)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.close(log)
    os.chdir(order["folder"])
    os.environ.clear()
    os.environ.update(order["environment"])
    if listening:
        os.environ["TALKDOWN_LISTEN_FD"] = str(listening[0])
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
    sys.argv = [order["module"]]
    libc = ctypes.CDLL(None)
    libc.prctl(_PR_SET_NAME, str(order["name"]).encode()[:15], 0, 0, 0)
    libc.prctl(_PR_SET_PDEATHSIG, int(signal.SIGTERM), 0, 0, 0)
    if os.getppid() != supervisor:  # it was gone before it could be wished for
        os._exit(0)


if __name__ == "__main__":
    main()
