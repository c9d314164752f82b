"""The bus over Redis Streams: one stream a partition, consumer groups, and a lease a partition.

::

    publish --XADD--> talkdown.documents.3 --XREADGROUP by the one consumer that has the lease of 3--> Worker
                                                                        XACK in batches <-- done

The consumers of a group share its partitions by leases, so that a key is handled by one process at a time; the lease
is renewed while the process lives, however slow its handlers are. A consumer that takes over a partition claims what
the last one left pending.
"""

from __future__ import annotations

import logging
import os
import secrets
import socket
from typing import Any, cast

from redis.asyncio import Redis
from redis.exceptions import ResponseError

from chassis import conventions
from chassis.bus.errors import BusUnavailable, LetterNotFound
from chassis.bus.letters import letter_of
from chassis.bus.port import GaveUp, Handlers, Options
from chassis.bus.redis_consumer import RedisConsumer
from chassis.bus.scripts import Scripts
from chassis.bus.sending import Sender
from chassis.bus.wire import DEAD, Fields, fields_of, new_id, partition_of, split, stream_name
from chassis.redis import LOST, ask
from chassis.telemetry import PRODUCER, inject, span, traceparent_of
from contracts.corpus import DeadLetter, Replayed
from contracts.events import Event

log = logging.getLogger(__name__)

SYSTEM = "redis"


class RedisBus:
    """The bus over one Redis server."""

    def __init__(self, redis: Redis, service: str, options: Options) -> None:
        self._redis = redis
        self._options = options
        self._scripts = Scripts(redis)
        self._sender = Sender(redis, options.publish_within_s)
        self._name = f"{service}-{socket.gethostname()}-{os.getpid()}"

    async def publish(self, *events: Event) -> None:
        """One pipeline; in a transaction where an event travels in parts, so that they stand together."""
        if not events:
            return
        stream = events[0].stream
        attributes: dict[str, str | int] = {
            conventions.MESSAGING_SYSTEM: SYSTEM,
            conventions.MESSAGING_OPERATION_NAME: conventions.SEND,
            conventions.MESSAGING_OPERATION_TYPE: conventions.SEND,
            conventions.MESSAGING_DESTINATION: stream,
            conventions.MESSAGING_BATCH_COUNT: len(events),
        }
        with span(f"{conventions.SEND} {stream}", attributes, kind=PRODUCER) as current:
            traceparent = traceparent_of(current)
            commands: list[tuple[bytes | str, ...]] = []
            for event in events:
                fields = fields_of(event, traceparent)
                name = stream_name(event.stream, partition_of(fields[b"key"], self._options.partitions))
                commands += [
                    ("XADD", name, "*", *flat(part))
                    for part in split(fields, self._options.part_bytes, self._options.largest_bytes)
                ]
            if len(commands) > len(events):
                commands = [("MULTI",), *commands, ("EXEC",)]
            await self._sender.send(commands)

    async def close(self) -> None:
        """Close what this bus opened itself."""
        await self._sender.close()

    async def consume(
        self, stream: str, group: str, handlers: Handlers, *, concurrency: int = 16, gave_up: GaveUp | None = None
    ) -> None:
        """See :class:`chassis.bus.port.Bus`."""
        consumer = RedisConsumer(
            self._redis,
            self._scripts,
            stream,
            group,
            f"{self._name}-{secrets.token_hex(4)}",
            handlers,
            self._options,
            concurrency=concurrency,
            gave_up=gave_up,
        )
        await consumer.run()

    async def lag(self, stream: str, group: str) -> int:
        """See :class:`chassis.bus.port.Bus`."""
        behind = 0
        for partition in range(self._options.partitions):
            name = stream_name(stream, partition)
            try:
                told = await self._ask("XINFO GROUPS", name)
            except ResponseError:  # nothing was published there yet
                continue
            mine = next((known for known in told if known["name"] == group.encode()), None)
            if mine is None:
                behind += int(await self._ask("XLEN", name))
                continue
            unread = mine["lag"]
            if unread is None:  # the server lost count, as it does where a group was set to an id by hand
                unread = len(await self._ask("XRANGE", name, b"(" + mine["last-delivered-id"], "+"))
            behind += int(unread) + int(mine["pending"])
        return behind

    async def dead_letters(self, limit: int = 100) -> tuple[DeadLetter, ...]:
        """See :class:`chassis.bus.port.Bus`."""
        entries = await self._ask("XREVRANGE", DEAD, "+", "-", "COUNT", limit)
        return tuple(letter_of(place.decode(), fields) for place, fields in entries)

    async def replay(self, letter: str) -> Replayed:
        """See :class:`chassis.bus.port.Bus`."""
        try:
            found = await self._ask("XRANGE", DEAD, letter, letter)
        except ResponseError:  # no id of a stream
            found = []
        if not found:
            raise LetterNotFound(letter)
        dead = cast(Fields, found[0][1])
        event_id = new_id()
        fields = {
            b"type": dead[b"type"],
            b"id": event_id.encode(),
            b"key": dead[b"key"],
            b"data": dead[b"data"],
            b"only": dead[b"group"],
        }
        if traceparent := inject() or dead.get(b"traceparent", b"").decode():
            fields[b"traceparent"] = traceparent.encode()
        place = await self._scripts.replay([DEAD, dead[b"partition_stream"]], [letter, *flat(fields)])
        if place is None:
            raise LetterNotFound(letter)
        log.info("a dead letter was replayed", extra={"letter": letter, "event_id": event_id})
        return Replayed(id=letter, event_id=event_id)

    async def _ask(self, *command: bytes | str | int) -> Any:
        try:
            return await ask(self._redis, *command)
        except LOST as error:
            raise BusUnavailable("Redis does not answer; try again in a moment.") from error


def flat(fields: Fields) -> list[bytes]:
    """Fields as a command takes them: name, value, name, value."""
    return [part for pair in fields.items() for part in pair]
