"""How many calls one core holds before somebody hears a gap.

The gateway has one core to itself, the clients another. Each call sends 50 packets of sound a second up and gets 50
down, all the time, with speech in them; counted is, where they arrive, the time between two packets of one call::

    gateway (core 0)  <--- 50 packets a second and call, both ways --->  clients (core 1), which decode nothing

A number of calls is held when none of its packets came more than 60 ms after the one before it. The number is raised
until one is not held twice. It is done for the transport alone (ears and mouth scripted: goal 20 calls), and with the
models of ears and mouth on the same core as the gateway. Result: ``bench/results/calls.json``.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Iterable
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

import httpx2  # noqa: E402
from machine import machine  # noqa: E402

from embedded.launch import start_on_free_port, stop  # noqa: E402
from embedded.valkey import Valkey  # noqa: E402

RESULTS = HERE.parent / "results" / "calls.json"
GOAL = 20
STARTS_WITHIN_S = 120.0
TICKS = os.sysconf("SC_CLK_TCK")
SENSES = {"transport alone": "scripted", "with ears and mouth": "local"}


def free_port() -> int:
    """A port that nobody has."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        return bound.getsockname()[1]


@contextmanager
def gateway(redis_url: str, core: int, senses: str) -> Generator[tuple[str, int]]:
    """A gateway on one core; its address and its process."""
    port = free_port()
    settings = {
        "TALKDOWN_PORT": str(port),
        "TALKDOWN_REDIS_URL": redis_url,
        "TALKDOWN_VOICE": "local",
        "TALKDOWN_EARS": senses,
        "TALKDOWN_MOUTH": senses,
        "TALKDOWN_MAX_VOICES": "100",
        "TALKDOWN_LOG_LEVEL": "warning",
    }
    command = ["taskset", "-c", str(core), sys.executable, "-m", "voice_gateway"]
    with subprocess.Popen(command, env={**os.environ, **settings}) as process:
        try:
            wait_for(f"127.0.0.1:{port}")
            yield f"http://127.0.0.1:{port}", process.pid
        finally:
            process.terminate()


def wait_for(address: str) -> None:
    """Wait until a service is ready."""
    until = time.monotonic() + STARTS_WITHIN_S
    while time.monotonic() < until:
        try:
            if httpx2.get(f"http://{address}/health/ready", trust_env=False).status_code == 200:
                return
        except httpx2.HTTPError:
            pass
        time.sleep(0.1)
    raise TimeoutError("the gateway was not ready in time")


def cpu_s(pid: int) -> float:
    """The CPU that a process used until now, in seconds."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def measured(url: str, pid: int, core: int, calls: int, seconds: float) -> dict[str, Any]:
    """What so many calls heard."""
    command = ["taskset", "-c", str(core), sys.executable, str(HERE / "clients.py"), url, str(calls), str(seconds)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as clients:
        assert clients.stdout is not None
        if clients.stdout.readline() != "measuring\n":
            return {"calls": calls, "over": -1}
        before, began = cpu_s(pid), time.monotonic()
        told = clients.stdout.readline()
        used = (cpu_s(pid) - before) / (time.monotonic() - began)
    return {"calls": calls, "gateway_core": round(used, 2), **json.loads(told)}


def held(url: str, pid: int, core: int, counts: Iterable[int], seconds: float) -> tuple[int, list[dict[str, Any]]]:
    """The largest number of calls without a gap, and every round."""
    most, rounds = 0, list[dict[str, Any]]()
    for calls in counts:
        for _ in range(2):
            rounds.append(measured(url, pid, core, calls, seconds))
            print("  " + "  ".join(f"{name} {value:.4g}" for name, value in rounds[-1].items()), flush=True)
            if rounds[-1]["over"] == 0:
                most = calls
                break
        if most != calls:
            break
    return most, rounds


def main() -> None:
    """Measure, print, and keep the figures; exit code 1 when the goal is missed."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--seconds", type=float, default=8.0)
    options.add_argument("--only", choices=SENSES)
    told = options.parse_args()
    first, second = sorted(os.sched_getaffinity(0))[:2]
    result: dict[str, Any] = {"machine": machine(), "seconds": told.seconds, "goal": GOAL}
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="talkdown-bench-")))
        valkey = Valkey(folder / "valkey", durable=False)
        server, port = start_on_free_port(valkey.launch)
        stack.callback(stop, server)
        for name, senses in SENSES.items():
            if told.only not in (None, name):
                continue
            print(name, flush=True)
            counts = range(5, 101, 5) if senses == "scripted" else range(1, 11)
            with gateway(valkey.url(port), first, senses) as (url, pid):
                most, rounds = held(url, pid, second, counts, told.seconds)
            result[name] = {"calls": most, "every_round": rounds}
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(result, indent=2) + "\n")
    print(f"calls that one core holds without a gap over 60 ms ({result['machine']})")
    for name in SENSES:
        if name in result:
            print(f"  {name:<20} {result[name]['calls']}")
    missed = result.get("transport alone", {"calls": GOAL})["calls"] < GOAL
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
