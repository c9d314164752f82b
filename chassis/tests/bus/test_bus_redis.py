"""What is Redis's own: leases, flushes, trimming, lost parts, fields that ``redis-cli`` shows (E1)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise
from uuid import uuid4

import pytest
from bus_carrier import QUICK, Carrier, asked, eventually, into, stop
from redis.asyncio import Redis

from chassis.bus import BusUnavailable, open_bus
from chassis.bus.scripts import Scripts
from chassis.bus.wire import stream_name
from chassis.redis import ask, connect
from contracts.documents import DocumentVersion
from contracts.events import RefreshSealed, TurnRequested

pytestmark = pytest.mark.behaviour("E1")

LEASE_MS = 60_000
KEYS = ["talkdown.members.x.y", "talkdown.leases.x.y"]
NAMES = [stream_name("turns", partition) for partition in range(QUICK.partitions)]


@pytest.fixture
async def redis(valkey_url: str) -> AsyncIterator[Redis]:
    client = connect(valkey_url)
    yield client
    await client.aclose()


async def pending(redis: Redis, group: str) -> int:
    return sum([int((await redis.xpending(name, group))["pending"]) for name in NAMES])


async def test_flushed_streams_are_made_again_while_consumers_run(redis_carrier: Carrier, redis: Redis) -> None:
    bus, got = await redis_carrier.bus(), list[TurnRequested]()

    redis_carrier.consume(bus, "workers", {TurnRequested: into(got)})
    await bus.publish(first := asked())
    await eventually(lambda: got == [first])
    await redis.flushdb()
    events = [asked() for _ in range(20)]
    await bus.publish(*events)
    await eventually(lambda: len(got) >= 21)
    assert {event.turn_id for event in got[1:]} == {event.turn_id for event in events}


async def test_publishing_to_a_server_that_is_not_there_says_so(unused_tcp_port: int) -> None:
    options = replace(QUICK, publish_within_s=0.3)
    async with open_bus(f"redis://127.0.0.1:{unused_tcp_port}/0", service="test", options=options) as bus:
        with pytest.raises(BusUnavailable, match="could not be published"):
            await bus.publish(asked())
        with pytest.raises(BusUnavailable):
            await bus.dead_letters()


async def test_a_consumer_waits_for_a_server_that_is_not_there_and_stops_when_told(unused_tcp_port: int) -> None:
    async with open_bus(f"redis://127.0.0.1:{unused_tcp_port}/0", service="test", options=QUICK) as bus:
        consuming = asyncio.create_task(bus.consume("turns", "workers", {}))
        await asyncio.sleep(0.2)  # several attempts to connect
        assert not consuming.done()
        async with asyncio.timeout(60):
            await stop(consuming)


async def test_a_newcomer_gets_its_share_of_partitions(redis_carrier: Carrier, redis: Redis) -> None:
    first = redis_carrier.consume(await redis_carrier.bus(), "workers", {})

    async def owners() -> list[int]:
        leases: dict[bytes, bytes] = await ask(redis, "HGETALL", "talkdown.leases.turns.workers")
        names = list(leases.values())
        return sorted(names.count(name) for name in set(names))

    async def one_has_all() -> bool:
        return await owners() == [8]

    async def two_share() -> bool:
        return await owners() == [4, 4]

    await eventually(one_has_all)
    redis_carrier.consume(await redis_carrier.bus(), "workers", {})
    await eventually(two_share)
    await stop(first)
    await eventually(one_has_all)


async def test_trimming_removes_what_all_have_finished_and_nothing_that_any_has_not(
    redis_carrier: Carrier, redis: Redis
) -> None:
    bus, done = await redis_carrier.bus(), 0
    gate = asyncio.Event()

    async def handle(event: TurnRequested) -> None:
        nonlocal done
        done += 1

    async def hold(event: TurnRequested) -> None:
        await gate.wait()

    chat = uuid4()
    events = [asked(chat) for _ in range(10)]
    await bus.publish(*events)
    redis_carrier.consume(bus, "quick", {TurnRequested: handle})
    await eventually(lambda: done == 10)
    slow = redis_carrier.consume(bus, "slow", {TurnRequested: hold})

    async def slow_holds() -> bool:
        return await pending(redis, "slow") == 10

    await eventually(slow_holds)
    scripts, future = Scripts(redis), f"{2**45}-0"

    async def trim() -> int:
        return sum([await scripts.trim([name], [future]) for name in NAMES])

    assert await trim() == 0
    for name in NAMES:
        await redis.xgroup_create(name, "newcomer", id="0")
    gate.set()

    async def all_settled() -> bool:
        return await pending(redis, "slow") + await pending(redis, "quick") == 0

    await eventually(all_settled)
    assert await trim() == 0  # the newcomer has read nothing
    for name in NAMES:
        await redis.xgroup_destroy(name, "newcomer")
    assert await trim() == 9  # the last one delivered stays: what comes next begins after it
    await stop(slow)


async def test_consumers_trim_by_themselves(redis_carrier: Carrier, redis: Redis) -> None:
    bus = await redis_carrier.bus(replace(QUICK, keep_s=0.0, trim_every_s=0.05))
    done = 0

    async def handle(event: TurnRequested) -> None:
        nonlocal done
        done += 1

    redis_carrier.consume(bus, "workers", {TurnRequested: handle})
    await bus.publish(*(asked(chat) for chat in [uuid4()] for _ in range(50)))

    async def trimmed() -> bool:
        return sum([await redis.xlen(name) for name in NAMES]) <= 1

    await eventually(trimmed)
    assert done == 50


async def test_an_event_that_lost_a_part_is_a_dead_letter_and_never_half_an_event(
    redis_carrier: Carrier, redis: Redis
) -> None:
    bus = await redis_carrier.bus(replace(QUICK, part_bytes=1000, parts_within_s=0.2))
    got: list[RefreshSealed] = []

    async def keep(event: RefreshSealed) -> None:
        got.append(event)

    paths = tuple(DocumentVersion(path=f"{number}.md", revision=number) for number in range(100))
    event = RefreshSealed(refresh_id=uuid4(), started_at=datetime.now(UTC), documents=paths)
    await bus.publish(event)
    for name in [stream_name("documents", partition) for partition in range(QUICK.partitions)]:
        for place, _ in (await ask(redis, "XRANGE", name, "-", "+"))[1:2]:
            await redis.xdel(name, place)
    redis_carrier.consume(bus, "retriever", {RefreshSealed: keep}, stream="documents")

    async def died() -> bool:
        return bool(await bus.dead_letters())

    await eventually(died)
    (letter,) = await bus.dead_letters()
    assert "part" in letter.reason
    assert got == []
    await bus.publish(event)
    await eventually(lambda: got == [event])


async def test_the_parts_of_an_event_stand_together_however_many_publish(redis_carrier: Carrier, redis: Redis) -> None:
    paths = tuple(DocumentVersion(path=f"{number}.md", revision=number) for number in range(100))
    events = [RefreshSealed(refresh_id=uuid4(), started_at=datetime.now(UTC), documents=paths) for _ in range(10)]
    buses = [await redis_carrier.bus(replace(QUICK, part_bytes=1000, partitions=1)) for _ in range(3)]
    await asyncio.gather(*(buses[number % 3].publish(event) for number, event in enumerate(events)))
    order = [fields[b"id"] for _, fields in await ask(redis, "XRANGE", stream_name("documents", 0), "-", "+")]
    assert len(order) == 50
    assert sum(one != other for one, other in pairwise(order)) == 9


async def test_the_fields_on_the_wire_are_plain(redis_carrier: Carrier, redis: Redis) -> None:
    await (await redis_carrier.bus()).publish(event := asked())
    entries = [entry for name in NAMES for entry in await ask(redis, "XRANGE", name, "-", "+")]
    ((_, fields),) = entries
    assert fields[b"type"] == b"turn.requested.v1"
    assert fields[b"key"] == str(event.chat_id).encode()
    assert TurnRequested.model_validate_json(fields[b"data"]) == event
    assert len(fields[b"id"]) == 32


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
