"""The five services, as the embedded run starts them: each as ``python -m NAME``, on a socket that it inherits.

::

    web            PORT (3000)      the only one that a browser speaks to
    ingestor  retriever  agent  voice-gateway     free ports of the loopback

A socket is bound by the supervisor and outlives a service that dies: whoever connects meanwhile waits for its next life
instead of being refused, and no other program can take the port.
"""

from __future__ import annotations

import http.client
import json
import os
import sys
from collections.abc import Container, Mapping
from dataclasses import dataclass
from pathlib import Path
from socket import socket

from embedded.children import Child
from embedded.data import DataFolder
from embedded.launch import Launch
from embedded.ports import LOOPBACK, listen

MODULES = {
    "retriever": "retriever",
    "ingestor": "ingestor",
    "agent": "agent",
    "voice-gateway": "voice_gateway",
    "web": "web",
}
"""In the order of their starts: what takes longest to come up is first."""
STAGE = {"web": 0, "voice-gateway": 0, "ingestor": 0, "agent": 0, "retriever": 0, "Valkey": 1, "PostgreSQL": 2}
MODELS = frozenset({"ears", "mouth"})
"""What the voice is loading while everything else works already."""
PROBE_TIMEOUT_S = 2.0


@dataclass(frozen=True)
class Places:
    """The bound sockets of the services."""

    sockets: Mapping[str, socket]

    @classmethod
    def bind(cls, host: str, port: int) -> Places:
        """Bind web to what was asked for, and the others to free ports; :class:`PortTaken` when web's is not free."""
        web = listen(host, port)
        return cls({**{name: listen(LOOPBACK, 0) for name in MODULES if name != "web"}, "web": web})

    def port(self, name: str) -> int:
        """The port of a service."""
        return int(self.sockets[name].getsockname()[1])

    def url(self, name: str) -> str:
        """Where a service is reached from this machine."""
        return f"http://{LOOPBACK}:{self.port(name)}"

    def close(self) -> None:
        """Let go of the ports."""
        for bound in self.sockets.values():
            bound.close()


def environment(
    places: Places, *, folder: Path, data: DataFolder, shared: Mapping[str, str], inherited: Mapping[str, str]
) -> dict[str, str]:
    """What every service is told, over what the person's own environment says; ``shared`` wins over both."""
    ours = {
        "TALKDOWN_FOLDER": str(folder),
        "TALKDOWN_DATA": str(data.path / "services"),
        "TALKDOWN_AGENT_URL": places.url("agent"),
        "TALKDOWN_RETRIEVER_URL": places.url("retriever"),
        "TALKDOWN_INGESTOR_URL": places.url("ingestor"),
        "TALKDOWN_VOICE_URL": places.url("voice-gateway"),
        "PYTHONUNBUFFERED": "1",
    }
    kept = {name: value for name, value in inherited.items() if name not in ("TALKDOWN_HOST", "TALKDOWN_LISTEN_FD")}
    return {**kept, **ours, **shared}


def service(name: str, places: Places, told: Mapping[str, str], data: DataFolder) -> Child:
    """A service as a child of the supervisor."""
    bound = places.sockets[name]
    number, port = bound.fileno(), places.port(name)

    def launch() -> Launch:
        return Launch(
            name=name,
            command=(sys.executable, "-m", MODULES[name]),
            environment={**told, "TALKDOWN_LISTEN_FD": str(number), "TALKDOWN_PORT": str(port)},
            folder=data.path / "services",
            log=data.logs / f"{name}.log",
            ready=lambda _pid: is_ready(port, but_for=MODELS),
            listening=number,
            module=MODULES[name],
        )

    return Child(name, launch, STAGE[name])


def is_ready(port: int, but_for: Container[str] = ()) -> bool:
    """Whether the service on a port says that it is ready, or waits for nothing but what is named."""
    status, body = health(port)
    return status == 200 or (status == 503 and all(on in but_for for on in waited_for(body)))


def waited_for(body: Mapping[str, object]) -> list[str]:
    """What a service that is not ready waits for; one that stops waits for its end."""
    reasons = body.get("waits_for")
    if body.get("status") != "waiting" or not isinstance(reasons, list) or not reasons:
        return ["its end"]
    return [str(reason["on"]) for reason in reasons]  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]


def health(port: int) -> tuple[int, dict[str, object]]:
    """What ``/health/ready`` of a port answers: its status (0 when nothing does) and its body."""
    connection = http.client.HTTPConnection(LOOPBACK, port, timeout=PROBE_TIMEOUT_S)
    try:
        connection.request("GET", "/health/ready")
        answer = connection.getresponse()
        body: object = json.loads(answer.read() or b"{}")
        return answer.status, body if isinstance(body, dict) else {}  # pyright: ignore[reportUnknownVariableType]
    except (OSError, http.client.HTTPException, ValueError):
        return 0, {}
    finally:
        connection.close()


def inherited_environment() -> dict[str, str]:
    """The person's environment."""
    return dict(os.environ)
