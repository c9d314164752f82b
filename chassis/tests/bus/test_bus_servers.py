"""A server that is away, slow, or lost what it had, over every adapter that has one (E1)."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from dataclasses import replace
from uuid import uuid4

import pytest
from bus_carrier import QUICK, Carrier, asked, eventually, into, stop

from chassis.bus import BusUnavailable
from contracts.events import TurnRequested

pytestmark = pytest.mark.behaviour("E1")


async def test_a_consumer_whose_connections_are_cut_goes_on_and_loses_nothing(server_carrier: Carrier) -> None:
    bus, got = await server_carrier.detour(), set[object]()

    async def keep(event: TurnRequested) -> None:
        got.add(event.turn_id)

    server_carrier.consume(bus, "workers", {TurnRequested: keep})
    events = [asked() for _ in range(200)]
    for number, event in enumerate(events):
        await bus.publish(event)
        if number % 50 == 25:
            await server_carrier.relay.break_all()
    await eventually(lambda: got == {event.turn_id for event in events})


async def test_publishing_while_the_server_is_away_says_so_and_works_again_when_it_is_back(
    server_carrier: Carrier,
) -> None:
    bus, got = await server_carrier.detour(replace(QUICK, publish_within_s=1.0)), list[TurnRequested]()
    server_carrier.consume(await server_carrier.bus(), "workers", {TurnRequested: into(got)})
    await bus.publish(first := asked())
    await server_carrier.relay.cut()
    with pytest.raises(BusUnavailable, match="could not be published"):
        await bus.publish(asked())
    with pytest.raises(BusUnavailable):
        await bus.dead_letters()
    await server_carrier.relay.mend()

    async def published() -> bool:
        try:
            await bus.publish(last)
        except BusUnavailable:
            return False
        return True

    last = asked()
    await eventually(published)
    await eventually(lambda: first in got and last in got)


async def test_a_consumer_goes_on_when_the_server_is_back(server_carrier: Carrier) -> None:
    bus, got = await server_carrier.detour(), set[object]()

    async def keep(event: TurnRequested) -> None:
        got.add(event.turn_id)

    server_carrier.consume(bus, "workers", {TurnRequested: keep})
    publishing = await server_carrier.bus()
    await publishing.publish(first := asked())
    await eventually(lambda: first.turn_id in got)
    await server_carrier.relay.cut()
    await publishing.publish(*(events := [asked() for _ in range(20)]))
    await asyncio.sleep(2 * server_carrier.lease_s)  # long enough that the group has given up on it
    await server_carrier.relay.mend()
    await eventually(lambda: got >= {event.turn_id for event in events})


async def test_a_server_that_stands_still_longer_than_a_lease_loses_nothing_and_breaks_no_order(
    server_carrier: Carrier,
) -> None:
    chats = [uuid4() for _ in range(4)]
    running: dict[object, int] = defaultdict(int)
    seen: dict[object, list[object]] = defaultdict(list)
    overlapped: list[object] = []

    async def handle(event: TurnRequested) -> None:
        running[event.chat_id] += 1
        if running[event.chat_id] > 1:
            overlapped.append(event.chat_id)
        await asyncio.sleep(0.005)
        running[event.chat_id] -= 1
        if event.turn_id not in seen[event.chat_id]:
            seen[event.chat_id].append(event.turn_id)

    for _ in range(2):
        server_carrier.consume(await server_carrier.detour(), "workers", {TurnRequested: handle})
    publishing, sent = await server_carrier.bus(), defaultdict[object, list[object]](list)
    for number in range(30):
        events = [asked(chat) for chat in chats]
        for event in events:
            sent[event.chat_id].append(event.turn_id)
        await publishing.publish(*events)
        if number == 10:
            server_carrier.relay.hold()
            await asyncio.sleep(2 * server_carrier.lease_s)  # the time that passes is what is tested
            server_carrier.relay.release()
    await eventually(lambda: sum(len(turns) for turns in seen.values()) >= 120)
    assert overlapped == []
    assert seen == sent


async def test_a_consumer_waits_for_a_server_that_goes_away_and_stops_when_told(server_carrier: Carrier) -> None:
    bus = await server_carrier.detour()
    consuming = server_carrier.consume(bus, "workers", {})
    await server_carrier.relay.cut()
    await asyncio.sleep(0.3)  # several attempts to connect
    assert not consuming.done()
    async with asyncio.timeout(60):
        await stop(consuming)


async def test_what_any_group_has_not_handled_is_never_trimmed(server_carrier: Carrier) -> None:
    bus = await server_carrier.bus(replace(QUICK, keep_s=0.0, trim_every_s=0.05))
    quick, gate, held = list[TurnRequested](), asyncio.Event(), list[TurnRequested]()

    async def hold(event: TurnRequested) -> None:
        held.append(event)
        await gate.wait()

    chat = uuid4()
    server_carrier.consume(bus, "slow", {TurnRequested: hold})
    server_carrier.consume(bus, "quick", {TurnRequested: into(quick)})
    events = [asked(chat) for _ in range(30)]
    await bus.publish(*events)
    await eventually(lambda: quick == events and len(held) == 1)
    await asyncio.sleep(0.5)  # in which what quick has handled and slow has not would be trimmed
    gate.set()
    await eventually(lambda: held == events)
