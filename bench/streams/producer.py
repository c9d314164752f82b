"""A stand-in for the agent's writers: frames of many turns into Valkey, at a steady rate for each turn.

``producer.py URL DELTAS PERIOD_MS TURN...`` writes ``accepted`` and one delta of each turn, and says ``ready``;
a line on its input starts the rest. Each delta carries the monotonic clock in nanoseconds as its text, so that a reader
on the same machine knows how old it is. The turns are spread over the period, as answers of many people are.
"""

from __future__ import annotations

import asyncio
import sys
import time

from redis.asyncio import Redis

from chassis.frames import encode
from chassis.redis import connect
from contracts.frames import Accepted, Done, Frame, frames_key

GROUPS = 10
"""The turns of one group are written in one round trip."""


def delta() -> bytes:
    """A delta that says when it was written."""
    return b'{"type":"delta","text":"%d"}' % time.monotonic_ns()


async def write(redis: Redis, turns: list[str], frame: bytes) -> None:
    """Append a frame to each turn."""
    async with redis.pipeline(transaction=False) as pipeline:
        for turn in turns:
            pipeline.execute_command("XADD", frames_key(turn), "*", "frame", frame)
        await pipeline.execute()


async def produce(redis: Redis, turns: list[str], deltas: int, period_s: float) -> None:
    """Write ``deltas`` frames of each turn, one a period."""
    groups = [turns[place::GROUPS] for place in range(GROUPS)]
    begun = time.monotonic()
    for step in range(deltas * GROUPS):
        pause = begun + step * period_s / GROUPS - time.monotonic()
        if pause > 0:
            await asyncio.sleep(pause)
        await write(redis, groups[step % GROUPS], delta())
    done: Frame = Done(answer="", sources=())
    await write(redis, turns, encode(done))


async def main() -> None:
    """Write what the command line says."""
    url, deltas, period_ms, *turns = sys.argv[1:]
    redis = connect(url)
    for turn in turns:
        accepted: Frame = Accepted.model_validate({"turn_id": turn, "trace_id": "0" * 31 + "1"})
        await write(redis, [turn], encode(accepted))
    await write(redis, turns, delta())
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    await asyncio.to_thread(sys.stdin.readline)
    await produce(redis, turns, int(deltas) - 1, float(period_ms) / 1000)
    await redis.aclose()


if __name__ == "__main__":
    asyncio.run(main())
