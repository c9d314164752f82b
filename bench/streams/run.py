"""What a delta costs on its way to the browser: web beside a plain proxy, in one run on one machine.

100 readers, 50 deltas a second each, all opened at the same moment. Counted are the CPU of the serving process (from
``/proc``, from the start of the steady stream to its end), the time from a request to its first delta, and how old each
delta is when it is read. The two are measured in turn, several rounds, and the medians are told::

    producer --XADD--> Valkey <--- web (the real service) ---> readers
    upstream (streams NDJSON) <--- FastAPI + httpx aiter_lines ---> readers

Goal: at most 55 µs of CPU a delta in web, first delta p99 at most 150 ms. Result: ``bench/results/streams.json``.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from uuid import uuid4

from reader import Reader

from embedded.launch import start_on_free_port, stop
from embedded.valkey import Valkey

HERE = Path(__file__).parent
RESULTS = HERE.parent / "results" / "streams.json"
STREAMS, RATE, SECONDS, ROUNDS = 100, 50, 10, 3
DELTAS = RATE * SECONDS
GOAL_CPU_US, GOAL_FIRST_MS = 55.0, 150.0
TICKS = os.sysconf("SC_CLK_TCK")


def cpu_of(pid: int) -> float:
    """Seconds of CPU that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


@contextmanager
def process(*command: str, **environment: str) -> Generator[subprocess.Popen[bytes]]:
    """A Python process of ours, ended with the block."""
    child = subprocess.Popen(
        [sys.executable, *command],
        env={**os.environ, **environment},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=sys.stderr,
    )
    try:
        yield child
    finally:
        child.send_signal(signal.SIGTERM)
        try:
            child.wait(10)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()


def free_port() -> int:
    """A port that was free a moment ago."""
    with socket.create_server(("127.0.0.1", 0)) as bound:
        return int(bound.getsockname()[1])


def wait_for(port: int) -> None:
    """Wait until a port takes connections."""
    until = time.monotonic() + 30
    while time.monotonic() < until:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise TimeoutError(f"nothing listens on {port}")


async def read_all(port: int, paths: list[str], pid: int, start: subprocess.Popen[bytes] | int) -> dict[str, float]:
    """Open every stream at once, start the steady part, read all to the end; the figures of one round."""
    loop = asyncio.get_running_loop()
    readers: list[Reader] = []
    for path in paths:
        request = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode()
        readers.append(Reader(request, loop.create_future()))
    await asyncio.gather(*(loop.create_connection(lambda one=one: one, "127.0.0.1", port) for one in readers))
    while any(one.first_after < 0 for one in readers):  # noqa: ASYNC110 - the readers are plain protocols
        await asyncio.sleep(0.01)
    before = cpu_of(pid)
    if isinstance(start, int):
        _, writer = await asyncio.open_connection("127.0.0.1", start)
        writer.write(b"GET /start HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    else:
        assert start.stdin is not None
        start.stdin.write(b"\n")
        start.stdin.flush()
    await asyncio.wait_for(asyncio.gather(*(one.ended for one in readers)), SECONDS * 10)
    used = cpu_of(pid) - before
    ages = sorted(age for one in readers for age in one.ages)
    assert len(ages) == len(paths) * (DELTAS - 1), f"{len(ages)} deltas were read"
    first = sorted(one.first_after for one in readers)
    return {
        "cpu_us_per_delta": used / len(ages) * 1e6,
        "first_delta_p50_ms": first[len(first) // 2] / 1e6,
        "first_delta_p99_ms": first[int(len(first) * 0.99)] / 1e6,
        "age_p50_ms": ages[len(ages) // 2] / 1e6,
        "age_p99_ms": ages[int(len(ages) * 0.99)] / 1e6,
    }


def round_of_web(redis_url: str) -> dict[str, float]:
    """One round through the real service."""
    port, turns = free_port(), [str(uuid4()) for _ in range(STREAMS)]
    # No service behind web is running: a stream that is never silent asks none.
    with (
        process("-m", "web", TALKDOWN_PORT=str(port), TALKDOWN_REDIS_URL=redis_url, TALKDOWN_LOST_S="60") as web,
        process(str(HERE / "producer.py"), redis_url, str(DELTAS), str(1000 / RATE), *turns) as producer,
    ):
        assert producer.stdout is not None
        assert producer.stdout.readline() == b"ready\n"
        wait_for(port)
        return asyncio.run(read_all(port, [f"/api/turns/{turn}/frames" for turn in turns], web.pid, producer))


def round_of_proxy() -> dict[str, float]:
    """One round through the plain proxy."""
    port, upstream = free_port(), free_port()
    with (
        process(str(HERE / "upstream.py"), str(upstream), str(DELTAS), str(1000 / RATE)),
        process(str(HERE / "proxy.py"), str(port), str(upstream)) as proxy,
    ):
        wait_for(upstream)
        wait_for(port)
        paths = [f"/api/turns/{place}/frames" for place in range(STREAMS)]
        return asyncio.run(read_all(port, paths, proxy.pid, upstream))


def medians(rounds: list[dict[str, float]]) -> dict[str, float]:
    """The median of each figure."""
    return {name: round(statistics.median(one[name] for one in rounds), 2) for name in rounds[0]}


def main() -> None:
    """Measure, print, and keep the figures; exit code 1 when a goal is missed."""
    rounds: dict[str, list[dict[str, float]]] = {"web": [], "plain_proxy": []}
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="talkdown-bench-")))
        valkey = Valkey(folder / "valkey", durable=False)
        server, port = start_on_free_port(valkey.launch)
        stack.callback(stop, server)
        for _ in range(ROUNDS):
            rounds["web"].append(round_of_web(valkey.url(port)))
            rounds["plain_proxy"].append(round_of_proxy())
    figures = {name: medians(measured) for name, measured in rounds.items()}
    met = figures["web"]["cpu_us_per_delta"] <= GOAL_CPU_US and figures["web"]["first_delta_p99_ms"] <= GOAL_FIRST_MS
    result = {
        "streams": STREAMS,
        "deltas_per_second": RATE,
        "seconds": SECONDS,
        "rounds": ROUNDS,
        "goal": {"cpu_us_per_delta": GOAL_CPU_US, "first_delta_p99_ms": GOAL_FIRST_MS},
        "met": met,
        **figures,
        "every_round": rounds,
    }
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(result, indent=2) + "\n")
    print(f"{STREAMS} streams of {RATE} deltas a second, {SECONDS} s, median of {ROUNDS} rounds")
    for name, one in figures.items():
        print(f"  {name:<12}" + "  ".join(f"{key} {value:g}" for key, value in one.items()))
    print(f"  goal {'met' if met else 'missed'}: at most {GOAL_CPU_US:g} µs a delta, first p99 {GOAL_FIRST_MS:g} ms")
    sys.exit(0 if met else 1)


if __name__ == "__main__":
    main()
