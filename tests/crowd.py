"""Two of each service that may have two, as processes, each knowing the others by a list of addresses.

::

    web, web --> agent, agent --> retriever, retriever          one ingestor, one PostgreSQL, one Valkey
       '-------> voice-gateway, voice-gateway
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.request import urlopen
from uuid import uuid4

import httpx2

from embedded.ports import free_port

PATIENCE_S = 180.0
"""Nine processes start at once, on a machine that may have much else to do."""
MODULES = {"agent": 2, "retriever": 2, "ingestor": 1, "voice_gateway": 2, "web": 2}


@dataclass
class Member:
    """One process."""

    url: str
    process: subprocess.Popen[bytes]

    @property
    def ready(self) -> bool:
        """Whether it says that it is ready."""
        try:
            with urlopen(f"{self.url}/health/ready", timeout=5) as answer:
                return answer.status == 200
        except OSError:
            return False


@dataclass
class Crowd:
    """All of them; what ``kill`` and ``tell_to_stop`` take away is started again by :meth:`restore`."""

    members: dict[str, list[Member]]
    environment: dict[str, str]
    log: Path
    _missing: list[tuple[str, int]] = field(default_factory=list[tuple[str, int]])

    def web(self, number: int) -> httpx2.Client:
        """A client of one web, as its page is one."""
        url = self.members["web"][number].url
        return httpx2.Client(base_url=url, headers={"origin": url}, trust_env=False, timeout=PATIENCE_S)

    def ask(self, number: int, question: str, chat: str | None = None) -> list[dict[str, Any]]:
        """Every frame of the answer that one web streams."""
        body = {"chat_id": chat or str(uuid4()), "question": question}
        with self.web(number) as web, web.stream("POST", "/api/turns", json=body) as answer:
            assert answer.status_code == 200, answer.read()
            return [json.loads(line) for line in answer.iter_lines() if line]

    def start(self, module: str, number: int) -> None:
        """Start one process where it is known to be."""
        url = self.members[module][number].url
        told = {"TALKDOWN_PORT": url.rpartition(":")[2], **self.environment}
        ours = {name: value for name, value in os.environ.items() if not name.startswith(("TALKDOWN_", "OPENAI_"))}
        with self.log.open("ab") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", module], env={**ours, **told}, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
        self.members[module][number] = Member(url, process)

    def end(self, module: str, number: int, how: signal.Signals) -> Member:
        """Send a signal to one."""
        member = self.members[module][number]
        member.process.send_signal(how)
        self._missing.append((module, number))
        return member

    def restore(self) -> None:
        """Start again what was ended, and wait for it."""
        for module, number in self._missing:
            self.members[module][number].process.wait(PATIENCE_S)
            self.start(module, number)
        self._missing.clear()
        self.until(lambda: all(one.ready for group in self.members.values() for one in group))

    def until(self, holds: Callable[[], object]) -> None:
        """Wait for a condition, with a bound."""
        end = time.monotonic() + PATIENCE_S
        while not holds():
            assert time.monotonic() < end, self.log.read_text()[-4000:]
            time.sleep(0.05)


@contextmanager
def gathered(postgres_url: str, redis_url: str, folder: Path, place: Path) -> Generator[Crowd]:
    """Start all of them on a folder of notes, and wait until each is ready."""
    urls = {name: [f"http://127.0.0.1:{free_port()}" for _ in range(count)] for name, count in MODULES.items()}
    listed = {name: ",".join(addresses) for name, addresses in urls.items()}
    environment = {
        "TALKDOWN_MODE": "simulated",
        "TALKDOWN_POSTGRES_URL": postgres_url,
        "TALKDOWN_REDIS_URL": redis_url,
        "TALKDOWN_FOLDER": str(folder),
        "TALKDOWN_AGENT_URL": listed["agent"],
        "TALKDOWN_RETRIEVER_URL": listed["retriever"],
        "TALKDOWN_INGESTOR_URL": listed["ingestor"],
        "TALKDOWN_VOICE_URL": listed["voice_gateway"],
        "TALKDOWN_SCRIPTED_PACE": "50",
        "TALKDOWN_ALLOWED_ORIGINS": listed["web"],
    }
    crowd = Crowd({}, environment, place / "crowd.log")
    with ExitStack() as stack:
        stack.callback(_end, crowd)
        for name, addresses in urls.items():
            crowd.members[name] = []
            for number, url in enumerate(addresses):
                crowd.members[name].append(Member(url, _NOT_STARTED))
                crowd.start(name, number)
        crowd.until(lambda: all(one.ready for group in crowd.members.values() for one in group))
        yield crowd


def _end(crowd: Crowd) -> None:
    every = [one.process for group in crowd.members.values() for one in group if one.process is not _NOT_STARTED]
    for process in every:
        process.send_signal(signal.SIGTERM)
    for process in every:
        try:
            process.wait(15)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


_NOT_STARTED: Any = None
