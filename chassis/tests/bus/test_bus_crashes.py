"""Processes that are killed or stand still, over every adapter with a server: nothing is lost, order holds (E1)."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable
from uuid import uuid4

import pytest
from bus_carrier import Carrier, asked, eventually, into, nothing_left, victim

from contracts.events import TurnRequested

pytestmark = pytest.mark.behaviour("E1")


async def test_what_a_killed_process_held_is_handled_by_another(server_carrier: Carrier) -> None:
    bus, event, got = await server_carrier.bus(), asked(), list[TurnRequested]()
    async with victim(server_carrier.url, "hang") as process:
        await bus.publish(event)
        assert await process.said() == str(event.turn_id)
    server_carrier.consume(bus, "workers", {TurnRequested: into(got)})
    await eventually(lambda: got == [event])


async def test_what_a_killed_process_had_handled_is_not_handled_again(server_carrier: Carrier) -> None:
    bus, first, got = await server_carrier.bus(), asked(), list[TurnRequested]()
    others = [asked() for _ in range(40)]
    await bus.publish(first, *others)
    async with victim(server_carrier.url, "hang-on", str(first.turn_id)) as process:
        begun = {await process.said() for _ in range(41)}
        await eventually(nothing_left(bus, but=1))
    assert begun == {str(event.turn_id) for event in (first, *others)}
    server_carrier.consume(bus, "workers", {TurnRequested: into(got)})
    await eventually(lambda: bool(got))
    await eventually(nothing_left(bus))
    assert got == [first]


async def test_an_event_that_kills_its_process_is_found_out_and_its_neighbours_are_handled(
    server_carrier: Carrier,
) -> None:
    bus, poison = await server_carrier.bus(), asked()
    neighbours = [asked() for _ in range(10)]
    await bus.publish(*neighbours[:5], poison, *neighbours[5:])

    async def found_out() -> bool:
        return bool(await bus.dead_letters())

    async with victim(server_carrier.url, "die", str(poison.turn_id)) as process:
        await eventually(found_out)
        # Killed from outside now, it would take a neighbour with it once more than one may be taken along.
        await eventually(nothing_left(bus))
        begun = await process.rest()
    (letter,) = await bus.dead_letters()
    assert letter.data["turn_id"] == str(poison.turn_id)
    assert "ends the process" in letter.reason
    assert begun.count(str(poison.turn_id)) >= 3  # others end with one that kills once or twice, and are not blamed
    assert {str(event.turn_id) for event in neighbours} <= set(begun)


async def test_processes_that_are_killed_while_they_have_nothing_in_hand_blame_no_event(
    server_carrier: Carrier,
) -> None:
    bus, chat = await server_carrier.bus(), uuid4()
    async with victim(server_carrier.url, "handle") as process:
        for _ in range(5):
            await bus.publish(event := asked(chat))
            assert await process.said() == str(event.turn_id)
            await eventually(nothing_left(bus))
            process.kill()
        await process.rest()
    assert await bus.dead_letters() == ()


async def test_members_that_stand_still_together_take_nothing_from_each_other(server_carrier: Carrier) -> None:
    chats, others = [uuid4() for _ in range(6)], [uuid4() for _ in range(32)]
    running: dict[object, int] = defaultdict(int)
    seen: dict[object, list[object]] = defaultdict(list)
    overlapped: list[object] = []
    at_work: set[int] = set()
    handled: set[object] = set()

    def member(number: int) -> Callable[[TurnRequested], Awaitable[None]]:
        async def handle(event: TurnRequested) -> None:
            at_work.add(number)
            handled.add(event.turn_id)
            running[event.chat_id] += 1
            if running[event.chat_id] > 1:
                overlapped.append(event.chat_id)
            await asyncio.sleep(0.01)
            running[event.chat_id] -= 1
            if event.chat_id in chats:
                seen[event.chat_id].append(event.turn_id)

        return handle

    for number in range(2):
        server_carrier.consume(await server_carrier.bus(), "workers", {TurnRequested: member(number)})
    publishing, sent = await server_carrier.bus(), defaultdict[object, list[object]](list)

    async def both_at_work() -> bool:
        at_work.clear()
        events = [asked(chat) for chat in others]
        await publishing.publish(*events)
        await eventually(lambda: handled.issuperset(event.turn_id for event in events))
        return at_work == {0, 1}

    await eventually(both_at_work)
    for number in range(20):
        events = [asked(chat) for chat in chats]
        for event in events:
            sent[event.chat_id].append(event.turn_id)
        await publishing.publish(*events)
        if number % 6 == 3:
            await asyncio.sleep(0.05)
            time.sleep(1.2 * server_carrier.lease_s)  # noqa: ASYNC251 - the loop that both members live in stands still
    await eventually(lambda: {chat: list(dict.fromkeys(turns)) for chat, turns in seen.items()} == sent)
    assert overlapped == []
    # Redis is told of each event as it is handled, Kafka of several at a time: those since the last may come again.
    assert server_carrier.name == "kafka" or seen == sent


async def test_a_process_that_stood_still_begins_nothing_that_is_another_s_by_then(server_carrier: Carrier) -> None:
    chat, got = uuid4(), list[TurnRequested]()
    events = [asked(chat) for _ in range(20)]
    async with victim(server_carrier.url, "slow") as process:
        bus = await server_carrier.bus()
        await bus.publish(*events)
        begun = [await process.said()]
        os.kill(process.pid, signal.SIGSTOP)
        server_carrier.consume(bus, "workers", {TurnRequested: into(got)})
        await eventually(lambda: len(got) >= 19)
        os.kill(process.pid, signal.SIGCONT)
        await asyncio.sleep(2 * server_carrier.lease_s)  # the time in which it might begin what it held
        begun += await process.rest()
    handled = [str(event.turn_id) for event in got]
    assert handled == [str(event.turn_id) for event in events][-len(handled) :]
    assert len(begun) <= 3  # what ran when it was stopped, and no more than it had begun by then
    assert begun == [str(event.turn_id) for event in events][: len(begun)]
