"""What becomes of an event that fails, over every adapter: tried again, buried with its reason, replayed (E1)."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import ClassVar, Literal

import pytest
from bus_carrier import QUICK, Carrier, asked, eventually, into, stop

from chassis.bus import LetterNotFound, Reject
from chassis.plain import Plain
from contracts.events import Event, TurnRequested

pytestmark = pytest.mark.behaviour("E1")


class Misfit(Event):
    """Something that calls itself a requested turn, and is none."""

    stream: ClassVar[str] = "turns"
    type: Literal["turn.requested.v1"] = "turn.requested.v1"

    @property
    def key(self) -> str:
        return "misfit"


class Unheard(Event):
    """Something that nobody has a handler for."""

    stream: ClassVar[str] = "turns"
    type: Literal["turn.dreamt.v1"] = "turn.dreamt.v1"

    @property
    def key(self) -> str:
        return "unheard"


async def refuses(event: TurnRequested) -> None:
    raise Reject("Nobody can answer this.")


async def test_an_event_whose_handler_failed_is_tried_again(carrier: Carrier) -> None:
    bus, tries = await carrier.bus(), list[TurnRequested]()

    async def fails_once(event: TurnRequested) -> None:
        tries.append(event)
        if len(tries) == 1:
            raise OSError("the disk was away")

    event = asked()
    carrier.consume(bus, "workers", {TurnRequested: fails_once})
    await bus.publish(event)
    await eventually(lambda: tries == [event, event])
    assert await bus.dead_letters() == ()


async def test_a_handler_that_cancels_itself_has_failed_like_any_other(carrier: Carrier) -> None:
    bus, tries = await carrier.bus(), list[TurnRequested]()

    async def fails_once(event: TurnRequested) -> None:
        tries.append(event)
        if len(tries) == 1:
            raise asyncio.CancelledError

    carrier.consume(bus, "workers", {TurnRequested: fails_once})
    await bus.publish(asked())
    await eventually(lambda: len(tries) == 2)


async def test_an_event_that_fails_every_time_becomes_a_dead_letter_and_the_rest_goes_on(carrier: Carrier) -> None:
    bus, got, tries = await carrier.bus(), list[TurnRequested](), list[int]()
    poison, after = asked(), asked()

    async def handle(event: TurnRequested) -> None:
        if event == poison:
            tries.append(1)
            raise OSError("a secret that must not be repeated")
        got.append(event)

    carrier.consume(bus, "workers", {TurnRequested: handle})
    await bus.publish(poison, after)
    await eventually(lambda: got == [after])

    async def died() -> bool:
        return bool(await bus.dead_letters())

    await eventually(died)
    (letter,) = await bus.dead_letters()
    assert len(tries) == letter.attempts == QUICK.attempts
    assert (letter.stream, letter.group, letter.type) == ("turns", "workers", "turn.requested.v1")
    assert letter.data == poison.model_dump(mode="json")
    assert "OSError" in letter.reason
    assert "secret" not in letter.reason
    assert abs((datetime.now(UTC) - letter.died_at).total_seconds()) < 60


class Away(Plain):
    """An error of our own."""


@pytest.mark.behaviour("T11")
async def test_a_dead_letter_says_in_the_sentence_of_our_own_error_why_it_failed(carrier: Carrier) -> None:
    bus, told = await carrier.bus(), list[str]()

    async def gave_up(event: Event | None, reason: str) -> None:
        told.append(reason)

    async def handle(event: TurnRequested) -> None:
        try:
            raise OSError("a secret that must not be repeated")
        except OSError as error:
            raise Away("The provider cannot be reached.") from error

    carrier.consume(bus, "workers", {TurnRequested: handle}, gave_up=gave_up)
    await bus.publish(asked())
    await eventually(lambda: len(told) == 1)
    assert told == [f"The provider cannot be reached. It was tried {QUICK.attempts} times."]


@pytest.mark.behaviour("T11")
async def test_an_error_of_our_own_without_a_sentence_is_told_by_its_kind(carrier: Carrier) -> None:
    bus, told = await carrier.bus(), list[str]()

    async def gave_up(event: Event | None, reason: str) -> None:
        told.append(reason)

    async def handle(event: TurnRequested) -> None:
        raise Away

    carrier.consume(bus, "workers", {TurnRequested: handle}, gave_up=gave_up)
    await bus.publish(asked())
    await eventually(lambda: len(told) == 1)
    assert told[0].startswith(f"Failed {QUICK.attempts} times, at last with Away at test_bus_failures.py:")


async def test_a_rejected_event_becomes_a_dead_letter_at_once_with_the_reason_it_was_given(carrier: Carrier) -> None:
    bus, told = await carrier.bus(), list[tuple[Event | None, str]]()

    async def gave_up(event: Event | None, reason: str) -> None:
        told.append((event, reason))

    event = asked()
    carrier.consume(bus, "workers", {TurnRequested: refuses}, gave_up=gave_up)
    await bus.publish(event)
    await eventually(lambda: len(told) == 1)

    async def died() -> bool:
        return bool(await bus.dead_letters())

    await eventually(died)
    (letter,) = await bus.dead_letters()
    assert (letter.attempts, letter.reason) == (1, "Nobody can answer this.")
    assert told == [(event, "Nobody can answer this.")]


async def test_data_that_does_not_fit_its_type_is_a_dead_letter_and_the_group_goes_on(carrier: Carrier) -> None:
    bus, got, event = await carrier.bus(), list[TurnRequested](), asked()
    carrier.consume(bus, "workers", {TurnRequested: into(got)})
    await bus.publish(Misfit(), event)
    await eventually(lambda: got == [event])

    async def died() -> bool:
        return bool(await bus.dead_letters())

    await eventually(died)
    (letter,) = await bus.dead_letters()
    assert letter.reason == "The data does not fit turn.requested.v1: turn_id: Field required."


async def test_types_without_a_handler_are_passed_over(carrier: Carrier) -> None:
    bus, got, event = await carrier.bus(), list[TurnRequested](), asked()
    carrier.consume(bus, "workers", {TurnRequested: into(got)})
    await bus.publish(Unheard(), event)
    await eventually(lambda: got == [event])
    assert await bus.dead_letters() == ()


async def test_a_dead_letter_is_replayed_to_the_group_that_failed_alone_and_only_once(carrier: Carrier) -> None:
    bus, other, healed, event = await carrier.bus(), list[TurnRequested](), list[TurnRequested](), asked()
    failing = carrier.consume(bus, "failing", {TurnRequested: refuses})
    carrier.consume(bus, "other", {TurnRequested: into(other)})
    await bus.publish(event)

    async def died() -> bool:
        return bool(await bus.dead_letters())

    await eventually(died)
    await stop(failing)
    carrier.consume(bus, "failing", {TurnRequested: into(healed)})
    (letter,) = await bus.dead_letters()
    presses = await asyncio.gather(*(bus.replay(letter.id) for _ in range(5)), return_exceptions=True)
    replayed = [press for press in presses if not isinstance(press, LetterNotFound)]
    assert len(replayed) == 1
    await eventually(lambda: healed == [event])
    assert await bus.dead_letters() == ()
    await bus.publish(last := asked())
    await eventually(lambda: other[-1:] == [last] and healed[-1:] == [last])
    assert other == [event, last]
    assert healed == [event, last]


async def test_a_letter_that_is_not_there_is_said_to_be_missing(carrier: Carrier) -> None:
    bus = await carrier.bus()
    for letter in ("1-1", "", "no such letter"):
        with pytest.raises(LetterNotFound, match="no dead letter"):
            await bus.replay(letter)
