"""The whole product as a process that is started and spoken to from outside: for tests and benchmarks.

::

    with running(folder, data) as product:
        product.save("new.md", "# Visitors\\n\\nThe guest wifi password is plum-29.\\n")
        product.until(lambda: product.finds("plum-29"))
        assert "plum-29" in product.ask("What is the guest wifi password?").text
"""

from __future__ import annotations

import http.client
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar
from uuid import uuid4

from contracts.corpus import Corpus
from contracts.frames import Accepted, AnyFrame, Delta, Done, Error, Sources, frame_adapter
from contracts.refreshes import Manifest, RefreshReport
from contracts.search import SearchResult, Source
from embedded.data import DataFolder, Run
from embedded.instances import Instance
from embedded.launch import ends_with_parent
from embedded.postgres import Postgres
from embedded.valkey import Valkey

START_S = 120.0
STOP_S = 30.0
BOUND_S = 30.0
POLL_S = 0.02

T = TypeVar("T")


@dataclass(frozen=True)
class Answer:
    """Every frame of one turn, in order."""

    frames: tuple[AnyFrame, ...]

    @property
    def text(self) -> str:
        """The answer's text: the joined deltas."""
        return "".join(frame.text for frame in self.frames if isinstance(frame, Delta))

    @property
    def done(self) -> Done | None:
        """The frame that ended it well."""
        return next((frame for frame in self.frames if isinstance(frame, Done)), None)

    @property
    def error(self) -> Error | None:
        """The frame that ended it badly."""
        return next((frame for frame in self.frames if isinstance(frame, Error)), None)

    @property
    def abstained(self) -> bool:
        """Whether it says that the notes do not hold the answer."""
        return self.done is not None and self.done.abstained

    @property
    def trace_id(self) -> str:
        """The trace of the question."""
        return next(frame.trace_id for frame in self.frames if isinstance(frame, Accepted))

    @property
    def turn_id(self) -> str:
        """The turn."""
        return str(next(frame.turn_id for frame in self.frames if isinstance(frame, Accepted)))

    @property
    def cited(self) -> tuple[Source, ...]:
        """The sources that the text points at."""
        sources = next((frame.sources for frame in self.frames if isinstance(frame, Sources)), ())
        return tuple(source for place, source in enumerate(sources, start=1) if f"[{place}]" in self.text)


@dataclass
class Product:
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

    def save(self, path: str, text: str) -> Path:
        """Write a document as an editor does: in place."""
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        return file

    def service(self, name: str) -> Instance:
        """A service behind web, spoken to directly."""
        return Instance(self.run.services[name], "")

    def corpus(self) -> Corpus:
        """The ledger as the page sees it."""
        return Corpus.model_validate(self.instance.ask_json("GET", "/api/corpus"))

    def manifest(self) -> Manifest:
        """What the retriever holds."""
        return Manifest.model_validate(self.service("retriever").ask_json("GET", "/manifest"))

    def search(self, query: str) -> SearchResult:
        """Ask the retriever."""
        return SearchResult.model_validate(self.service("retriever").ask_json("POST", "/search", {"query": query}))

    def finds(self, words: str, path: str | None = None) -> bool:
        """Whether a search for some words finds a passage that holds them, in a document if one is named."""
        return any(words in passage.text and path in (None, passage.path) for passage in self.search(words).passages)

    def refresh(self) -> RefreshReport:
        """Ask for a refresh of the whole folder."""
        return RefreshReport.model_validate(self.instance.ask_json("POST", "/api/corpus/refresh", {}, None))

    def stream(self, question: str, chat: str | None = None) -> Generator[AnyFrame]:
        """Put a question; the frames as they come."""
        body = {"chat_id": chat or str(uuid4()), "question": question}
        yield from self._frames(self.instance.request("POST", "/api/turns", body))

    def resume(self, turn_id: str, after: str | None = None) -> Iterator[AnyFrame]:
        """The frames of a turn after a cursor."""
        query = f"?after={after}" if after else ""
        yield from self._frames(self.instance.request("GET", f"/api/turns/{turn_id}/frames{query}"))

    def ask(self, question: str, chat: str | None = None) -> Answer:
        """Put a question and wait for its end."""
        return Answer(tuple(self.stream(question, chat)))

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

    def until(self, condition: Callable[[], T | None], bound_s: float = BOUND_S) -> T:
        """Wait until a condition gives something true; ``AssertionError`` after the bound."""
        last = time.monotonic() + bound_s
        while True:
            value = condition()
            if value:
                return value
            assert time.monotonic() < last, f"it did not come true within {bound_s:.0f} s"
            time.sleep(POLL_S)

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

    def _frames(self, answer: http.client.HTTPResponse) -> Iterator[AnyFrame]:
        assert answer.status == 200, answer.read().decode(errors="replace")
        with answer:
            while line := answer.readline():
                if line.strip():
                    yield frame_adapter.validate_json(line)

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
