"""Opening the bus that an address names."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

from chassis.bus.errors import BusError
from chassis.bus.memory import MemoryBus
from chassis.bus.port import Bus, Options
from chassis.health import Health
from chassis.redis import open_redis

SCHEMES = ("redis", "rediss", "unix", "valkey", "kafka", "memory")


@asynccontextmanager
async def open_bus(
    url: str, *, service: str, options: Options | None = None, health: Health | None = None
) -> AsyncGenerator[Bus]:
    """The bus at ``redis://``, ``kafka://`` or ``memory://``, as ``service``; ``health`` tells when it is gone."""
    scheme = urlsplit(url).scheme
    how = options or Options()
    if scheme == "memory":
        yield MemoryBus(how)
    elif scheme == "kafka":
        from chassis.bus.kafka import open_kafka

        async with open_kafka(url, how, health) as bus:
            yield bus
    elif scheme in SCHEMES:
        from chassis.bus.redis import RedisBus

        async with open_redis(url.replace("valkey://", "redis://", 1), health=health) as redis:
            bus = RedisBus(redis, service, how)
            try:
                yield bus
            finally:
                await bus.close()
    else:
        raise BusError(f"A bus has an address like redis://, kafka:// or memory://, not {scheme or 'none'}://.")
