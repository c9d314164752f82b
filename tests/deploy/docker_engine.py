"""A Docker engine with Compose: the one that runs here where it can pull images, else one of the tests' own.

::

    an engine that pulls    ─> that one; nothing on it is touched but what the tests brought
    dockerd is installed    ─> an engine of our own in ~/.cache/talkdown/docker; it is stopped, what it built is kept
    neither                 ─> the tests are skipped, and with CI=true they fail

Compose is version 2; where the machine's package is older, Debian's newer one is taken apart into the cache.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from fcntl import LOCK_EX, flock
from pathlib import Path
from typing import Any, NoReturn

import pytest

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "talkdown"
OURS = "talkdown.tests"
"""The label of an engine that may be given stand-ins for official images."""
ENOUGH_COMPOSE = (2, 20)
NEWER_DEBIAN = "trixie"
KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
GROUND = "python:3.13-slim-trixie"
"""The image that those of the services stand on; whoever can pull it can pull the others."""
PULL_S, BOUND_S = 300.0, 120.0
ENGINE_S = 60.0


@dataclass(frozen=True)
class Engine:
    """A running engine, spoken to by the command ``docker``; ``ours``: started for tests."""

    environment: Mapping[str, str]
    ours: bool

    def run(
        self,
        *arguments: str,
        bound_s: float = BOUND_S,
        check: bool = True,
        settings: Mapping[str, str] | None = None,
    ) -> subprocess.CompletedProcess[str]:
        """``docker ARGUMENTS``; a failure is an ``AssertionError`` with what it said, unless ``check`` is off."""
        done = subprocess.run(
            ["docker", *arguments],
            env={**self.environment, **(settings or {})},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=bound_s,
            check=False,
        )
        assert not check or done.returncode == 0, (
            f"docker {' '.join(arguments)}:\n{done.stdout[-2000:]}{done.stderr[-4000:]}"
        )
        return done

    def pulls(self, image: str) -> bool:
        """Whether an official image can be had."""
        return self.run("pull", "--quiet", image, bound_s=PULL_S, check=False).returncode == 0

    def inspect(self, *names: str) -> list[dict[str, Any]]:
        """What the engine knows of containers, networks or images; the value is the engine's own JSON."""
        return json.loads(self.run("inspect", *names).stdout) if names else []

    def has_image(self, name: str) -> bool:
        """Whether an image of this name is there."""
        return self.run("image", "inspect", name, check=False).returncode == 0


def missing(sentence: str) -> NoReturn:
    """Skip for a reason, or fail with it in CI."""
    if os.environ.get("CI", "").lower() in ("1", "true", "yes"):
        pytest.fail(sentence, pytrace=False)
    pytest.skip(sentence)


@contextmanager
def engine() -> Generator[Engine]:
    """The engine, for as long as the context lasts."""
    if not shutil.which("docker"):
        missing("There is no Docker here: install it (on Debian: apt-get install docker.io iptables debootstrap).")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("TALKDOWN_", "COMPOSE_"))}
    running = _info(environment)
    if running is not None:
        found = Engine(environment, ours=f"{OURS}=1" in (running.get("Labels") or []))
        if found.ours or found.pulls(GROUND):
            yield Engine(_with_compose(environment), found.ours)
            return
    if not shutil.which("dockerd") or os.geteuid() != 0:
        missing(
            "The Docker engine here cannot pull images, and one for stand-ins takes root and dockerd."
            if running
            else "No Docker engine runs here, and starting one takes root and dockerd (docker.io, iptables)."
        )
    with _started(environment) as started:
        yield Engine(_with_compose(started), ours=True)


def _info(environment: Mapping[str, str]) -> dict[str, Any] | None:
    done = subprocess.run(
        ["docker", "info", "--format", "{{json .}}"], env=dict(environment), capture_output=True, text=True, check=False
    )
    said: dict[str, Any] = json.loads(done.stdout) if done.returncode == 0 and done.stdout.strip() else {}
    return said if said.get("ServerVersion") else None


