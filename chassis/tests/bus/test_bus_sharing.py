"""Members that come and go, over every adapter with a server: each event once, in order, and nobody is stopped (E1)."""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from uuid import uuid4

import pytest
from bus_carrier import Carrier, asked, eventually, nothing_left, stop

from contracts.events import TurnRequested

pytestmark = pytest.mark.behaviour("E1")


async def test_a_newcomer_gets_its_share_and_what_a_member_leaves_goes_to_the_others(server_carrier: Carrier) -> None:
    by: dict[str, set[object]] = {"first": set(), "second": set()}

    async def first(event: TurnRequested) -> None:
        by["first"].add(event.chat_id)

    async def second(event: TurnRequested) -> None:
        by["second"].add(event.chat_id)

    chats = [uuid4() for _ in range(64)]
    publishing = await server_carrier.bus()

    async def ask_all_until(chats_of_first: bool, chats_of_second: bool) -> None:
        async def shared_so() -> bool:
            by["first"], by["second"] = set(), set()
            await publishing.publish(*(asked(chat) for chat in chats))
            await eventually(lambda: by["first"] | by["second"] == set(chats))
            return (bool(by["first"]), bool(by["second"])) == (chats_of_first, chats_of_second)

        await eventually(shared_so)

    leaving = server_carrier.consume(await server_carrier.bus(), "workers", {TurnRequested: first})
    await ask_all_until(True, False)
    server_carrier.consume(await server_carrier.bus(), "workers", {TurnRequested: second})
    await ask_all_until(True, True)
    await stop(leaving)
    await ask_all_until(False, True)


async def test_a_handler_that_is_running_when_members_come_and_go_is_not_run_again(server_carrier: Carrier) -> None:
    begun, gate = Counter[object](), asyncio.Event()
    slow = [asked() for _ in range(8)]

    async def handle(event: TurnRequested) -> None:
        begun[event.turn_id] += 1
        if event in slow:
            await gate.wait()

    server_carrier.consume(await server_carrier.bus(), "workers", {TurnRequested: handle})
    publishing = await server_carrier.bus()
    await publishing.publish(*slow)
    await eventually(lambda: len(begun) == 8)
    for _ in range(2):
        passing = server_carrier.consume(await server_carrier.bus(), "workers", {TurnRequested: handle})
        quick = [asked() for _ in range(20)]
        await publishing.publish(*quick)
        await eventually(lambda quick=quick: all(event.turn_id in begun for event in quick))
        await stop(passing)
    gate.set()
    await eventually(nothing_left(publishing))
    assert set(begun.values()) == {1}


async def test_members_that_come_and_go_in_good_order_handle_each_event_once_and_in_order(
    server_carrier: Carrier,
) -> None:
    chats = [uuid4() for _ in range(12)]
    seen: dict[object, list[object]] = defaultdict(list)
    sent: dict[object, list[object]] = defaultdict(list)

    async def handle(event: TurnRequested) -> None:
        await asyncio.sleep(0.002)
        seen[event.chat_id].append(event.turn_id)

    publishing = await server_carrier.bus()
    members = [server_carrier.consume(await server_carrier.bus(), "workers", {TurnRequested: handle})]
    for number in range(60):
        events = [asked(chat) for chat in chats]
        for event in events:
            sent[event.chat_id].append(event.turn_id)
        await publishing.publish(*events)
        if number in (10, 25):
            members.append(server_carrier.consume(await server_carrier.bus(), "workers", {TurnRequested: handle}))
        if number in (40, 50):
            await stop(members.pop(0))
        await asyncio.sleep(0.03)
    await eventually(lambda: sum(len(turns) for turns in seen.values()) >= 60 * 12)
    assert seen == sent
