"""What every test of the repository may ask for.

==================  ========  ==================================================================================
fixture             lives     gives
==================  ========  ==================================================================================
postgres_server     session   :class:`PostgresServer`: a real PostgreSQL with pgvector; ``fresh()`` makes a database
postgres_url        test      the URL of a fresh, empty database (the extension ``vector`` is in it), dropped after
valkey_server       session   :class:`ValkeyServer`: a real Valkey
valkey_url          test      the URL of an empty database of it, flushed before and after
kafka_server        session   :class:`KafkaServer`: a real Apache Kafka, one broker
kafka_url           test      the URL of a bus on it with topics and groups of its own
measured            test      what is measured meanwhile: ``measured("talkdown.turn.duration")`` gives the data points
only_loopback       test      always on: a test that reaches for an address beyond this machine fails
==================  ========  ==================================================================================

Servers: ``TALKDOWN_TEST_POSTGRES_URL`` (a role that may create databases), ``TALKDOWN_TEST_VALKEY_URL`` and
``TALKDOWN_TEST_KAFKA_URL`` win; else the bundled programs, and a Kafka from Maven Central, are started in a temporary
folder. Without either a test is skipped on a laptop and fails with ``CI=true``. The product as a whole, running, is
``running_product`` of ``tests/conftest.py``.

The voice is silent unless a test asks for another: its models take seconds to load, and most of a gigabyte.
"""

from __future__ import annotations

import ipaddress
import os
import re
import shutil
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import urlsplit, urlunsplit
from uuid import uuid4

import psycopg
import pytest
import redis
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from psycopg import sql

from chassis import metrics, telemetry
from chassis.settings import ServiceSettings
from embedded.errors import EmbeddedError
from embedded.launch import start_on_free_port, stop
from embedded.ports import free_port
from embedded.postgres import Postgres
from embedded.valkey import Valkey

sys.path.insert(0, str(Path(__file__).parent / "tests"))

from kafka_broker import Broker

TEMPLATE = "talkdown_template"
ALARM_AGAIN_S = 0.5

os.environ.setdefault("TALKDOWN_VOICE", "simulated")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Iterator[None]:
    """Ring the alarm of a test that takes too long again and again.

    An event loop only logs what is raised in a callback of its own, so that one alarm may go by unheard.
    """
    left, _ = signal.getitimer(signal.ITIMER_REAL)
    until = time.monotonic() + left
    signal.setitimer(signal.ITIMER_REAL, left, ALARM_AGAIN_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, max(0.0, until - time.monotonic()))


def _missing(what: str, error: Exception) -> NoReturn:
    sentence = f"{what} cannot be started here: {error}"
    if os.environ.get("CI", "").lower() in ("1", "true", "yes"):
        pytest.fail(sentence, pytrace=False)
    pytest.skip(sentence)


@dataclass(frozen=True)
class PostgresServer:
    """A running PostgreSQL; ``url`` is that of its maintenance database."""

    url: str

    def fresh(self) -> str:
        """Make an empty database with pgvector in it, and give its URL."""
        name = f"test_{uuid4().hex}"
        self._do(
            sql.SQL("CREATE DATABASE {} TEMPLATE {} STRATEGY FILE_COPY").format(
                sql.Identifier(name), sql.Identifier(TEMPLATE)
            )
        )
        return self.url_of(name)

    def drop(self, url: str) -> None:
        """Drop a database that :meth:`fresh` made, ending whoever is still in it."""
        name = urlsplit(url).path.removeprefix("/")
        self._do(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))

    def url_of(self, database: str) -> str:
        """The URL of another database of the same server."""
        return urlunsplit(urlsplit(self.url)._replace(path=f"/{database}"))

    def make_template(self) -> None:
        """Make the database that fresh ones are copied from."""
        self._do(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(TEMPLATE)))
        self._do(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(TEMPLATE)))
        with psycopg.connect(self.url_of(TEMPLATE), autocommit=True) as connection:
            connection.execute("CREATE EXTENSION vector")

    def _do(self, statement: sql.Composed) -> None:
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(statement)


@dataclass(frozen=True)
class ValkeyServer:
    """A running Valkey; ``url`` is that of its database 0."""

    url: str

    def url_of(self, database: int) -> str:
        """The URL of one of its databases."""
        return urlunsplit(urlsplit(self.url)._replace(path=f"/{database}"))


@pytest.fixture(scope="session")
def servers_folder() -> Iterator[Path]:
    """A short temporary folder for the servers of the session, removed when they have stopped."""
    folder = Path(tempfile.mkdtemp(prefix="talkdown-tests-"))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def postgres_server(servers_folder: Path) -> Iterator[PostgresServer]:
    """One PostgreSQL a session; without fsync, since its data ends with it."""
    named = os.environ.get("TALKDOWN_TEST_POSTGRES_URL")
    if named:
        server = PostgresServer(named)
        server.make_template()
        yield server
        return
    cluster = Postgres(servers_folder / "pg", settings={"fsync": "off", "full_page_writes": "off"})
    try:
        cluster.prepare()
        process, port = start_on_free_port(cluster.launch)
    except EmbeddedError as error:
        _missing("PostgreSQL", error)
    try:
        server = PostgresServer(cluster.url(port, "postgres"))
        server.make_template()
        yield server
    finally:
        stop(process, cluster.launch(port).stop)


