"""What the containers may do, as the engine itself says: no more than they need."""

from __future__ import annotations

from typing import Any

import pytest
from docker_stack import SERVICES, Stack

PUBLISHED = {"web": ["3000/tcp"], "jaeger": ["16686/tcp"]}
INSIDE_ALONE = ("postgres", "redis", "ingestor")
ASKING_PROVIDERS = ("retriever", "agent", "voice-gateway")
DATA = {"postgres": "/var/lib/postgresql", "redis": "/data"}


def of(container: dict[str, Any]) -> str:
    """The service that a container belongs to."""
    return str(container["Config"]["Labels"]["com.docker.compose.service"])


def test_no_container_runs_as_root_or_may_become_it(stack: Stack) -> None:
    for container in stack.containers():
        uids = stack.engine.run("top", container["Id"], "-eo", "uid,pid").stdout.splitlines()[1:]
        assert uids, of(container)
        assert "0" not in {line.split()[0] for line in uids}, of(container)
        host = container["HostConfig"]
        assert host["CapDrop"] == ["ALL"], of(container)
        assert not host["CapAdd"], of(container)
        assert "no-new-privileges:true" in host["SecurityOpt"], of(container)
        assert not host["Privileged"], of(container)


def test_nothing_is_written_but_into_volumes_and_memory(stack: Stack) -> None:
    for container in stack.containers():
        name = of(container)
        assert container["HostConfig"]["ReadonlyRootfs"], name
        writable = {mount["Destination"] for mount in container["Mounts"] if mount["RW"]}
        assert writable == ({DATA[name]} if name in DATA else set()), name
    (folder,) = (mount for mount in stack.containers("ingestor")[0]["Mounts"])
    assert (folder["Source"], folder["Destination"], folder["RW"]) == (str(stack.folder), "/folder", False)
    attempt = "touch /folder/x || touch /app/x || echo refused"
    refused = stack.execute("ingestor", "sh", "-c", attempt, check=False)
    assert refused.strip().endswith("refused")


def test_only_the_page_and_the_traces_are_published_and_on_the_loopback_alone(stack: Stack) -> None:
    for container in stack.containers():
        published: dict[str, list[dict[str, str]] | None] = container["NetworkSettings"]["Ports"] or {}
        ports = {port: to for port, to in published.items() if to}
        assert sorted(ports) == PUBLISHED.get(of(container), []), of(container)
        assert {one["HostIp"] for to in ports.values() for one in to} <= {"127.0.0.1"}


def test_the_network_of_the_services_has_no_way_out(stack: Stack) -> None:
    on = {of(container): set(container["NetworkSettings"]["Networks"]) for container in stack.containers()}
    inside, front, egress = (f"{stack.project}_{name}" for name in ("inside", "front", "egress"))
    assert {name for name, networks in on.items() if inside not in networks} == set()
    assert {name for name, networks in on.items() if networks == {inside}} == set(INSIDE_ALONE)
    assert {name for name, networks in on.items() if front in networks} == set(PUBLISHED)
    assert {name for name, networks in on.items() if egress in networks} == set(ASKING_PROVIDERS)
    (known,) = stack.engine.inspect(inside)
    assert known["Internal"] is True
    addresses = stack.containers("agent")[0]["NetworkSettings"]["Networks"]
    assert reaches(stack, "ingestor", addresses[inside]["IPAddress"])
    assert not reaches(stack, "ingestor", addresses[egress]["IPAddress"])


def reaches(stack: Stack, service: str, address: str) -> bool:
    """Whether a container can connect to the agent under an address."""
    code = f"import socket; socket.create_connection(('{address}', 3010), timeout=2); print('reached')"
    return "reached" in stack.execute(service, "python3", "-c", code, check=False)


@pytest.mark.parametrize("service", SERVICES)
def test_an_image_holds_no_tools_of_the_build(stack: Stack, service: str) -> None:
    found = stack.execute(service, "python3", "-c", LOOK)
    assert found.split() == ["10001", "0"]


LOOK = """
import os, importlib.util, shutil
tools = ["pytest", "ruff", "pip", "hatchling", "uv"]
print(os.getuid(), sum(importlib.util.find_spec(tool) is not None for tool in tools) + bool(shutil.which("uv")))
"""


def test_a_stop_is_waited_for_longer_than_running_work_may_take(stack: Stack) -> None:
    for container in stack.containers():
        if of(container) in SERVICES:
            assert container["Config"]["StopTimeout"] > 8, of(container)
            assert container["HostConfig"]["RestartPolicy"]["Name"] == "unless-stopped"
            assert container["HostConfig"]["Memory"] > 0
