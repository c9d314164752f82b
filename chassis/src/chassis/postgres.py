"""PostgreSQL as the services use it: a pool in their own schema, and numbered migrations applied at start.

SQL lives in ``.sql`` files: see :mod:`chassis.queries`.

Errors::

    DatabaseError
    ├── MigrationChanged   a migration that was applied is not the file it was
    └── MigrationGap       two files share a number, or an applied one is gone
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import re
import zlib
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql
from psycopg.rows import DictRow, dict_row
from psycopg_pool import AsyncConnectionPool
from pydantic import SecretStr

from chassis.health import Health

log = logging.getLogger(__name__)

Connection = psycopg.AsyncConnection[DictRow]
Pool = AsyncConnectionPool[Connection]

FIRST_WAIT_S, LONGEST_WAIT_S = 0.05, 2.0
POOL_TIMEOUT_S = 5.0
_NUMBERED = re.compile(r"^(\d{4})_[a-z0-9_]+\.sql$")
_SCHEMA = re.compile(r"^[a-z][a-z0-9_]{0,40}$")


class DatabaseError(Exception):
    """The database cannot be used as it is."""


class MigrationChanged(DatabaseError):
    """A migration that was applied is not the file it was: put that back, and change the schema in a new one."""


class MigrationGap(DatabaseError):
    """The numbered migrations do not fit each other, or what was applied."""


HALF_OPEN: dict[str, int] = {
    "tcp_user_timeout": 8_000,
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 2,
}
"""When a server that went without a word counts as gone: after 8,000 ms without an acknowledgement, or 9 s of silence.

A server that comes back under another address resets nothing, and the system alone would wait a quarter of an hour
(https://www.postgresql.org/docs/current/libpq-connect.html#LIBPQ-TCP-USER-TIMEOUT).
"""


@asynccontextmanager
async def open_pool(
    url: SecretStr, *, schema: str, health: Health | None = None, size: int = 10, smallest: int = 1
) -> AsyncGenerator[Pool]:
    """A pool of at most ``size`` connections whose rows are dicts and whose search path is ``schema, public``.

    Waits for the database with growing pauses; ``health`` tells meanwhile, and later whenever it is gone.
    """
    if not _SCHEMA.match(schema):
        raise ValueError(f"a schema is a lower-case word, not {schema!r}")
    conninfo = url.get_secret_value()
    await _wait_for(conninfo, health)
    kwargs: dict[str, Any] = {
        "row_factory": dict_row,
        "autocommit": True,
        "options": f"-c search_path={schema},public",
        "application_name": f"talkdown-{schema}",
        "connect_timeout": 5,
        **HALF_OPEN,
    }
    # Each connection is tried before it is given out: after a restart of the database none of the old ones serves.
    pool = AsyncConnectionPool(
        conninfo,
        connection_class=Connection,
        kwargs=kwargs,
        min_size=smallest,
        max_size=size,
        timeout=POOL_TIMEOUT_S,
        open=False,
        check=_try_out,
    )
    async with pool:
        if health is not None:
            health.check("postgres", _probe(pool))
        try:
            yield pool
        finally:
            if health is not None:
                health.forget("postgres")


async def migrate(pool: Pool, schema: str, folder: Path | Traversable) -> list[int]:
    """Apply the files ``0001_name.sql``… that are not applied yet, each once and whole; gives the numbers it applied.

    Several processes may do it at once: an advisory lock lets them take turns.
    """
    files = _numbered(folder)
    applied: list[int] = []
    async with pool.connection() as connection:
        await connection.execute("select pg_advisory_lock(%s)", [_lock_of(schema)])
        try:
            known = await _known(connection, schema)
            _compare(known, files)
            for number in sorted(files.keys() - known.keys()):
                name, text = files[number]
                async with connection.transaction():
                    await connection.execute(text.encode())
                    await connection.execute(
                        sql.SQL("insert into {} (number, name, checksum) values (%s, %s, %s)").format(_table(schema)),
                        [number, name, _checksum(text)],
                    )
                applied.append(number)
                log.info("migration applied", extra={"schema": schema, "migration": name})
        finally:
            await connection.execute("select pg_advisory_unlock(%s)", [_lock_of(schema)])
    return applied


async def _known(connection: Connection, schema: str) -> dict[int, str]:
    await connection.execute(sql.SQL("create schema if not exists {}").format(sql.Identifier(schema)))
    await connection.execute(
        sql.SQL(
            "create table if not exists {} (number int primary key, name text not null, checksum text not null,"
            " applied_at timestamptz not null default now())"
        ).format(_table(schema))
    )
    rows = await connection.execute(sql.SQL("select number, checksum from {}").format(_table(schema)))
    return {row["number"]: row["checksum"] async for row in rows}


def _compare(known: dict[int, str], files: dict[int, tuple[str, str]]) -> None:
    for number, checksum in known.items():
        if number not in files:
            raise MigrationGap(f"Migration {number:04d} was applied and its file is gone; is this an older version?")
        name, text = files[number]
        if _checksum(text) != checksum:
            raise MigrationChanged(
                f"{name} was changed after it was applied: put the old file back, and change the schema in a new one."
            )


def _numbered(folder: Path | Traversable) -> dict[int, tuple[str, str]]:
    files: dict[int, tuple[str, str]] = {}
    for file in folder.iterdir():
        if not file.name.endswith(".sql"):
            continue
        match = _NUMBERED.match(file.name)
        if match is None:
            raise MigrationGap(f"{file.name} is no migration's name: name it like 0001_what_it_does.sql.")
        if int(match[1]) in files:
            raise MigrationGap(f"Two migrations have the number {match[1]}.")
        files[int(match[1])] = (file.name, file.read_text("utf-8"))
    return files


def _table(schema: str) -> sql.Composable:
    return sql.Identifier(schema, "migrations")


def _checksum(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _lock_of(schema: str) -> int:
    return zlib.crc32(f"talkdown.migrations.{schema}".encode())


async def _wait_for(conninfo: str, health: Health | None) -> None:
    pause, told = FIRST_WAIT_S, False
    while True:
        try:
            connection = await psycopg.AsyncConnection.connect(conninfo, connect_timeout=5, autocommit=True)
        except psycopg.OperationalError as error:
            if not told:
                log.warning("waiting for the database", extra={"error": type(error).__name__})
                told = True
            if health is not None:
                health.waits("postgres", "PostgreSQL does not answer yet")
            await asyncio.sleep(pause)
            pause = min(pause * 2, LONGEST_WAIT_S)
            continue
        await connection.close()
        if health is not None:
            health.arrived("postgres")
        return


async def _try_out(connection: Connection) -> None:
    await connection.execute("select 1")


def _probe(pool: Pool) -> Any:
    async def probe() -> str | None:
        try:
            async with pool.connection(timeout=0.8) as connection:
                await connection.execute("select 1")
        except (psycopg.Error, TimeoutError):
            return "PostgreSQL does not answer"
        return None

    return probe
