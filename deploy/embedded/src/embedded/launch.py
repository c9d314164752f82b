"""A program that is ready to be started, and how one is started and stopped without a loop (for tests and checks)."""

from __future__ import annotations

import ctypes
import importlib.util
import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from embedded.errors import ServerUnavailable
from embedded.ports import free_port

START_TIMEOUT_S = 30.0
STOP_TIMEOUT_S = 10.0
_PR_SET_PDEATHSIG = 1


@dataclass(frozen=True)
class Launch:
    """One program: its command line, its environment, where its output goes, and when it is ready to serve.

    ``ready`` is asked again and again with the process's id; ``become`` runs in the child before the program does.
    ``stop`` is the signal that asks it to end in good order. ``listening`` is a socket that it inherits, and ``module``
    the Python module that the command line runs, where it does.
    """

    name: str
    command: tuple[str, ...]
    environment: Mapping[str, str]
    folder: Path
    log: Path
    ready: Callable[[int], bool]
    become: Callable[[], None] | None = None
    stop: signal.Signals = signal.SIGTERM
    listening: int | None = None
    module: str | None = None


def start(launch: Launch, timeout_s: float = START_TIMEOUT_S) -> subprocess.Popen[bytes]:
    """Start a program in a session of its own and wait until it is ready.

    Raises :class:`ServerUnavailable` with the end of its log when it ends first or is not ready in time.
    """
    with launch.log.open("ab") as log:
        process = subprocess.Popen(
            launch.command,
            cwd=launch.folder,
            env=dict(launch.environment),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            preexec_fn=ends_with_parent(launch.stop, launch.become),
        )
    until = time.monotonic() + timeout_s
    while not launch.ready(process.pid):
        if process.poll() is not None:
            raise ServerUnavailable(f"{launch.name} ended as it started: {last_words(launch.log)}")
        if time.monotonic() > until:
            stop(process, launch.stop)
            raise ServerUnavailable(f"{launch.name} was not ready within {timeout_s:.0f} s: {last_words(launch.log)}")
        time.sleep(0.01)
    return process


def stop(process: subprocess.Popen[bytes], how: signal.Signals = signal.SIGTERM) -> None:
    """Ask a program to end, and end it if it does not."""
    if process.poll() is None:
        process.send_signal(how)
        try:
            process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def last_words(log: Path, lines: int = 5, since: int = 0) -> str:
    """The last lines of a log, for a message; only what stands after so many bytes."""
    try:
        text = log.read_bytes()[since:].decode(errors="replace")
    except OSError as error:
        return f"its log cannot be read ({error.strerror})"
    return " | ".join(_readable(line) for line in text.strip().splitlines()[-lines:]) or "it said nothing"


def _readable(line: str) -> str:
    """A line of a structured log as its message, and where the error was; any other line as it is."""
    try:
        said = json.loads(line)
        return " ".join((str(said["message"]), *(str(place) for place in said.get("at", ())[-1:])))
    except (ValueError, TypeError, KeyError):
        return line.strip()


def ends_with_parent(how: signal.Signals, become: Callable[[], None] | None = None) -> Callable[[], None] | None:
    """What a child does before its program: become who it shall be, and ask for a signal when its parent dies (Linux).

    So a test run that is killed leaves no server behind. Becoming somebody else forgets the wish, so it comes first.
    """
    if sys.platform != "linux":
        return become
    libc = ctypes.CDLL(None)  # loaded before the fork: loading takes locks

    def prepare() -> None:
        if become:
            become()
        libc.prctl(_PR_SET_PDEATHSIG, int(how), 0, 0, 0)

    return prepare


def start_on_free_port(launch_on: Callable[[int], Launch], attempts: int = 5) -> tuple[subprocess.Popen[bytes], int]:
    """Start a program on a port that was free a moment ago, and on another when somebody took it in between."""
    for left in reversed(range(attempts)):
        port = free_port()
        try:
            return start(launch_on(port)), port
        except ServerUnavailable as error:
            if not left or not is_collision(str(error)):
                raise
    raise AssertionError("unreachable: the last attempt returns or raises")


def is_collision(words: str) -> bool:
    """Whether a server's last words say that its port was taken."""
    return "address already in use" in words.lower()


def folder_of(package: str) -> Path | None:
    """Where a package's files are, found without running its code; ``None`` when it is not installed."""
    spec = importlib.util.find_spec(package)
    return Path(spec.origin).parent if spec and spec.origin else None
