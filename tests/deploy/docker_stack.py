"""The product as ``docker compose -f deploy/compose.yaml up`` runs it, spoken to from outside."""

from __future__ import annotations

import json
import os
import secrets
import signal
import socket
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from docker_engine import Engine

from contracts.corpus import Corpus
from embedded.instances import Instance
from embedded.reached import Reached

DEPLOY = Path(__file__).parents[2] / "deploy"
SERVICES = ("retriever", "ingestor", "agent", "voice-gateway", "web")
UP_S, DOWN_S, BUILD_S = 400.0, 90.0, 1500.0
LOOPBACK = "127.0.0.1"


@dataclass
class Stack(Reached):
    """A project of the compose file with overlays, on a folder of notes; ``settings`` are its environment."""

    engine: Engine
    project: str
    folder: Path
    settings: dict[str, str]
    overlays: tuple[str, ...] = ()
    deploy: Path = DEPLOY
    beside: tuple[Path, ...] = ()
    """Compose files that do not belong to the product: how builds reach a network here."""
    replicas: dict[str, int] = field(default_factory=dict[str, int])

    @property
    def instance(self) -> Instance:
        """The first replica of web, as commands reach it."""
        return self.pages()[0]

    @property
    def jaeger_url(self) -> str:
        """Where Jaeger's page and query API are."""
        return f"http://{LOOPBACK}:{self.settings['TALKDOWN_JAEGER_PORT']}"

    def compose(self, *arguments: str, bound_s: float = 60.0, check: bool = True) -> str:
        """``docker compose ARGUMENTS``; what it printed."""
        names = ("compose.yaml", *(f"compose.{name}.yaml" for name in self.overlays))
        files = [*(self.deploy / name for name in names), *self.beside]
        chosen = [word for file in files for word in ("--file", str(file))]
        return self.engine.run(
            *("compose", "--project-name", self.project, *chosen, *arguments),
            bound_s=bound_s,
            check=check,
            settings=self.settings,
        ).stdout

    def build(self, *services: str) -> None:
        """Build the images of some services, or of all."""
        self.compose("build", *services, bound_s=BUILD_S)

    def up(self, *overlays: str, scale: Mapping[str, int] | None = None, **settings: str) -> None:
        """Start, or change what runs, and wait until all of it is healthy."""
        self.overlays, self.replicas = overlays, dict(scale or {})
        self.settings = {**self.settings, **settings}
        scaled = [word for name, count in self.replicas.items() for word in ("--scale", f"{name}={count}")]
        bound = ("--wait", "--wait-timeout", f"{UP_S:.0f}")
        self.compose("up", "--detach", "--no-build", "--remove-orphans", *bound, *scaled, bound_s=UP_S + 60)
        self.until(self.is_calm, bound_s=60)

    def down(self, *, volumes: bool = True) -> None:
        """Stop it all; its data go too, unless they are to be kept."""
        self.compose("down", "--remove-orphans", *(["--volumes"] if volumes else []), bound_s=DOWN_S)

    def execute(self, service: str, *command: str, check: bool = True) -> str:
        """Run a command in a service's container, as ``docker compose exec`` does; what it printed."""
        return self.compose("exec", "-T", service, *command, check=check)

    def containers(self, service: str | None = None) -> list[dict[str, Any]]:
        """What the engine knows of the containers, of one service or all of them, in the order of their numbers."""
        label = f"com.docker.compose.service={service}"
        names = self.engine.run(
            *("ps", "--all", "--quiet", "--filter", f"label=com.docker.compose.project={self.project}"),
            *(("--filter", f"label={label}") if service else ()),
        ).stdout.split()
        found = self.engine.inspect(*names)
        return sorted(found, key=lambda container: str(container["Name"]))

    def pages(self) -> list[Instance]:
        """Every replica of web."""
        found: list[Instance] = []
        for container in self.containers("web"):
            published: list[dict[str, str]] = (container["NetworkSettings"]["Ports"] or {}).get("3000/tcp") or []
            found += [Instance(f"http://{LOOPBACK}:{one['HostPort']}", self.token) for one in published]
        assert found, "no web is up"
        return found

    @property
    def token(self) -> str:
        """The credential of the command line."""
        return self.settings["TALKDOWN_CLI_TOKEN"]

    def embedded_nothing_since(self, before: Corpus) -> bool:
        """Whether the index is as it was, by its last refresh too, and one that is asked for finds nothing to do."""
        after, report = self.corpus(), self.refresh()
        as_it_was = (after.documents, after.chunks, after.last_refresh) == (
            before.documents,
            before.chunks,
            before.last_refresh,
        )
        return as_it_was and (report.unchanged, report.added, report.embedded) == (before.documents, 0, 0)

    def trace(self, trace_id: str) -> dict[str, Any] | None:
        """A trace as Jaeger's query API has it so far; nothing while it has none."""
        answer = Instance(self.jaeger_url, "").request("GET", f"/api/traces/{trace_id}")
        said: dict[str, Any] = json.loads(answer.read())
        return said["data"][0] if answer.status == 200 and said.get("data") else None

    def replicas_in(self, trace_id: str) -> set[tuple[str, str]]:
        """The processes that have a part in a trace: each one's service, and what tells it apart."""
        processes: dict[str, dict[str, Any]] = (self.trace(trace_id) or {"processes": {}})["processes"]
        return {
            (str(process["serviceName"]), str(tag["value"]))
            for process in processes.values()
            for tag in process["tags"]
            if tag["key"] == "service.instance.id"
        }

    def is_healthy(self) -> bool:
        """Whether every container is, of those that there are."""
        return all(is_healthy(container) for container in self.containers())

    def is_calm(self) -> bool:
        """Whether every container is healthy, and web sees every service and the whole folder."""
        if not self.is_healthy():
            return False
        try:
            corpus = self.corpus()
        except Exception:  # whatever it is, it is not calm
            return False
        return corpus.state == "current" and all(service.state == "ready" for service in corpus.services)

    def crash(self, service: str) -> None:
        """Kill the first process of a service's container, as the kernel would: Docker has to start it again."""
        os.kill(int(self.containers(service)[0]["State"]["Pid"]), signal.SIGKILL)

    def cut(self, service: str) -> ExitStack:
        """Take a service's container off every network; closing what comes back puts it on them again."""
        container = self.containers(service)[0]
        mending = ExitStack()
        for name, endpoint in container["NetworkSettings"]["Networks"].items():
            aliases = [word for alias in endpoint["Aliases"] or () for word in ("--alias", alias)]
            self.engine.run("network", "disconnect", name, container["Id"])
            mending.callback(self.engine.run, "network", "connect", *aliases, name, container["Id"])
        return mending