@pytest.fixture
def postgres_url(postgres_server: PostgresServer) -> Iterator[str]:
    """The URL of a fresh database with pgvector."""
    url = postgres_server.fresh()
    yield url
    postgres_server.drop(url)


@pytest.fixture(scope="session")
def valkey_server(servers_folder: Path) -> Iterator[ValkeyServer]:
    """One Valkey a session, in memory alone."""
    named = os.environ.get("TALKDOWN_TEST_VALKEY_URL")
    if named:
        yield ValkeyServer(named)
        return
    server = Valkey(servers_folder / "valkey", durable=False)
    try:
        process, port = start_on_free_port(server.launch)
    except EmbeddedError as error:
        _missing("Valkey", error)
    try:
        yield ValkeyServer(server.url(port))
    finally:
        stop(process)


@pytest.fixture
def valkey_url(valkey_server: ValkeyServer) -> Iterator[str]:
    """The URL of an empty database of the session's Valkey."""
    url = valkey_server.url_of(9)
    with redis.Redis.from_url(url) as client:
        client.flushdb()
        yield url
        client.flushdb()


@dataclass(frozen=True)
class KafkaServer:
    """A running Kafka; ``url`` is that of a bus on it under its usual name.

    ``detour`` is a port of it, and the one by which it is reached there where a relay listens; none of a server of
    yours.
    """

    url: str
    detour: tuple[int, int] | None = None

    def url_of(self, name: str) -> str:
        """The URL of a bus whose topics and groups begin with a name."""
        return f"{self.url}/{name}"


@pytest.fixture(scope="session")
def kafka_server(servers_folder: Path) -> Iterator[KafkaServer]:
    """One Kafka a session; its data ends with it."""
    named = os.environ.get("TALKDOWN_TEST_KAFKA_URL")
    if named:
        yield KafkaServer(named)
        return
    detour = free_port(), free_port()
    broker = Broker(servers_folder / "kafka", detour)
    try:
        process, port = start_on_free_port(broker.launch)
    except EmbeddedError as error:
        _missing("Kafka", error)
    try:
        yield KafkaServer(broker.url(port), detour)
    finally:
        stop(process, signal.SIGKILL)  # what it stores ends with it


@pytest.fixture
def kafka_url(kafka_server: KafkaServer) -> str:
    """The URL of a bus with topics and groups of its own; they stay until the server ends, which costs little."""
    return kafka_server.url_of(f"test-{uuid4().hex[:12]}")


@pytest.fixture
def measured() -> Iterator[Callable[[str], list[Any]]]:
    """The data points of a metric by its name, of what is measured while the test runs."""
    reader = InMemoryMetricReader()
    telemetry.setup("test", ServiceSettings(), readers=[reader])
    seen: dict[str, list[Any]] = {}

    def points(name: str) -> list[Any]:
        seen.update(metrics.reading(reader))
        return seen.get(name, [])

    yield points
    telemetry.setup("test", ServiceSettings())


@dataclass
class Reaches:
    """The addresses beyond this machine that a test reached for."""

    seen: list[str] = field(default_factory=list[str])

    def check(self, host: object) -> None:
        """Refuse an address that is not this machine's own."""
        if not _is_here(host):
            self.seen.append(str(host))
            raise OSError(f"tests do not leave this machine, and this one reached for {host}")


def _is_here(host: object) -> bool:
    if isinstance(host, bytes):
        host = host.decode(errors="replace")
    if host is None or not isinstance(host, str) or host in ("", "localhost", socket.gethostname()):
        return True
    try:
        address = ipaddress.ip_address(re.sub(r"%.*$", "", host))
    except ValueError:
        return host.endswith(".localhost")
    return address.is_loopback or address.is_unspecified


@pytest.fixture(autouse=True)
def only_loopback(monkeypatch: pytest.MonkeyPatch) -> Iterator[Reaches]:
    """Fail a test that connects to, or looks up, anything beyond this machine, even where the product hides it."""
    reaches = Reaches()
    connect, connect_ex, getaddrinfo = socket.socket.connect, socket.socket.connect_ex, socket.getaddrinfo

    def guarded_connect(self: socket.socket, address: Any) -> None:
        if self.family in (socket.AF_INET, socket.AF_INET6):
            reaches.check(address[0])
        connect(self, address)

    def guarded_connect_ex(self: socket.socket, address: Any) -> int:
        if self.family in (socket.AF_INET, socket.AF_INET6):
            reaches.check(address[0])
        return connect_ex(self, address)

    def guarded_getaddrinfo(host: Any, *rest: Any, **named: Any) -> Any:
        reaches.check(host)
        return getaddrinfo(host, *rest, **named)

    monkeypatch.setattr(socket.socket, "connect", guarded_connect)
    monkeypatch.setattr(socket.socket, "connect_ex", guarded_connect_ex)
    monkeypatch.setattr(socket, "getaddrinfo", guarded_getaddrinfo)
    yield reaches
    if reaches.seen:
        pytest.fail(f"the test reached beyond this machine: {', '.join(reaches.seen)}", pytrace=False)
