"""A real Apache Kafka for tests and benches: one broker, KRaft, on the loopback, with its data in a temporary folder.

::

    tests/kafka/pom.xml --Maven--> ~/.cache/talkdown/kafka/DIGEST/*.jar --java--> formatted storage --> kafka.Kafka

The jars come from Maven Central once, and are kept for as long as the pom stays as it is. ``python
tests/kafka_broker.py`` fetches them ahead, and prints where they are.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from uuid import uuid4

from embedded.errors import ServerUnavailable
from embedded.launch import Launch
from embedded.ports import LOOPBACK, free_port

POM = Path(__file__).parent / "kafka" / "pom.xml"
FETCH_TIMEOUT_S, FORMAT_TIMEOUT_S = 600.0, 60.0
STARTED = b"Kafka Server started"
INSTALL = "apt-get install openjdk-17-jre-headless maven (Java 17 or newer; on a Mac: brew install openjdk maven)"

SMALL = ("-Xms64m", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
"""Starts soon and stays small: a test needs no more."""

SETTINGS: Mapping[str, object] = {
    "process.roles": "broker,controller",
    "node.id": 1,
    "controller.listener.names": "CONTROLLER",
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,DETOUR:PLAINTEXT,CONTROLLER:PLAINTEXT",
    "inter.broker.listener.name": "PLAINTEXT",
    "offsets.topic.replication.factor": 1,
    "offsets.topic.num.partitions": 4,
    "transaction.state.log.replication.factor": 1,
    "transaction.state.log.min.isr": 1,
    "transaction.state.log.num.partitions": 1,
    "share.coordinator.state.topic.replication.factor": 1,
    "share.coordinator.state.topic.min.isr": 1,
    "group.initial.rebalance.delay.ms": 0,
    "group.min.session.timeout.ms": 3000,
    "auto.create.topics.enable": "false",
}


def jars() -> Path:
    """The folder of the broker's jars, fetched when they are not there; raises :class:`ServerUnavailable`."""
    digest = hashlib.sha256(POM.read_bytes()).hexdigest()[:16]
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "talkdown" / "kafka"
    kept = cache / digest
    if not kept.is_dir():
        maven = _program("mvn")
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache) as folder:
            fetched = Path(folder) / "jars"
            goal = ("dependency:copy-dependencies", "-DincludeScope=runtime", f"-DoutputDirectory={fetched}")
            _run((maven, "-B", "-q", "-C", "-f", str(POM), *goal), FETCH_TIMEOUT_S, "Maven could not fetch Kafka")
            try:
                fetched.rename(kept)
            except OSError:  # another run was first
                if not kept.is_dir():
                    raise
    return kept


@dataclass(frozen=True)
class Broker:
    """A broker with its files in a folder of ours.

    ``detour`` is a port of the broker that is reached through another one, where a relay listens: a broker names its
    own address to its clients, so that a relay must be known to it. ``settings`` are laid over :data:`SETTINGS`.
    """

    data: Path
    detour: tuple[int, int] | None = None
    settings: Mapping[str, object] = field(default_factory=dict[str, object])
    java: tuple[str, ...] = SMALL

    def url(self, port: int) -> str:
        """Where a bus finds the broker that listens on ``port``."""
        return f"kafka://{LOOPBACK}:{port}"

    def launch(self, port: int) -> Launch:
        """The broker, ready to be started on a port of the loopback; what it stored before is still there."""
        command = (_program("java"), *self.java, "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn")
        command += ("-Dorg.slf4j.simpleLogger.log.kafka.server.KafkaRaftServer=info", "-cp", f"{jars()}/*")
        self.data.mkdir(parents=True, exist_ok=True)
        config = self.data / "server.properties"
        controller = free_port()
        listens, called = [f"PLAINTEXT://{LOOPBACK}:{port}"], [f"PLAINTEXT://{LOOPBACK}:{port}"]
        if self.detour:
            listens.append(f"DETOUR://{LOOPBACK}:{self.detour[0]}")
            called.append(f"DETOUR://{LOOPBACK}:{self.detour[1]}")
        settings: dict[str, object] = {
            **SETTINGS,
            "listeners": ",".join((*listens, f"CONTROLLER://{LOOPBACK}:{controller}")),
            "advertised.listeners": ",".join(called),
            "controller.quorum.voters": f"1@{LOOPBACK}:{controller}",
            "log.dirs": str(self.data / "logs"),
            **self.settings,
        }
        config.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
        if not (self.data / "logs").exists():
            cluster = urlsafe_b64encode(uuid4().bytes).decode().rstrip("=")
            form = ("kafka.tools.StorageTool", "format", "-t", cluster, "-c", str(config))
            _run((*command, *form), FORMAT_TIMEOUT_S, "Kafka's storage could not be formatted")
        log = self.data / "kafka.log"
        said = log.stat().st_size if log.exists() else 0
        return Launch(
            name="Kafka",
            command=(*command, "kafka.Kafka", str(config)),
            environment={name: value for name, value in os.environ.items() if name in ("PATH", "HOME", "JAVA_HOME")},
            folder=self.data,
            log=log,
            ready=lambda _pid: STARTED in log.read_bytes()[said:],
        )


def _program(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        raise ServerUnavailable(f"Kafka needs {name}, and there is none: {INSTALL}.")
    return found


def _run(command: tuple[str, ...], within_s: float, failed: str) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=within_s, check=False)
    except subprocess.TimeoutExpired:
        raise ServerUnavailable(f"{failed} within {within_s:.0f} s.") from None
    if done.returncode:
        words = [line.strip() for line in (done.stdout + done.stderr).splitlines() if line.strip()]
        raise ServerUnavailable(f"{failed}: {' | '.join(words[-5:]) or 'it said nothing'}")


if __name__ == "__main__":
    print(jars())
