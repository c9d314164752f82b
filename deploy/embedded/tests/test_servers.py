"""The servers that the embedded run starts, and what is said when they cannot run."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
import redis

from embedded.errors import DataUnusable, PortTaken, ServerUnavailable
from embedded.launch import start, start_on_free_port, stop
from embedded.ports import LOOPBACK, free_port, listen
from embedded.postgres import Postgres
from embedded.valkey import Valkey


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Postgres:
    """A cluster that was made once, in a folder whose name is longer than a Unix socket's path may be."""
    cluster = Postgres(tmp_path_factory.mktemp("data") / ("long" * 30))
    assert cluster.prepare()
    return cluster


@pytest.fixture
def running(made: Postgres) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    process, port = start_on_free_port(made.launch)
    yield process, made.url(port, "postgres")
    stop(process, signal.SIGINT)


def test_what_was_written_survives_a_kill_of_the_server(
    made: Postgres, running: tuple[subprocess.Popen[bytes], str]
) -> None:
    process, url = running
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
        connection.execute("CREATE TABLE IF NOT EXISTS kept AS SELECT '[1,2]'::vector AS v")
    process.kill()
    process.wait()
    assert not made.prepare()
    again, port = start_on_free_port(made.launch)
    try:
        with psycopg.connect(made.url(port, "postgres")) as connection:
            assert connection.execute("SELECT v::text FROM kept").fetchall() == [("[1,2]",)]
    finally:
        stop(again, signal.SIGINT)


def test_a_wrong_password_is_refused(running: tuple[subprocess.Popen[bytes], str]) -> None:
    _, url = running
    with pytest.raises(psycopg.OperationalError, match="password"):
        psycopg.connect(url.replace("talkdown:", "talkdown:x", 1))


def test_a_cluster_of_another_version_is_left_alone_and_named(tmp_path: Path) -> None:
    (tmp_path / "postgres").mkdir()
    (tmp_path / "postgres" / "PG_VERSION").write_text("15\n")
    with pytest.raises(DataUnusable, match=r"PostgreSQL 15.*--data"):
        Postgres(tmp_path).prepare()
    assert (tmp_path / "postgres" / "PG_VERSION").read_text() == "15\n"


def test_a_folder_that_is_no_cluster_is_named(tmp_path: Path) -> None:
    (tmp_path / "postgres").mkdir()
    with pytest.raises(DataUnusable, match="not a PostgreSQL cluster"):
        Postgres(tmp_path).prepare()


def test_an_interrupted_making_of_the_cluster_is_done_again(tmp_path: Path) -> None:
    (tmp_path / "postgres.partial").mkdir()
    (tmp_path / "postgres.partial" / "PG_VERSION").write_text("18\n")
    assert Postgres(tmp_path).prepare()
    assert (tmp_path / "postgres" / "global").is_dir()


@pytest.mark.skipif(sys.platform != "linux" or os.geteuid() != 0, reason="asks how root runs a server")
def test_as_root_the_server_runs_as_somebody_else_even_below_a_closed_folder(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    cluster = Postgres(closed / "data")
    cluster.prepare()
    process, port = start_on_free_port(cluster.launch)
    try:
        status = Path(f"/proc/{process.pid}/status").read_text()
        uid = next(line.split()[1] for line in status.splitlines() if line.startswith("Uid:"))
        assert uid != "0"
        with psycopg.connect(cluster.url(port, "postgres")) as connection:
            assert connection.execute("SELECT 1").fetchone() == (1,)
    finally:
        stop(process, signal.SIGINT)


def test_programs_that_are_missing_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TALKDOWN_POSTGRES_BIN", str(tmp_path))
    monkeypatch.setenv("TALKDOWN_VALKEY_BIN", str(tmp_path / "valkey-server"))
    with pytest.raises(ServerUnavailable, match="TALKDOWN_POSTGRES_URL"):
        Postgres(tmp_path / "data").prepare()
    with pytest.raises(ServerUnavailable, match="TALKDOWN_VALKEY_BIN"):
        Valkey(tmp_path / "data").launch(1)


def test_valkey_keeps_what_was_added_and_asks_for_its_password(tmp_path: Path) -> None:
    server = Valkey(tmp_path)
    process, port = start_on_free_port(server.launch)
    with redis.Redis.from_url(server.url(port)) as client:
        client.xadd("stream", {"type": "kept"})
    stop(process)
    process, port = start_on_free_port(server.launch)
    try:
        with redis.Redis.from_url(server.url(port)) as client:
            assert client.xlen("stream") == 1
        with redis.Redis(port=port) as stranger, pytest.raises(redis.AuthenticationError):
            stranger.ping()
    finally:
        stop(process)


def test_a_damaged_append_only_file_is_set_aside(tmp_path: Path) -> None:
    server = Valkey(tmp_path)
    process, _ = start_on_free_port(server.launch)
    stop(process)
    for file in (tmp_path / "valkey" / "appendonlydir").iterdir():
        if not file.name.endswith(".manifest"):
            file.write_bytes(b"nonsense" * 100)
    with pytest.raises(ServerUnavailable, match="Valkey ended"):
        start_on_free_port(server.launch)
    aside = server.set_aside_broken()
    assert aside is not None
    assert (aside / "appendonlydir").is_dir()
    process, _ = start_on_free_port(server.launch)
    stop(process)


def test_a_port_that_somebody_took_is_given_up_for_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    taken = listen(LOOPBACK, 0)
    ports = iter([int(taken.getsockname()[1]), free_port()])
    monkeypatch.setattr("embedded.launch.free_port", lambda: next(ports))
    process, port = start_on_free_port(Valkey(tmp_path).launch)
    try:
        assert port != taken.getsockname()[1]
    finally:
        stop(process)
        taken.close()


def test_a_taken_port_is_said_with_the_remedy() -> None:
    with socket.create_server((LOOPBACK, 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(PortTaken, match=rf"Port {port} .*--port"):
            listen(LOOPBACK, port)


def test_an_address_of_another_machine_is_not_called_taken() -> None:
    with pytest.raises(PortTaken, match=r"no address of this machine .*--host"):
        listen("198.51.100.7", 0)


def test_a_program_that_ends_at_once_is_reported_with_its_last_words(made: Postgres) -> None:
    with pytest.raises(ServerUnavailable, match="PostgreSQL ended as it started"):
        start(made.launch(99999))
