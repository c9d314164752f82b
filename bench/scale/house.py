"""The product's own processes, as many of each as are wanted, with their CPU and their memory read from /proc.

Two cores cannot show what many would do. So replicas that are compared get a *share* of a core each, held by the kernel
(cgroup ``cpu.cfs_quota_us`` or ``cpu.max``): then a limit that shows is the product's, not this machine's. Where
cgroups cannot be written, :func:`shares` says so, and so does the comparison.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx2

from embedded.launch import start_on_free_port, stop
from embedded.ports import free_port
from embedded.postgres import Postgres
from embedded.valkey import Valkey

TICKS = os.sysconf("SC_CLK_TCK")
READY_WITHIN_S = 120.0
PERIOD_US = 20_000
CGROUP = Path("/sys/fs/cgroup")


def cpu_s(pid: int) -> float:
    """The CPU that a process, and those of its children that ended, used until now; 0 for one that is gone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(map(int, fields[11:15])) / TICKS


def memory_mb(pid: int) -> float:
    """The memory that is a process's own, with its part of what it shares (PSS), in megabytes of 10^6 bytes."""
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024 / 1e6
    return 0.0


def family(pid: int) -> list[int]:
    """A process and its children."""
    found = [pid]
    for place in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            if int(place.read_text().rpartition(")")[2].split()[1]) == pid:
                found.append(int(place.parent.name))
    return found


@dataclass
class Running:
    """One process of ours."""

    process: subprocess.Popen[bytes]
    url: str = ""

    @property
    def cpu_s(self) -> float:
        """What it used until now, its children's included."""
        return sum(cpu_s(pid) for pid in family(self.process.pid))

    @property
    def memory_mb(self) -> float:
        """What it and its children hold now."""
        return sum(memory_mb(pid) for pid in family(self.process.pid))

    def end(self) -> None:
        """End it, in good order if it will; nothing when it has ended."""
        if self.process.poll() is not None:
            return
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(15)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


@contextmanager
def shares(running: Sequence[Running], part: float) -> Generator[bool]:
    """Hold each of some processes to a part of a core, until they have ended; whether the kernel does."""
    version_1 = (CGROUP / "cpu" / "cgroup.procs").exists()
    quota, folders = str(round(part * PERIOD_US)), list[Path]()
    try:
        for one in running:
            folder = (CGROUP / "cpu" if version_1 else CGROUP) / f"talkdown-bench-{one.process.pid}"
            folder.mkdir()
            folders.append(folder)
            if version_1:
                (folder / "cpu.cfs_period_us").write_text(str(PERIOD_US))
                (folder / "cpu.cfs_quota_us").write_text(quota)
            else:
                (folder / "cpu.max").write_text(f"{quota} {PERIOD_US}")
            (folder / "cgroup.procs").write_text(str(one.process.pid))
        held = True
    except OSError:
        held = False
    try:
        yield held
    finally:
        for one in running:
            one.end()
        for folder in folders:
            _remove(folder)


def _remove(folder: Path) -> None:
    """Remove a group of processes that have ended; the kernel counts them out a moment later."""
    for _ in range(50):
        try:
            folder.rmdir()
        except FileNotFoundError:
            return
        except OSError:
            time.sleep(0.1)
        else:
            return


@dataclass
class House:
    """PostgreSQL and Valkey, and the services that are started on them."""

    postgres_url: str
    redis_url: str
    postgres: Running
    valkey: Running
    folder: Path

    @contextmanager
    def start(self, module: str, count: int = 1, **settings: object) -> Generator[list[Running]]:
        """So many replicas of a service, ready."""
        with ExitStack() as stack:
            made: list[Running] = []
            for _ in range(count):
                made.append(self._started(module, settings))
                stack.callback(made[-1].end)
            for one in made:
                ready(one)
            yield made

    def _started(self, module: str, settings: dict[str, object]) -> Running:
        port = free_port()
        told = {
            "TALKDOWN_PORT": str(port),
            "TALKDOWN_POSTGRES_URL": self.postgres_url,
            "TALKDOWN_REDIS_URL": self.redis_url,
            "TALKDOWN_LOG_LEVEL": "warning",
            **{name if name.isupper() else f"TALKDOWN_{name.upper()}": str(value) for name, value in settings.items()},
        }
        ours = {name: value for name, value in os.environ.items() if not name.startswith(("TALKDOWN_", "OPENAI_"))}
        process = subprocess.Popen([sys.executable, "-m", module], env={**ours, **told}, stdin=subprocess.DEVNULL)
        return Running(process, f"http://127.0.0.1:{port}")


def ready(one: Running) -> None:
    """Wait until a service answers questions; a retriever without documents does when its words are there."""
    until = time.monotonic() + READY_WITHIN_S
    with httpx2.Client(base_url=one.url, trust_env=False, timeout=5, verify=False) as client:
        while time.monotonic() < until:
            if one.process.poll() is not None:
                raise RuntimeError(f"a service ended with {one.process.returncode} instead of being ready")
            try:
                answer = client.get("/health/ready")
            except httpx2.HTTPError:
                time.sleep(0.05)
                continue
            waits = {waiting["on"] for waiting in answer.json().get("waits_for", ())}
            if answer.status_code == 200 or waits <= {"corpus", "agent", "retriever"}:
                return
            time.sleep(0.05)
    raise TimeoutError("a service was not ready in time")


@contextmanager
def helper(script: Path, *arguments: object) -> Generator[Running]:
    """A script of the bench in a process of its own, which says its address as its first line."""
    command = [sys.executable, str(script), *map(str, arguments)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    one = Running(process)
    try:
        assert process.stdout is not None
        one.url = process.stdout.readline().decode().strip()
        yield one
    finally:
        one.end()


@contextmanager
def open_house() -> Generator[House]:
    """Start the two servers, with the settings that the product has; all is gone afterwards."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="talkdown-bench-")))
        cluster = Postgres(folder / "pg", settings={"max_connections": "300"})
        cluster.prepare()
        process, port = start_on_free_port(cluster.launch)
        stack.callback(stop, process, cluster.launch(port).stop)
        valkey = Valkey(folder / "valkey", durable=True)
        server, at = start_on_free_port(valkey.launch)
        stack.callback(stop, server)
        yield House(cluster.url(port), valkey.url(at), Running(process), Running(server), folder)


@contextmanager
def watching(into: dict[str, float], **groups: Sequence[Running]) -> Generator[None]:
    """Note the CPU seconds that each group of processes uses while the block runs, and ``seconds`` of the clock."""
    before = {name: sum(one.cpu_s for one in group) for name, group in groups.items()}
    began = time.monotonic()
    yield
    into["seconds"] = time.monotonic() - began
    for name, group in groups.items():
        into[name] = sum(one.cpu_s for one in group) - before[name]
