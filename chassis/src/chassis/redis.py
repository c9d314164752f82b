"""Connections to Redis (or Valkey) as the bus and the frames use them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any, cast

import hiredis
from pydantic import SecretStr
from redis.asyncio import BlockingConnectionPool, Connection, ConnectionPool, Redis
from redis.asyncio.connection import AbstractConnection
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import RedisError, ResponseError
from redis.exceptions import TimeoutError as RedisTimeoutError

from chassis.health import Health, Probe

log = logging.getLogger(__name__)

_pack = cast(Callable[[tuple[bytes | str | int, ...]], bytes], hiredis.pack_command)  # its own stub names one argument

LOST = (RedisConnectionError, RedisTimeoutError, OSError)
"""What a command raises when the server is gone."""

CONNECT_TIMEOUT_S = 2.0
ANSWER_TIMEOUT_S = 5.0
MAX_CONNECTIONS = 64
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.05, 1.0


class Wire(Connection):
    """A connection that writes without a task of its own.

    The client's own way, ``asyncio.wait_for``, makes a task for each command, and before Python 3.12 it may swallow a
    cancellation that comes at the wrong moment (https://github.com/python/cpython/issues/81839): then what was told to
    stop goes on for ever.
    """

    async def send_packed_command(self, command: bytes | str | Iterable[bytes], check_health: bool = True) -> None:
        """Connect where needed, and write a packed command."""
        if not self.is_connected:
            await self.connect_check_health(check_health=False)
        if check_health:
            await self.check_health()
        writer = self._writer
        if writer is None:
            raise RedisConnectionError("the connection is closed")
        packed = command.encode() if isinstance(command, str) else command
        try:
            async with asyncio.timeout(self.socket_timeout):
                if isinstance(packed, bytes):
                    writer.write(packed)
                else:
                    writer.writelines(packed)
                await writer.drain()
        except TimeoutError as error:
            await self.disconnect(nowait=True)
            raise RedisTimeoutError("Redis took nothing in time") from error
        except OSError as error:
            await self.disconnect(nowait=True)
            raise RedisConnectionError("the connection broke while writing") from error
        except BaseException:
            await self.disconnect(nowait=True)  # half a command may have been written
            raise


def connect(url: str | SecretStr) -> Redis:
    """A client on a pool of connections; it connects at its first command, and tries a broken connection once more.

    Answers are bytes, in the second version of the protocol (streams come as lists). Close it with ``aclose()``.
    """
    address = url.get_secret_value() if isinstance(url, SecretStr) else url
    # A burst of commands waits for a connection; a pool that raises instead would take it for a lost server.
    pool: ConnectionPool = BlockingConnectionPool.from_url(
        address,
        timeout=ANSWER_TIMEOUT_S,
        connection_class=Wire,
        protocol=2,
        max_connections=MAX_CONNECTIONS,
        socket_connect_timeout=CONNECT_TIMEOUT_S,
        socket_timeout=ANSWER_TIMEOUT_S,
        socket_keepalive=True,
        retry=Retry(NoBackoff(), 1),
        retry_on_error=[RedisConnectionError],
    )
    return Redis.from_pool(pool)


@asynccontextmanager
async def open_redis(url: str | SecretStr, *, health: Health | None = None) -> AsyncGenerator[Redis]:
    """A client that is closed at the end; ``health`` tells whenever the server is gone."""
    redis = connect(url)
    if health is not None:
        health.check("redis", probe(redis))
    try:
        yield redis
    finally:
        if health is not None:
            health.forget("redis")
        await redis.aclose()


def probe(redis: Redis) -> Probe:
    """A check for :class:`chassis.health.Health`."""

    async def ask() -> str | None:
        try:
            await redis.execute_command("PING")
        except ResponseError as error:
            if str(error).startswith("MISCONF"):
                return "Redis cannot write to its disk; make room there"
            return "Redis refuses commands"
        except (RedisError, OSError):
            return "Redis does not answer"
        return None

    return ask


class Line:
    """One connection of its own, for commands that block or that must be cheap; answers come as the parser gives them.

    It has no retries, no callbacks and no decoding. After an error, or a wait that was cancelled, it is not used again.
    """

    def __init__(self, redis: Redis) -> None:
        pool: ConnectionPool = redis.connection_pool
        settings: dict[str, Any] = dict(pool.connection_kwargs) | {
            "socket_timeout": None,
            "retry": Retry(NoBackoff(), 0),
        }
        self._connection: AbstractConnection = pool.connection_class(**settings)
        self.id = 0

    async def __aenter__(self) -> Line:
        try:
            async with asyncio.timeout(CONNECT_TIMEOUT_S + 1):
                await self._connection.connect()
            self.id = int(await self.ask("CLIENT", "ID"))
        except BaseException:
            await self.__aexit__()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        with suppress(*LOST):
            await self._connection.disconnect(nowait=True)

    async def ask(self, *command: bytes | str | int, within: float = ANSWER_TIMEOUT_S) -> Any:
        """Send a command and wait ``within`` seconds for its answer; an error answer is raised."""
        return (await self.ask_all([command], within=within))[0]

    async def ask_all(
        self, commands: Sequence[Sequence[bytes | str | int]], *, within: float = ANSWER_TIMEOUT_S
    ) -> list[Any]:
        """Send commands together and wait ``within`` seconds for all answers; the first error answer is raised."""
        connection = self._connection
        try:
            async with asyncio.timeout(within):
                packed = b"".join([_pack(tuple(command)) for command in commands])
                await connection.send_packed_command(packed, check_health=False)
                answers = [await self._answer() for _ in commands]
        except TimeoutError as error:
            raise RedisTimeoutError("no answer in time") from error
        for answer in answers:
            if isinstance(answer, ResponseError):
                raise answer
        return answers

    async def _answer(self) -> Any:
        try:
            return await cast(Any, self._connection).read_response(disable_decoding=True)
        except ResponseError as error:
            return error


async def ask(redis: Redis, *command: bytes | str | int, **options: object) -> Any:
    """One command on a connection of the pool; ``options`` are for the client's reading of the answer."""
    client = cast(Any, redis)  # its own types lose what the commands answer
    return await client.execute_command(*command, **options)


class Pauses:
    """Growing pauses between attempts to connect, in seconds."""

    def __init__(self) -> None:
        self._next = FIRST_PAUSE_S

    def over(self) -> None:
        """Start again from the shortest."""
        self._next = FIRST_PAUSE_S

    async def rest(self) -> None:
        """Wait, longer each time."""
        await asyncio.sleep(self._next)
        self._next = min(self._next * 2, LONGEST_PAUSE_S)
