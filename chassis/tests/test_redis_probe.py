"""What a service waits for, when it is Redis that cannot work."""

from __future__ import annotations

import pytest
from redis.asyncio import Redis
from redis.exceptions import ResponseError

from chassis.redis import connect, probe

MISCONF = "MISCONF Errors writing to the AOF file: No space left on device"


class Refusing(Redis):
    """A Redis that answers each command with the same error."""

    error = ""

    async def execute_command(self, *args: object, **options: object) -> object:
        """Refuse."""
        raise ResponseError(self.error)


@pytest.mark.behaviour("E3")
@pytest.mark.parametrize(("error", "said"), [(MISCONF, "make room"), ("LOADING the dataset", "refuses")])
async def test_a_redis_that_refuses_is_told_from_one_that_is_gone(error: str, said: str) -> None:
    refusing = Refusing()
    refusing.error = error
    assert said in str(await probe(refusing)())


@pytest.mark.behaviour("E3")
async def test_a_redis_that_is_gone_is_said_to_be(valkey_url: str) -> None:
    there, gone = connect(valkey_url), connect("redis://127.0.0.1:9/0")
    assert await probe(there)() is None
    assert await probe(gone)() == "Redis does not answer"
    await there.aclose()
    await gone.aclose()
