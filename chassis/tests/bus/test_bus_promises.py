"""What the bus promises, over every adapter (E1)."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from dataclasses import replace
from datetime import UTC, datetime
from uuid import uuid4

import pytest
from bus_carrier import QUICK, Carrier, asked, eventually, into, stop

from contracts.documents import DocumentVersion
from contracts.events import RefreshSealed, TurnFinished, TurnRequested

pytestmark = pytest.mark.behaviour("E1")


async def test_an_event_published_before_its_group_existed_reaches_it(carrier: Carrier) -> None:
    bus, got, event = await carrier.bus(), list[TurnRequested](), asked()
    await bus.publish(event)
    carrier.consume(bus, "late", {TurnRequested: into(got)})
    await eventually(lambda: got == [event])


async def test_every_group_gets_every_event(carrier: Carrier) -> None:
    bus, one, two = await carrier.bus(), list[TurnRequested](), list[TurnRequested]()
    carrier.consume(bus, "one", {TurnRequested: into(one)})
    carrier.consume(bus, "two", {TurnRequested: into(two)})
    events = [asked() for _ in range(20)]
    await bus.publish(*events)
    await eventually(lambda: len(one) == len(two) == 20)
    assert {event.turn_id for event in one} == {event.turn_id for event in two} == {event.turn_id for event in events}


async def test_the_members_of_a_group_share_its_events_and_handle_each_once(carrier: Carrier) -> None:
    publishing = await carrier.bus()
    got: list[TurnRequested] = []
    for _ in range(2):
        carrier.consume(await carrier.bus(), "workers", {TurnRequested: into(got)})
    events = [asked() for _ in range(300)]
    for event in events:
        await publishing.publish(event)
    await eventually(lambda: len(got) >= 300)
    assert sorted(event.turn_id for event in got) == sorted(event.turn_id for event in events)


async def test_events_of_one_chat_are_handled_in_order_and_never_two_at_once(carrier: Carrier) -> None:
    chats = [uuid4() for _ in range(6)]
    running: dict[object, int] = defaultdict(int)
    seen: dict[object, list[object]] = defaultdict(list)
    overlapped: list[object] = []

    async def handle(event: TurnRequested) -> None:
        running[event.chat_id] += 1
        if running[event.chat_id] > 1:
            overlapped.append(event.chat_id)
        await asyncio.sleep(0.002)  # gives another member the chance to be wrong
        running[event.chat_id] -= 1
        seen[event.chat_id].append(event.turn_id)

    for _ in range(2):
        carrier.consume(await carrier.bus(), "workers", {TurnRequested: handle})
    publishing = await carrier.bus()
    sent: dict[object, list[object]] = defaultdict(list)
    for _ in range(20):
        events = [asked(chat) for chat in chats]
        for event in events:
            sent[event.chat_id].append(event.turn_id)
        await publishing.publish(*events)
    await eventually(lambda: sum(len(turns) for turns in seen.values()) >= 120)
    assert overlapped == []
    assert seen == sent


async def test_chats_do_not_wait_for_each_other(carrier: Carrier) -> None:
    bus, gate, begun = await carrier.bus(), asyncio.Event(), list[TurnRequested]()

    async def handle(event: TurnRequested) -> None:
        begun.append(event)
        await gate.wait()

    carrier.consume(bus, "workers", {TurnRequested: handle}, concurrency=12)
    await bus.publish(*(asked() for _ in range(12)))
    await eventually(lambda: len(begun) == 12)
    gate.set()


async def test_no_more_run_at_once_than_was_said(carrier: Carrier) -> None:
    bus, running, most, done = await carrier.bus(), 0, 0, 0

    async def handle(event: TurnRequested) -> None:
        nonlocal running, most, done
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.001)
        running -= 1
        done += 1

    await bus.publish(*(asked() for _ in range(100)))
    carrier.consume(bus, "workers", {TurnRequested: handle}, concurrency=3)
    await eventually(lambda: done == 100)
    assert most == 3


async def test_a_slow_handler_keeps_its_event_past_its_lease(carrier: Carrier) -> None:
    begun: list[TurnRequested] = []
    gate = asyncio.Event()

    async def slow(event: TurnRequested) -> None:
        begun.append(event)
        await gate.wait()

    for _ in range(2):
        carrier.consume(await carrier.bus(), "workers", {TurnRequested: slow})
    await (await carrier.bus()).publish(asked())
    await eventually(lambda: len(begun) == 1)
    await asyncio.sleep(3 * carrier.lease_s)  # the time that passes is what is tested
    assert len(begun) == 1
    gate.set()


async def test_what_a_member_leaves_unfinished_is_handled_by_another(carrier: Carrier) -> None:
    begun, got = list[TurnRequested](), list[TurnRequested]()

    async def never(event: TurnRequested) -> None:
        begun.append(event)
        await asyncio.Event().wait()

    hasty = replace(QUICK, grace_s=0.0)
    first = carrier.consume(await carrier.bus(hasty), "workers", {TurnRequested: never})
    publishing, events = await carrier.bus(), [asked() for _ in range(40)]
    await publishing.publish(*events)
    await eventually(lambda: len(begun) >= 1)
    await stop(first)
    carrier.consume(await carrier.bus(hasty), "workers", {TurnRequested: into(got)})
    await eventually(lambda: len(got) >= 40)
    assert sorted(event.turn_id for event in got) == sorted(event.turn_id for event in events)


async def test_a_member_that_is_stopped_finishes_what_runs_and_begins_nothing(carrier: Carrier) -> None:
    bus, begun, finished, gate = await carrier.bus(), list[TurnRequested](), list[TurnRequested](), asyncio.Event()

    async def handle(event: TurnRequested) -> None:
        begun.append(event)
        await gate.wait()
        finished.append(event)

    first = carrier.consume(bus, "workers", {TurnRequested: handle}, concurrency=2)
    await bus.publish(*(asked() for _ in range(6)))
    await eventually(lambda: len(begun) == 2)
    first.cancel()
    await asyncio.sleep(0)
    await bus.publish(asked())
    gate.set()
    await asyncio.gather(first, return_exceptions=True)
    assert len(begun) == len(finished) == 2
    rest: list[TurnRequested] = []
    carrier.consume(bus, "workers", {TurnRequested: into(rest)})
    await eventually(lambda: len(rest) >= 5)
    assert not {event.turn_id for event in rest} & {event.turn_id for event in finished}


async def test_an_event_larger_than_a_part_arrives_whole(carrier: Carrier) -> None:
    small_parts = replace(QUICK, part_bytes=1000)
    bus, got = await carrier.bus(small_parts), list[RefreshSealed]()

    async def keep(event: RefreshSealed) -> None:
        got.append(event)

    paths = tuple(DocumentVersion(path=f"résumé/{number}.md", revision=number) for number in range(500))
    event = RefreshSealed(refresh_id=uuid4(), started_at=datetime.now(UTC), documents=paths)
    carrier.consume(bus, "retriever", {RefreshSealed: keep}, stream="documents")
    await bus.publish(event, event)
    await eventually(lambda: len(got) == 2)
    assert got == [event, event]
    await bus.publish(event)
    await eventually(lambda: len(got) == 3)


async def test_a_large_event_that_fails_is_tried_again_and_buried_whole(carrier: Carrier) -> None:
    bus = await carrier.bus(replace(QUICK, part_bytes=1000))
    tries: list[int] = []

    async def fails(event: RefreshSealed) -> None:
        tries.append(1)
        raise OSError

    paths = tuple(DocumentVersion(path=f"{number}.md", revision=number) for number in range(100))
    event = RefreshSealed(refresh_id=uuid4(), started_at=datetime.now(UTC), documents=paths)
    carrier.consume(bus, "retriever", {RefreshSealed: fails}, stream="documents")
    await bus.publish(event)

    async def died() -> bool:
        return bool(await bus.dead_letters())

    await eventually(died)
    (letter,) = await bus.dead_letters()
    assert len(tries) == QUICK.attempts
    assert RefreshSealed.model_validate(letter.data) == event


async def test_a_burst_of_events_of_several_types_loses_none(carrier: Carrier) -> None:
    bus, asked_for, finished = await carrier.bus(), set[object](), set[object]()

    async def requested(event: TurnRequested) -> None:
        asked_for.add(event.turn_id)

    async def ended(event: TurnFinished) -> None:
        finished.add(event.turn_id)

    carrier.consume(bus, "workers", {TurnRequested: requested, TurnFinished: ended})
    events = [asked() for _ in range(1000)]
    ends = [
        TurnFinished(turn_id=event.turn_id, chat_id=event.chat_id, status="completed", waited_ms=0, total_ms=1)
        for event in events
    ]
    await bus.publish(*events, *ends)
    await eventually(lambda: len(asked_for) == len(finished) == 1000)


async def test_how_far_behind_a_group_is_can_be_asked(carrier: Carrier) -> None:
    bus, gate, got = await carrier.bus(), asyncio.Event(), list[TurnRequested]()

    async def handle(event: TurnRequested) -> None:
        got.append(event)
        await gate.wait()

    assert await bus.lag("turns", "workers") == 0
    await bus.publish(*(asked() for _ in range(5)))
    assert await bus.lag("turns", "workers") == 5
    carrier.consume(bus, "workers", {TurnRequested: handle}, concurrency=2)
    await eventually(lambda: len(got) == 2)
    assert await bus.lag("turns", "workers") == 5  # begun is not handled
    gate.set()

    async def over() -> bool:
        return await bus.lag("turns", "workers") == 0

    await eventually(over)
    assert await bus.lag("turns", "others") == 5


async def test_publishing_nothing_is_nothing(carrier: Carrier) -> None:
    await (await carrier.bus()).publish()
