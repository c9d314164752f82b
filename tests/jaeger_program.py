"""Jaeger's program, built once from its Go module and kept: ``python tests/jaeger_program.py`` prints where it is.

::

    deploy/jaeger/go.mod ── go build ──> ~/.cache/talkdown/jaeger-<hash of the module>/jaeger      (static)
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
import venv
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

MODULE = Path(__file__).parents[1] / "deploy" / "jaeger"
TOOL = "github.com/jaegertracing/jaeger/cmd/jaeger"
OLDEST_GO = (1, 24, 6)
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "talkdown"


def program() -> Path:
    """Build Jaeger, which takes minutes, unless it was built before; gives the path of the program."""
    parts = sorted(path for path in MODULE.rglob("*") if path.suffix in (".go", ".mod", ".sum"))
    pinned = hashlib.sha256(b"".join(part.read_bytes() for part in parts)).hexdigest()[:12]
    built = CACHE / f"jaeger-{pinned}" / "jaeger"
    with _alone("jaeger"):
        if not built.exists():
            built.parent.mkdir(parents=True, exist_ok=True)
            unfinished = built.with_suffix(".unfinished")
            build = [str(_go()), "build", "-trimpath", "-ldflags", "-s -w", "-o", str(unfinished), TOOL]
            quiet = {
                "CGO_ENABLED": "0",
                "GOFLAGS": "-mod=readonly -buildvcs=false",
                "GOTOOLCHAIN": "local",
                "GOWORK": "off",
            }
            subprocess.run(["nice", "-n", "10", *build], cwd=MODULE, env={**os.environ, **quiet}, check=True)
            unfinished.rename(built)
    return built


def _go() -> Path:
    """A Go that is new enough: the machine's, or else the one of ``requirements.txt``."""
    for found in (shutil.which("go"), "/usr/local/go/bin/go"):
        if found and Path(found).exists() and _version(Path(found)) >= OLDEST_GO:
            return Path(found)
    pinned = hashlib.sha256((MODULE / "requirements.txt").read_bytes()).hexdigest()[:12]
    home = CACHE / f"go-{pinned}"
    if not (home / ".ready").exists():
        shutil.rmtree(home, ignore_errors=True)
        venv.create(home, with_pip=True)
        install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--require-hashes", "--no-deps"]
        subprocess.run([str(home / "bin/python"), *install, "-r", str(MODULE / "requirements.txt")], check=True)
        (home / ".ready").touch()
    return next(home.glob("lib/python*/site-packages/go/bin/go"))


def _version(go: Path) -> tuple[int, ...]:
    told = subprocess.run([str(go), "env", "GOVERSION"], capture_output=True, text=True, check=False).stdout
    found = re.match(r"go(\d+)\.(\d+)(?:\.(\d+))?", told)
    return tuple(int(part or 0) for part in found.groups()) if found else ()


@contextmanager
def _alone(what: str) -> Generator[None]:
    """One build at a time on this machine; who comes second finds it done."""
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / f"{what}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


if __name__ == "__main__":
    sys.stdout.write(f"{program()}\n")
