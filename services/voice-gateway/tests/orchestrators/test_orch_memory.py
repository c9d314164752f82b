"""L7: what a session begins with, within limits and in bounded time, and what is written down of it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from uuid import UUID

import pytest
from orch_fakes import CHAT
from orch_house import NOW, House, housed

from chassis.http import open_client
from contracts.live import ChatLine, ChatState, Memory
from voice_gateway.live.port import Line
from voice_gateway.orchestrators.chat_store import ChatStore
from voice_gateway.orchestrators.measuring import Tally
from voice_gateway.orchestrators.memory import LONGEST, clipped, recalled_for, remembered
from voice_gateway.orchestrators.minutes import Minutes
from voice_gateway.orchestrators.port import Result, State

pytestmark = pytest.mark.behaviour("L7")


@pytest.fixture
async def house() -> AsyncIterator[House]:
    async with housed() as house:
        yield house


@pytest.fixture
async def store(house: House) -> AsyncIterator[ChatStore]:
    async with open_client(house.url, "agent") as client:
        yield ChatStore(client, timeout_s=0.5)


class Slow:
    """A memory of which one part hangs and one fails."""

    def __init__(self, hangs: str = "", fails: str = "", count: int = 50) -> None:
        self._hangs, self._fails, self._count = hangs, fails, count

    async def _do(self, what: str) -> None:
        if what == self._hangs:
            await asyncio.Event().wait()
        if what == self._fails:
            raise RuntimeError(what)

    async def lines(self, chat_id: UUID, most: int) -> tuple[Line, ...]:
        await self._do("lines")
        return tuple(Line("user", f"line {number} " + "x" * 1000) for number in range(self._count))

    async def recall(self, user_id: str, query: str, most: int) -> tuple[str, ...]:
        await self._do("recall")
        return tuple(f"memory {number} of {query[:6]} " + "y" * 1000 for number in range(self._count))

    async def profile(self, user_id: str) -> tuple[str, ...]:
        await self._do("profile")
        return ("My name is Mara.",)


def listed(part: str) -> list[str]:
    return [line for line in part.split("\n") if line.startswith("- ")]


async def test_a_session_begins_with_at_most_twenty_lines_and_ten_memories_of_four_hundred_characters() -> None:
    known = await remembered(Slow(), CHAT, "mara", within_s=1)
    (chat,) = known.of_chat()
    assert len(listed(chat)) == 20
    facts, memories = known.of_person()
    assert "My name is Mara." in facts
    assert len(listed(memories)) == 10
    assert all(len(line) <= LONGEST + len("- Person: ") for line in [*listed(chat), *listed(memories)])
    assert listed(memories)[0].startswith("- memory 0 of line 4")  # by what the person said last


@pytest.mark.parametrize("part", ["lines", "recall", "profile"])
@pytest.mark.parametrize("how", ["hangs", "fails"])
async def test_a_memory_that_hangs_or_fails_costs_its_own_part_and_no_more_than_the_time(part: str, how: str) -> None:
    loop = asyncio.get_running_loop()
    began = loop.time()
    memory = Slow(hangs=part) if how == "hangs" else Slow(fails=part)
    known = await remembered(memory, CHAT, "mara", within_s=0.1)
    assert loop.time() - began < 1
    assert bool(known.earlier) is (part != "lines")
    assert bool(known.facts) is (part != "profile")
    if how == "fails" or part == "profile":
        assert bool(known.recalled) is (part != "recall")


async def test_recall_and_earlier_lines_can_be_switched_off() -> None:
    none = await remembered(Slow(), CHAT, "mara", within_s=1, earlier=False, recall=False)
    assert (none.of_chat(), none.of_person()) == ((), ())
    lines = await remembered(Slow(), CHAT, "mara", within_s=1, recall=False)
    assert lines.of_chat()
    assert not lines.of_person()


async def test_what_is_recalled_for_a_turn_is_bounded_too() -> None:
    assert await recalled_for(Slow(hangs="recall"), "mara", "valve", within_s=0.05) == ()
    recalled = await recalled_for(Slow(), "mara", "valve", within_s=1)
    assert len(recalled) == 10
    assert all(len(text) <= LONGEST for text in recalled)


def test_a_line_is_clipped_on_one_line() -> None:
    assert clipped("a\n  b") == "a b"
    assert clipped("x" * 500) == "x" * (LONGEST - 1) + "…"


async def test_the_store_is_read_and_written_over_http(house: House, store: ChatStore) -> None:
    house.earlier = (
        ChatLine(role="user", text="Hello.", said_at=NOW),
        ChatLine(role="assistant", text="Hi.", said_at=NOW),
    )
    house.memories = (Memory(chat_id=CHAT, said="The code?", answered="ORCHID-47.", said_at=NOW),)
    house.facts = ("My name is Mara.",)
    known = await remembered(store, CHAT, "mara", within_s=2)
    assert known.earlier == (Line("user", "Hello."), Line("assistant", "Hi."))
    assert known.recalled == ("Person: The code? You: ORCHID-47.",)
    assert known.facts == ("My name is Mara.",)
    assert "GET /people/mara/memories?query=Hello.&most=10" in house.asked
    state = State("safety", ("concierge", "safety"), None, "h")
    await store.save(CHAT, state)
    assert await store.load(CHAT) == state
    await store.save(CHAT, State("safety", resume_handle="h" * 5000))
    assert house.states[str(CHAT)] == ChatState(active="safety")


@pytest.mark.parametrize("how", ["hangs", "fails"])
async def test_a_store_that_hangs_or_fails_is_no_error(house: House, store: ChatStore, how: str) -> None:
    setattr(house, how, True)
    assert await store.load(CHAT) == State()
    await store.save(CHAT, State("safety"))
    await store.remember("mara", CHAT, "One?", "Yes.")
    known = await remembered(store, CHAT, "mara", within_s=0.3)
    assert (known.of_chat(), known.of_person()) == ((), ())


async def minutes_of(store: ChatStore, turns: Sequence[tuple[str, str, bool]], tally: Tally, **switches: bool) -> None:
    minutes = Minutes(store, CHAT, "mara", tally, **switches)
    for said, answered, interrupted in turns:
        minutes.ended(said, Result(answered, "concierge"), interrupted, lines=True)
    await minutes.close()


async def test_each_completed_turn_is_remembered_and_what_was_said_is_kept(house: House, store: ChatStore) -> None:
    tally = Tally()
    tally.add("concierge", "m", 10, 2)
    await minutes_of(store, [("One?", "Yes.", False), ("Two\0?", "N", True), ("", "Hello.", False)], tally)
    assert [(person, turn.said, turn.answered) for person, turn in house.remembered] == [("mara", "One?", "Yes.")]
    assert house.lines == [
        ("user", "One?", "concierge"),
        ("assistant", "Yes.", "concierge"),
        ("user", "Two?", "concierge"),
        ("assistant", "N", "concierge"),
        ("assistant", "Hello.", "concierge"),
    ]
    assert [(one.agent, one.input_tokens, one.output_tokens) for one in house.spent] == [("concierge", 10, 2)]


async def test_memory_and_transcripts_are_switches(house: House, store: ChatStore) -> None:
    await minutes_of(store, [("One?", "Yes.", False)], Tally(), transcripts=False, memory=False)
    assert (house.lines, house.remembered) == ([], [])


async def test_a_store_that_hangs_holds_no_session_up(
    house: House, store: ChatStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    house.hangs = True
    monkeypatch.setattr("voice_gateway.orchestrators.minutes.CLOSE_S", 0.1)
    async with asyncio.timeout(2):
        await minutes_of(store, [("One?", "Yes.", False)] * 20, Tally())
