"""The lines that turns leave, and the hooks that go with them (L5, L6)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager

import pytest
from live_fakes import Diary, Reader, ScriptedClient, Stored, Tools, reading
from virtual_time import in_virtual_time

from contracts.vocabulary import JsonObject
from voice_gateway.live.config import RealtimeConfig
from voice_gateway.live.errors import SessionRefused
from voice_gateway.live.events import (
    AudioDelta,
    Failure,
    InputTranscript,
    Interrupted,
    OutputTranscript,
    RealtimeEvent,
    ResponseEnded,
    ResponseStarted,
    SpeechStarted,
    SpeechStopped,
    ToolCall,
    ToolResult,
    TurnComplete,
    TurnStarted,
)
from voice_gateway.live.hooks import Hooks
from voice_gateway.live.input_queue import InputQueue
from voice_gateway.live.port import Line, ToolError
from voice_gateway.live.runner import LiveSession


async def look(args: JsonObject) -> JsonObject:
    return {"code": "ORCHID-47"}


@asynccontextmanager
async def call(
    client: ScriptedClient, hooks: Sequence[Hooks] = (), store: Stored | None = None
) -> AsyncGenerator[tuple[LiveSession, Reader]]:
    session = LiveSession(
        client, RealtimeConfig(), queue=InputQueue(), tools=Tools(look=look), hooks=hooks, transcripts=store
    )
    async with reading(session.events()) as reader:
        await client.until(lambda: bool(client.connects))
        yield session, reader


def answer(number: int, *events: RealtimeEvent) -> tuple[RealtimeEvent, ...]:
    return (ResponseStarted(response_id=f"r{number}"), *events, ResponseEnded(response_id=f"r{number}"))


@pytest.mark.behaviour("L5")
def test_partials_pass_through_and_one_line_a_side_is_stored() -> None:
    async def scene() -> None:
        client, store = ScriptedClient(), Stored()
        async with call(client, store=store) as (session, reader):
            client.tell(InputTranscript(text="What is "), InputTranscript(text="the code"))
            client.tell(InputTranscript(text="What is the code?", finished=True))
            said = [OutputTranscript(text="It is "), OutputTranscript(text="ORCHID-47.")]
            client.tell(*answer(1, *said, OutputTranscript(text="It is ORCHID-47.", finished=True)))
            await reader.until(TurnComplete)
        assert [(e.text, e.finished) for e in reader.all(InputTranscript)] == [
            ("What is ", False),
            ("the code", False),
            ("What is the code?", True),
        ]
        assert [e.finished for e in reader.all(OutputTranscript)] == [False, False, True]
        assert store.lines == [(1, "user", "What is the code?"), (1, "assistant", "It is ORCHID-47.")]
        assert session.history == (Line("user", "What is the code?"), Line("assistant", "It is ORCHID-47."))

    in_virtual_time(scene())


@pytest.mark.behaviour("L5")
def test_a_dispatch_makes_no_empty_turn_and_its_words_join_the_answer() -> None:
    async def scene() -> None:
        client, store = ScriptedClient(), Stored()
        async with call(client, store=store) as (_, reader):
            client.tell(InputTranscript(text="The code?", finished=True))
            client.dispatch("silent", ToolCall(id="c1", name="look", args={}))
            await client.until(lambda: client.count("respond") == 1)
            moment = OutputTranscript(text="One moment.", finished=True)
            client.tell(ResponseStarted(response_id="again"), moment, ToolCall(id="c2", name="look", args={}))
            client.tell(ResponseEnded(response_id="again", calls=("c2",)))
            await client.until(lambda: client.count("respond") == 2)
            client.tell(*answer(9, OutputTranscript(text="ORCHID-47.", finished=True)))
            await reader.until(TurnComplete)
        assert store.lines == [(1, "user", "The code?"), (1, "assistant", "One moment. ORCHID-47.")]
        assert len(reader.all(TurnStarted)) == 1

    in_virtual_time(scene())


@pytest.mark.behaviour("L5")
def test_an_interruption_clears_what_was_in_the_middle_of_being_said() -> None:
    async def scene() -> None:
        client, store = ScriptedClient(), Stored()
        async with call(client, store=store) as (session, reader):
            client.tell(InputTranscript(text="Tell me all", finished=True), ResponseStarted(response_id="r1"))
            client.tell(OutputTranscript(text="Long ago there"), Interrupted(), OutputTranscript(text=" was"))
            client.tell(ResponseEnded(response_id="r1", status="cancelled"))
            client.tell(InputTranscript(text="Shorter", finished=True))
            client.tell(*answer(2, OutputTranscript(text="Fine.", finished=True)))
            await reader.until(TurnComplete)
        assert store.lines == [(1, "user", "Tell me all"), (2, "user", "Shorter"), (2, "assistant", "Fine.")]
        assert session.history[1] == Line("assistant", "Long ago there …"), "a new connection knows how far it came"
        assert [event.text for event in reader.all(OutputTranscript)] == ["Long ago there", "Fine."]

    in_virtual_time(scene())


@pytest.mark.behaviour("L5")
def test_words_that_come_after_the_interruption_are_the_interrupted_questions() -> None:
    async def scene() -> None:
        client, store = ScriptedClient(), Stored()
        async with call(client, store=store) as (session, reader):
            client.tell(SpeechStarted(), SpeechStopped(), ResponseStarted(response_id="r1"))
            client.tell(OutputTranscript(text="Long ago"), SpeechStarted(), Interrupted())
            client.tell(ResponseEnded(response_id="r1", status="cancelled"), SpeechStopped())
            client.tell(InputTranscript(text="Tell me all", finished=True))
            client.tell(InputTranscript(text="Shorter", finished=True))
            client.tell(*answer(2, OutputTranscript(text="Fine.", finished=True)))
            await reader.until(TurnComplete)
        assert store.lines == [(1, "user", "Tell me all"), (2, "user", "Shorter"), (2, "assistant", "Fine.")]
        assert [line.text for line in session.history] == ["Tell me all", "Long ago …", "Shorter", "Fine."]

    in_virtual_time(scene())


@pytest.mark.behaviour("L5")
def test_words_that_are_never_finished_count_as_far_as_they_came() -> None:
    async def scene() -> None:
        client, store = ScriptedClient(), Stored()
        async with call(client, store=store) as (_, reader):
            client.tell(*answer(1, OutputTranscript(text="Half a"), OutputTranscript(text=" sentence")))
            await reader.until(TurnComplete)
            client.tell(InputTranscript(text="   ", finished=True))
            await reader.until(InputTranscript)
        assert store.lines == [(1, "assistant", "Half a sentence")]
        assert len(reader.all(TurnStarted)) == 1, "a blank transcript is no turn"

    in_virtual_time(scene())


@pytest.mark.behaviour("L5")
def test_a_store_that_fails_or_hangs_stops_no_session() -> None:
    class Hanging(Stored):
        async def store(self, turn: int, line: Line) -> None:
            await asyncio.Event().wait()

    async def scene(store: Stored) -> None:
        client = ScriptedClient()
        async with call(client, store=store) as (session, reader):
            for number in (1, 2):
                client.tell(InputTranscript(text="Hm?", finished=True), *answer(number, AudioDelta(data=bytes(4))))
                await reader.until(TurnComplete, number)
            session.queue.close()
            await reader.end()
        assert not reader.all(Failure)

    in_virtual_time(scene(Stored(fails=True)))
    in_virtual_time(scene(Hanging()))


@pytest.mark.behaviour("L6")
def test_hooks_come_in_pairs_and_count_from_one() -> None:
    async def scene() -> Diary:
        client, diary = ScriptedClient(), Diary()
        async with call(client, [diary]) as (session, reader):
            client.tell(*answer(1, AudioDelta(data=bytes(4))))
            await reader.until(TurnComplete)
            assert diary.entries == ["session", "turn 1", "end 1"], (
                "a turn ends with its answer, not with the next turn"
            )
            client.tell(ResponseStarted(response_id="r2"), Interrupted())
            await reader.until(Interrupted)
            client.tell(*answer(3, AudioDelta(data=bytes(4))))
            await reader.until(TurnComplete, 2)
            session.queue.close()
            await reader.end()
        return diary

    expected = ["session", "turn 1", "end 1", "turn 2", "end 2", "turn 3", "end 3", "closed after 3"]
    assert in_virtual_time(scene()).entries == expected


@pytest.mark.behaviour("L6")
@pytest.mark.parametrize("death", ["refused", "closed", "left", "broken"])
def test_hooks_are_balanced_though_the_session_dies_in_a_turn(death: str) -> None:
    async def scene() -> Diary:
        client, diary = ScriptedClient(), Diary()
        async with call(client, [diary]) as (session, reader):
            client.tell(ResponseStarted(response_id="r1"), AudioDelta(data=bytes(4)))
            await reader.until(AudioDelta)
            if death == "refused":
                client.tell(SessionRefused("insufficient_quota", "No credit."))
            elif death == "broken":
                client.tell(ZeroDivisionError())
            elif death == "closed":
                await session.close()
            if death != "left":
                await reader.end()
        return diary

    assert in_virtual_time(scene()).entries == ["session", "turn 1", "end 1", "closed after 1"]


@pytest.mark.behaviour("L6")
def test_a_hook_that_fails_is_in_nobodys_way() -> None:
    class Broken(Hooks):
        async def session_started(self) -> None:
            raise RuntimeError

        async def turn_started(self, turn: int) -> None:
            raise RuntimeError

        async def turn_ended(self, turn: int) -> None:
            raise RuntimeError

        async def session_ended(self, turns: int) -> None:
            raise RuntimeError

    async def scene() -> None:
        client, before, after = ScriptedClient(), Diary(), Diary()
        async with call(client, [before, Broken(), after]) as (session, reader):
            client.tell(*answer(1, AudioDelta(data=bytes(4))))
            await reader.until(TurnComplete)
            session.queue.close()
            await reader.end()
        assert before.entries == after.entries == ["session", "turn 1", "end 1", "closed after 1"]

    in_virtual_time(scene())


@pytest.mark.behaviour("L6")
def test_before_a_tool_a_hook_may_answer_or_refuse_and_an_error_refuses() -> None:
    class Gate(Hooks):
        async def before_tool(self, call: ToolCall) -> JsonObject | None:
            match call.id:
                case "answered":
                    return {"from": "the hook"}
                case "refused":
                    raise ToolError("Not at this hour.")
                case "broken":
                    raise ZeroDivisionError
                case _:
                    return None

    async def scene() -> None:
        client = ScriptedClient()
        async with call(client, [Gate()]) as (_, reader):
            ids = ("answered", "refused", "broken", "plain")
            client.dispatch("first", *(ToolCall(id=name, name="look", args={}) for name in ids))
            await reader.until(ToolResult, 4)
        assert {event.id: event.result for event in reader.all(ToolResult)} == {
            "answered": {"from": "the hook"},
            "refused": {"error": "Not at this hour."},
            "broken": {"error": "This tool may not be used now."},
            "plain": {"code": "ORCHID-47"},
        }
        assert {event.id for event in reader.all(ToolResult) if event.failed} == {"refused", "broken"}

    in_virtual_time(scene())


@pytest.mark.behaviour("L6")
def test_after_a_tool_a_hook_cannot_break_the_result() -> None:
    seen: list[tuple[JsonObject, bool]] = []

    class Meddler(Hooks):
        async def after_tool(self, call: ToolCall, result: JsonObject, failed: bool) -> None:
            seen.append((dict(result), failed))
            result.clear()
            raise ZeroDivisionError

    async def scene() -> None:
        client = ScriptedClient()
        async with call(client, [Meddler()]) as (_, reader):
            client.dispatch("first", ToolCall(id="c1", name="look", args={}))
            await client.until(lambda: client.count("respond") == 1)
            await reader.until(ToolResult)
        assert client.all("result") == [("c1", {"code": "ORCHID-47"})]
        assert seen == [({"code": "ORCHID-47"}, False)]

    in_virtual_time(scene())
