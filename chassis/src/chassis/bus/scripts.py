"""The Lua scripts of the Redis adapter, each one step on the server."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import resources
from typing import Any, cast

from redis.asyncio import Redis
from redis.commands.core import AsyncScript

Words = Sequence[bytes | str | int | float]


class Scripts:
    """The scripts, loaded into the server when it does not know them yet."""

    def __init__(self, redis: Redis) -> None:
        folder = resources.files("chassis.bus.lua")
        self._scripts: dict[str, AsyncScript] = {
            file.name.removesuffix(".lua"): redis.register_script(file.read_text("utf-8"))
            for file in folder.iterdir()
            if file.name.endswith(".lua")
        }

    async def balance(self, keys: Words, args: Words) -> list[int]:
        """Renew a consumer's lease: its fair share of partitions, how many are new to it, and those that it has."""
        return await self._run("balance", keys, args)

    async def leave(self, keys: Words, args: Words) -> None:
        """Give up a consumer's leases."""
        await self._run("leave", keys, args)

    async def bury(self, keys: Words, args: Words) -> bytes | None:
        """Make an event a dead letter; nothing when somebody else did."""
        return await self._run("bury", keys, args)

    async def replay(self, keys: Words, args: Words) -> bytes | None:
        """Publish a dead letter's event again; nothing when somebody else did."""
        return await self._run("replay", keys, args)

    async def trim(self, keys: Words, args: Words) -> int:
        """Remove what all groups have finished; gives how many entries."""
        return await self._run("trim", keys, args)

    async def _run(self, name: str, keys: Words, args: Words) -> Any:
        return await self._scripts[name](keys=cast(Any, keys), args=cast(Any, args))