def is_healthy(container: Mapping[str, Any]) -> bool:
    """Whether a container runs and, where it is asked, said at its last check, too, that it is healthy."""
    state = container["State"]
    health = state.get("Health") or {"Status": "healthy", "FailingStreak": 0}
    return bool(state["Running"]) and (health["Status"], health["FailingStreak"]) == ("healthy", 0)


def seconds_to_health(containers: list[dict[str, Any]]) -> dict[str, float]:
    """For each container, the seconds from the first one's start until its own first good health check ended."""
    began = min(moment(container["State"]["StartedAt"]) for container in containers)
    took: dict[str, float] = {}
    for container in containers:
        checks: list[dict[str, Any]] = (container["State"].get("Health") or {}).get("Log") or []
        good = [(moment(check["End"]) - began).total_seconds() for check in checks if check["ExitCode"] == 0]
        if good:
            took[container["Name"].lstrip("/")] = min(good)
    return took


def moment(text: str) -> datetime:
    """A time as the engine writes it, with more digits than Python reads."""
    whole, _, rest = text.partition(".")
    digits = rest.rstrip("Z").partition("+")[0].partition("-")[0]
    zone = "+00:00" if text.endswith("Z") else text[-6:]
    return datetime.fromisoformat(f"{whole}.{digits[:6].ljust(6, '0')}{zone}")


def free_ports(count: int) -> int:
    """The first of some free ports in a row, below the range that systems give out by themselves."""
    for first in range(23_000 + secrets.randbelow(4000), 32_000, count):
        with ExitStack() as held:
            try:
                for port in range(first, first + count):
                    held.enter_context(socket.socket()).bind((LOOPBACK, port))
            except OSError:
                continue
            return first
    raise AssertionError("no free ports")


def settings_for(folder: Path) -> dict[str, str]:
    """The environment of a project: its folder, a free port, a credential of its own."""
    first = free_ports(4)
    return {
        "TALKDOWN_FOLDER": str(folder),
        "TALKDOWN_PORT": str(first),
        "TALKDOWN_JAEGER_PORT": str(first + 3),
        "TALKDOWN_JAEGER_URL": f"http://{LOOPBACK}:{first + 3}",
        "TALKDOWN_CLI_TOKEN": secrets.token_urlsafe(16),
        "TALKDOWN_POSTGRES_PASSWORD": secrets.token_urlsafe(16),
    }