@contextmanager
def _started(environment: Mapping[str, str]) -> Generator[dict[str, str]]:
    CACHE.mkdir(parents=True, exist_ok=True)
    place = Path(tempfile.mkdtemp(prefix="talkdown-docker-"))  # short: a socket's path may not pass 107 bytes
    address = f"unix://{place}/docker.sock"
    with (CACHE / "docker.lock").open("w") as lock, (place / "log").open("w") as log:
        flock(lock, LOCK_EX)
        process = subprocess.Popen(
            [
                "dockerd",
                *("--data-root", str(CACHE / "docker"), "--exec-root", str(place / "run")),
                *("--pidfile", str(place / "pid"), "--host", address, "--label", f"{OURS}=1", "--bridge", "none"),
            ],
            env=dict(environment),
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            until = time.monotonic() + ENGINE_S
            reached = {**environment, "DOCKER_HOST": address}
            while _info(reached) is None:
                if process.poll() is not None or time.monotonic() > until:
                    missing(f"dockerd does not start here: {(place / 'log').read_text()[-1500:]}")
                time.sleep(0.2)
            yield reached
        finally:
            process.send_signal(signal.SIGTERM)
            with suppress(subprocess.TimeoutExpired):
                process.wait(ENGINE_S)
            if process.poll() is None:
                process.kill()
            shutil.rmtree(place, ignore_errors=True)


def _with_compose(environment: Mapping[str, str]) -> dict[str, str]:
    if _compose_version(environment) >= ENOUGH_COMPOSE:
        return dict(environment)
    folder = CACHE / "docker-cli"
    newer = {**environment, "DOCKER_CONFIG": str(folder)}
    if _compose_version(newer) < ENOUGH_COMPOSE:
        _take_apart("docker-compose", folder / "cli-plugins")
    if _compose_version(newer) < ENOUGH_COMPOSE:
        missing("Docker Compose 2.20 or newer is not here (the plugin docker compose).")
    return newer


def _compose_version(environment: Mapping[str, str]) -> tuple[int, int]:
    done = subprocess.run(
        ["docker", "compose", "version", "--short"], env=dict(environment), capture_output=True, text=True, check=False
    )
    numbers = done.stdout.strip().removeprefix("v").split(".")
    return (int(numbers[0]), int(numbers[1])) if done.returncode == 0 and len(numbers) > 2 else (0, 0)


def _take_apart(package: str, into: Path) -> None:
    """A newer Debian's package of a plugin, which is not installed: the plugin is one program."""
    mirror = debian_mirror()
    if mirror is None:
        return
    with tempfile.TemporaryDirectory(prefix="talkdown-apt-") as name:
        place = Path(name)
        place.chmod(0o755)
        for folder in ("lists/partial", "cache/archives/partial", "package"):
            (place / folder).mkdir(parents=True)
        (place / "sources.list").write_text(f"deb [signed-by={KEYRING}] {mirror} {NEWER_DEBIAN} main\n")
        apt = [
            "apt-get",
            "-qq",
            *("-o", f"Dir::Etc::SourceList={place}/sources.list", "-o", "Dir::Etc::SourceParts=/dev/null"),
            *("-o", f"Dir::State::Lists={place}/lists", "-o", f"Dir::Cache={place}/cache"),
        ]
        for command in (
            [*apt, "update"],
            [*apt, "download", package],
            ["sh", "-c", f"dpkg -x {package}_*.deb package"],
        ):
            done = subprocess.run(command, cwd=place, capture_output=True, text=True, timeout=BOUND_S, check=False)
            assert done.returncode == 0, f"{' '.join(command)}: {done.stdout[-1000:]}{done.stderr[-1000:]}"
        into.mkdir(parents=True, exist_ok=True)
        for plugin in (place / "package").rglob(f"cli-plugins/{package}"):
            shutil.copy2(plugin, into / package)


def debian_mirror() -> str | None:
    """The address that this machine takes Debian's packages from; nothing where it is no Debian."""
    if not shutil.which("apt-get"):
        return None
    told = subprocess.run(
        ["apt-get", "indextargets", "--format", "$(LABEL) $(REPO_URI)", "Created-By: Packages"],
        capture_output=True,
        text=True,
        check=False,
    )
    return next((line.split()[1] for line in told.stdout.splitlines() if line.startswith("Debian ")), None)
