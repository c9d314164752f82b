"""The whole product as a process that is started and spoken to from outside: for tests and benchmarks.

::

    with running(folder, data) as product:
        product.save("new.md", "# Visitors\\n\\nThe guest wifi password is plum-29.\\n")
        product.until(lambda: product.finds("plum-29"))
        assert "plum-29" in product.ask("What is the guest wifi password?").text
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from contracts.refreshes import Manifest
from contracts.search import SearchResult
from embedded.data import DataFolder, Run
from embedded.instances import Instance
from embedded.launch import ends_with_parent
from embedded.postgres import Postgres
from embedded.reached import POLL_S, Reached
from embedded.valkey import Valkey

START_S = 120.0
STOP_S = 30.0


@dataclass
class Product(Reached):
    """A running ``talkdown up``."""

    process: subprocess.Popen[str]
    folder: Path
    data: Path
    environment: Mapping[str, str]
    said: list[str] = field(default_factory=list[str])

    @property
    def run(self) -> Run:
        """What the run says of itself."""
        run = DataFolder(self.data).read_run()
        assert run is not None, f"it does not run: {self.said}"
        return run

    @property
    def url(self) -> str:
        """The page, by the loopback's number."""
        return f"http://127.0.0.1:{self.run.port}"

    @property
    def token(self) -> str:
        """The credential of the command line."""
        return self.run.token

    @property
    def instance(self) -> Instance:
        """The product as the commands reach it."""
        return Instance(self.url, self.token, self.run)

    @property
    def redis_url(self) -> str:
        """Where its Valkey is."""
        config = (self.data / "valkey.conf").read_text().split()
        return Valkey(self.data).url(int(config[config.index("port") + 1]))

    @property
    def postgres_url(self) -> str:
        """Where its database is."""
        port = (self.data / "postgres" / "postmaster.pid").read_text().splitlines()[3]
        return Postgres(self.data).url(int(port))

    def pid(self, child: str) -> int | None:
        """The process of a service, of ``Valkey`` or of ``PostgreSQL``, while it has one."""
        return next((pid for name, pid, _ in self.run.children if name == child), None)

    def kill(self, child: str) -> int:
        """``kill -9`` a child; its process id, which nobody has any more."""
        pid = self.until(lambda: self.pid(child))
        os.kill(pid, signal.SIGKILL)
        return pid

    def service(self, name: str) -> Instance:
        """A service behind web, spoken to directly."""
        return Instance(self.run.services[name], "")

    def manifest(self) -> Manifest:
        """What the retriever holds."""
        return Manifest.model_validate(self.service("retriever").ask_json("GET", "/manifest"))

    def search(self, query: str) -> SearchResult:
        """Ask the retriever."""
        return SearchResult.model_validate(self.service("retriever").ask_json("POST", "/search", {"query": query}))

    def finds(self, words: str, path: str | None = None) -> bool:
        """Whether a search for some words finds a passage that holds them, in a document if one is named."""
        return any(words in passage.text and path in (None, passage.path) for passage in self.search(words).passages)

    def trace(self, trace_id: str) -> dict[str, Any] | None:
        """A trace as the embedded trace page has it so far."""
        answer = Instance(self.run.traces, "").request("GET", f"/api/traces/{trace_id}")
        said = json.loads(answer.read())
        return said if answer.status == 200 else None

    def cli(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a command of ``talkdown`` in the same environment."""
        return subprocess.run(
            command(*arguments), capture_output=True, text=True, env=dict(self.environment), timeout=60, check=False
        )

    def stop(self, how: signal.Signals = signal.SIGINT) -> int:
        """Stop it as Ctrl-C does; its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(how)
        try:
            code = self.process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise
        self._listen()
        return code

    def _listen(self) -> None:
        if self.process.stdout and not self.process.stdout.closed:
            self.said += self.process.stdout.read().splitlines()
            self.process.stdout.close()


def command(*arguments: str) -> list[str]:
    """The command line of ``talkdown`` as it is installed beside this Python."""
    script = Path(sys.executable).with_name("talkdown")
    return [str(script), *arguments] if script.exists() else [sys.executable, "-m", "embedded", *arguments]


def environment_in(place: Path, **more: str) -> dict[str, str]:
    """An environment whose data and state are in a folder of their own; the voice is silent unless it is asked for."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("TALKDOWN_")}
    return {
        **kept,
        "XDG_DATA_HOME": str(place / "data"),
        "XDG_STATE_HOME": str(place / "state"),
        "TALKDOWN_VOICE": "simulated",
        **more,
    }


def start(
    folder: Path,
    data: Path,
    environment: Mapping[str, str],
    arguments: Sequence[str] = (),
    prefix: Sequence[str] = (),
) -> Product:
    """Start ``talkdown up`` on a free port, through another command if one is given, and wait until it is ready."""
    process = subprocess.Popen(
        [*prefix, *command("up", str(folder), "--port", "0", "--data", str(data), *arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=dict(environment),
        start_new_session=True,
        preexec_fn=ends_with_parent(signal.SIGTERM),
    )
    product = Product(process, folder, data, environment)
    last = time.monotonic() + START_S
    while not ((run := DataFolder(data).read_run()) and run.ready and run.pid == process.pid):
        if process.poll() is not None or time.monotonic() > last:
            product.stop(signal.SIGTERM)
            raise AssertionError(f"talkdown up is not ready: {' | '.join(product.said)}")
        time.sleep(POLL_S)
    return product


@contextmanager
def running(
    folder: Path,
    data: Path,
    environment: Mapping[str, str] | None = None,
    arguments: Sequence[str] = (),
    prefix: Sequence[str] = (),
) -> Generator[Product]:
    """The product on a folder, for as long as the context lasts."""
    product = start(folder, data, environment or environment_in(data.parent), arguments, prefix)
    try:
        yield product
    finally:
        product.stop()


def copy_of(folder: Path, place: Path) -> Path:
    """A copy of a folder of notes that may be changed."""
    shutil.copytree(folder, place)
    return place
