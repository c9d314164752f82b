"""A process, or the whole machine, that stands still for longer than a lease: order holds, nothing is lost (E1)."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from collections import defaultdict
from collections.abc import AsyncIterator
from pathlib import Path
from uuid import uuid4

import pytest
from bus_carrier import QUICK, Carrier, asked, eventually
from redis.asyncio import Redis

from chassis.bus.scripts import Scripts
from chassis.redis import connect
from contracts.events import TurnRequested

pytestmark = pytest.mark.behaviour("E1")

VICTIM = Path(__file__).with_name("bus_victim.py")
LEASE_MS = 60_000
KEYS = ["talkdown.members.x.y", "talkdown.leases.x.y"]


@pytest.fixture
async def redis(valkey_url: str) -> AsyncIterator[Redis]:
    client = connect(valkey_url)
    yield client
    await client.aclose()


async def test_members_that_stand_still_together_take_nothing_from_each_other(redis_carrier: Carrier) -> None:
    chats = [uuid4() for _ in range(6)]
    running: dict[object, int] = defaultdict(int)
    seen: dict[object, list[object]] = defaultdict(list)
    overlapped: list[object] = []

    async def handle(event: TurnRequested) -> None:
        running[event.chat_id] += 1
        if running[event.chat_id] > 1:
            overlapped.append(event.chat_id)
        await asyncio.sleep(0.01)
        running[event.chat_id] -= 1
        seen[event.chat_id].append(event.turn_id)

    for _ in range(2):
        redis_carrier.consume(await redis_carrier.bus(), "workers", {TurnRequested: handle})
    publishing, sent = await redis_carrier.bus(), defaultdict[object, list[object]](list)
    for number in range(20):
        events = [asked(chat) for chat in chats]
        for event in events:
            sent[event.chat_id].append(event.turn_id)
        await publishing.publish(*events)
        if number % 6 == 3:
            await asyncio.sleep(0.05)
            time.sleep(1.2 * QUICK.lease_s)  # noqa: ASYNC251 - the loop that both members live in stands still
    await eventually(lambda: sum(len(turns) for turns in seen.values()) >= 120)
    assert overlapped == []
    assert seen == sent


async def test_a_process_that_stood_still_begins_nothing_that_is_another_s_by_then(
    redis_carrier: Carrier, valkey_url: str
) -> None:
    chat, got = uuid4(), list[object]()
    events = [asked(chat) for _ in range(20)]
    process = await asyncio.create_subprocess_exec(
        sys.executable, str(VICTIM), valkey_url, "slow", stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    try:
        bus = await redis_carrier.bus()
        await bus.publish(*events)
        async with asyncio.timeout(60):
            begun = [(await process.stdout.readline()).decode().strip()]
        os.kill(process.pid, signal.SIGSTOP)

        async def keep(event: TurnRequested) -> None:
            got.append(event.turn_id)

        redis_carrier.consume(bus, "workers", {TurnRequested: keep})
        await eventually(lambda: len(got) >= 19)
        os.kill(process.pid, signal.SIGCONT)
        await asyncio.sleep(2 * QUICK.lease_s)  # the time in which it might begin what it held
    finally:
        process.kill()
    begun += [line.decode().strip() for line in (await process.communicate())[0].splitlines()]
    handled = [str(turn) for turn in got]
    assert handled == [str(event.turn_id) for event in events][-len(handled) :]
    assert len(begun) <= 3  # what ran when it was stopped, and no more than it had begun by then
    assert begun == [str(event.turn_id) for event in events][: len(begun)]


async def balance(scripts: Scripts, name: str, lease_ms: int = LEASE_MS) -> set[int]:
    _, _, *owned = await scripts.balance(KEYS, [name, lease_ms, 4])
    return set(owned)


async def test_a_member_that_was_late_itself_excuses_another_s_lease_once(redis: Redis) -> None:
    scripts = Scripts(redis)
    assert await balance(scripts, "one") == {0, 1, 2, 3}
    seconds, _ = await redis.time()
    ended = (seconds - 5) * 1000
    await redis.zadd(KEYS[0], {"one": ended, "two": ended})
    assert await balance(scripts, "two") == set()  # late itself: the other is excused
    await redis.zadd(KEYS[0], {"one": ended + 0.5, "two": ended})
    assert await balance(scripts, "two") == {0, 1, 2, 3}  # it did not beat meanwhile


async def test_a_member_that_is_awake_takes_what_a_dead_one_had_at_once(redis: Redis) -> None:
    scripts = Scripts(redis)
    await balance(scripts, "one")
    await balance(scripts, "two")
    seconds, _ = await redis.time()
    await redis.zadd(KEYS[0], {"one": (seconds - 5) * 1000})
    assert await balance(scripts, "two") == {0, 1, 2, 3}


@pytest.mark.parametrize(("ago_s", "takes"), [(5, False), (300, True)])
async def test_a_newcomer_excuses_only_what_ended_within_a_lease(redis: Redis, ago_s: int, takes: bool) -> None:
    scripts = Scripts(redis)
    await balance(scripts, "one")
    seconds, _ = await redis.time()
    await redis.zadd(KEYS[0], {"one": (seconds - ago_s) * 1000})
    assert bool(await balance(scripts, "new")) is takes
