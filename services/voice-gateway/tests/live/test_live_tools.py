"""The tools of a live session: at most four at once, one response after all of them (L4, O5)."""

from __future__ import annotations

import asyncio
from typing import cast

import pytest
from live_fakes import Reader, ScriptedClient, Tools, reading
from virtual_time import in_virtual_time

from contracts.vocabulary import JsonObject
from voice_gateway.live.config import RealtimeConfig
from voice_gateway.live.events import (
    AudioDelta,
    Failure,
    InputTranscript,
    Interrupted,
    OutputTranscript,
    ResponseEnded,
    ResponseStarted,
    ToolCall,
    ToolResult,
    TurnComplete,
)
from voice_gateway.live.input_queue import InputQueue
from voice_gateway.live.port import ToolError
from voice_gateway.live.runner import LiveSession


def call(number: int, name: str = "look", args: JsonObject | None = None) -> ToolCall:
    return ToolCall(id=f"call-{number}", name=name, args={"number": number} if args is None else args)


class Slow:
    """A tool whose calls end when the test says so."""

    def __init__(self) -> None:
        self.running = 0
        self.most = 0
        self.gates: dict[int, asyncio.Event] = {}

    async def __call__(self, args: JsonObject) -> JsonObject:
        number = int(str(args["number"]))
        self.running += 1
        self.most = max(self.most, self.running)
        await self.gates.setdefault(number, asyncio.Event()).wait()
        self.running -= 1
        return {"found": number}

    def finish(self, *numbers: int) -> None:
        for number in numbers:
            self.gates.setdefault(number, asyncio.Event()).set()


def session(client: ScriptedClient, tools: Tools) -> LiveSession:
    return LiveSession(client, RealtimeConfig(), queue=InputQueue(), tools=tools)


def results(client: ScriptedClient) -> list[tuple[str, JsonObject]]:
    """What the model was told of its calls, in order."""
    return cast("list[tuple[str, JsonObject]]", client.all("result"))


async def answered(client: ScriptedClient, reader: Reader, number: int = 1, text: str = "Here it is.") -> None:
    client.tell(ResponseStarted(response_id=f"answer-{number}"), OutputTranscript(text=text, finished=True))
    client.tell(ResponseEnded(response_id=f"answer-{number}"))
    await reader.until(TurnComplete, number)


@pytest.mark.behaviour("L4")
@pytest.mark.parametrize("order", [(1, 2), (2, 1)])
@pytest.mark.parametrize("dispatch_ends_last", [True, False])
def test_two_calls_have_one_response_whatever_ends_last(order: tuple[int, int], dispatch_ends_last: bool) -> None:
    async def scene() -> None:
        client, slow = ScriptedClient(), Slow()
        async with reading(session(client, Tools(look=slow)).events()) as reader:
            await client.until(lambda: bool(client.connects))
            ended = ResponseEnded(response_id="first", calls=("call-1", "call-2"))
            client.tell(InputTranscript(text="Where is it?", finished=True), ResponseStarted(response_id="first"))
            client.tell(call(1), call(2), *(() if dispatch_ends_last else (ended,)))
            for place, number in enumerate(order, 1):
                await reader.until(ToolCall, 2)
                slow.finish(number)
                await client.until(lambda place=place: client.count("result") == place)
                assert client.all("result")[-1] == (f"call-{number}", {"found": number}), "sent when it is ready"
            await reader.until(ToolResult, 2)
            if dispatch_ends_last:
                assert client.count("respond") == 0, "the dispatch is not over"
                client.tell(ended)
            await client.until(lambda: client.count("respond") == 1)
            assert not reader.all(TurnComplete), "a response that holds calls ends no turn"
            await answered(client, reader)
            assert client.count("respond") == 1

    in_virtual_time(scene())


@pytest.mark.behaviour("L4")
def test_no_more_than_four_tools_run_at_once() -> None:
    async def scene() -> None:
        client, slow = ScriptedClient(), Slow()
        async with reading(session(client, Tools(look=slow)).events()) as reader:
            await client.until(lambda: bool(client.connects))
            client.dispatch("first", *(call(number) for number in range(1, 8)))
            await reader.until(ToolCall, 7)
            for number in range(1, 8):
                slow.finish(number)
                await reader.until(ToolResult, number)
            await client.until(lambda: client.count("respond") == 1)
        assert slow.most == 4

    in_virtual_time(scene())


@pytest.mark.behaviour("L4")
def test_what_goes_wrong_with_a_tool_is_told_to_the_model_as_data() -> None:
    async def breaks(args: JsonObject) -> JsonObject:
        raise KeyError("a secret")

    async def explains(args: JsonObject) -> JsonObject:
        raise ToolError("The valve is locked.")

    async def hangs(args: JsonObject) -> JsonObject:
        await asyncio.Event().wait()
        return {}

    async def odd(args: JsonObject) -> JsonObject:
        return {"when": object()}

    async def huge(args: JsonObject) -> JsonObject:
        return {"text": "x" * 200_000}

    async def scene() -> None:
        client = ScriptedClient()
        tools = Tools(breaks=breaks, explains=explains, hangs=hangs, odd=odd, huge=huge)
        async with reading(session(client, tools).events()) as reader:
            await client.until(lambda: bool(client.connects))
            names = ("breaks", "explains", "hangs", "odd", "huge", "nowhere")
            calls = [ToolCall(id=name, name=name, args={}) for name in names]
            client.dispatch("first", *calls, ToolCall(id="bad", name="explains", args=None))
            await reader.until(ToolResult, 7)
            await client.until(lambda: client.count("respond") == 1)
        told = {event.id: event.result["error"] for event in reader.all(ToolResult) if event.failed}
        assert told == {
            "breaks": "The tool failed.",
            "explains": "The valve is locked.",
            "hangs": "The tool gave no result within 30 s.",
            "odd": "The tool gave a result that is no JSON.",
            "huge": "The tool gave a result of 200012 characters, and 100000 are the most.",
            "nowhere": "There is no tool 'nowhere'. There are: breaks, explains, hangs, huge, odd.",
            "bad": "The arguments are not a JSON object.",
        }
        assert {name: {"error": error} for name, error in told.items()} == dict(results(client))

    in_virtual_time(scene())


@pytest.mark.behaviour("L4", "L10")
def test_only_the_tools_of_the_tags_are_offered_and_run() -> None:
    async def run(args: JsonObject) -> JsonObject:
        return {"ran": True}

    async def scene() -> None:
        client = ScriptedClient()
        live = LiveSession(
            client, RealtimeConfig(tool_tags=("look",)), queue=InputQueue(), tools=Tools(look=run, edit=run)
        )
        async with reading(live.events()) as reader:
            await client.until(lambda: bool(client.connects))
            client.dispatch("first", call(1, "edit"), call(2))
            await reader.until(ToolResult, 2)
        assert client.connects[0].tools == ("look",)
        assert dict(results(client))["call-2"] == {"ran": True}
        assert "no tool 'edit'" in str(dict(results(client))["call-1"])

    in_virtual_time(scene())


@pytest.mark.behaviour("L4", "O5")
def test_a_turn_has_five_rounds_of_tools_then_a_warning_then_an_end() -> None:
    ran: list[int] = []

    async def look(args: JsonObject) -> JsonObject:
        ran.append(1)
        return {}

    async def scene() -> None:
        client = ScriptedClient()
        async with reading(session(client, Tools(look=look)).events()) as reader:
            await client.until(lambda: bool(client.connects))
            client.tell(InputTranscript(text="Go", finished=True))
            for number in range(1, 8):
                client.dispatch(f"round-{number}", call(number))
                await reader.until(ToolResult, number)
            failure = await reader.until(Failure)
            await reader.until(TurnComplete)
            assert (failure.code, failure.fatal) == ("tool_rounds", False)
            assert len(ran) == 5
            assert client.count("respond") == 6, "the sixth round may still be answered, the seventh is the end"
            assert "Answer with what is known" in str(results(client)[5][1])
            client.tell(InputTranscript(text="Again", finished=True))
            client.dispatch("fresh", call(99))
            await client.until(lambda: client.count("respond") == 7)
            assert len(ran) == 6, "another turn counts anew"

    in_virtual_time(scene())


@pytest.mark.behaviour("L4")
def test_an_interruption_takes_the_follow_up_away_and_not_the_result() -> None:
    async def scene() -> None:
        client, slow = ScriptedClient(), Slow()
        async with reading(session(client, Tools(look=slow)).events()) as reader:
            await client.until(lambda: bool(client.connects))
            client.dispatch("first", call(1))
            await reader.until(ToolCall)
            client.tell(Interrupted())
            await reader.until(Interrupted)
            slow.finish(1)
            await client.until(lambda: client.count("result") == 1)
            await answered(client, reader)
        assert client.count("respond") == 0

    in_virtual_time(scene())


@pytest.mark.behaviour("L4")
def test_a_call_or_an_end_that_comes_twice_counts_once() -> None:
    async def scene() -> None:
        client, slow = ScriptedClient(), Slow()
        async with reading(session(client, Tools(look=slow)).events()) as reader:
            await client.until(lambda: bool(client.connects))
            ended = ResponseEnded(response_id="first", calls=("call-1",))
            client.tell(ResponseStarted(response_id="first"), call(1), call(1), ended, ended)
            await reader.until(ToolCall)
            slow.finish(1)
            await reader.until(ToolResult)
            await answered(client, reader)
            client.tell(ResponseEnded(response_id="answer-1"), ended)
            await answered(client, reader, 2)
        assert (client.count("result"), client.count("respond")) == (1, 1)
        assert len(reader.all(ToolCall)) == 1
        assert len(reader.all(ResponseEnded)) == 3

    in_virtual_time(scene())


@pytest.mark.behaviour("L4", "O4")
def test_what_a_response_says_after_its_call_is_not_passed_on() -> None:
    async def scene() -> None:
        client, slow = ScriptedClient(), Slow()
        async with reading(session(client, Tools(look=slow)).events()) as reader:
            await client.until(lambda: bool(client.connects))
            client.tell(ResponseStarted(response_id="first"), OutputTranscript(text="One moment.", finished=True))
            client.tell(call(1), AudioDelta(data=bytes(960)), OutputTranscript(text="I am still talking."))
            client.tell(ResponseEnded(response_id="first", calls=("call-1",)))
            await reader.until(ResponseEnded)
            slow.finish(1)
            await answered(client, reader)
        assert [event.text for event in reader.all(OutputTranscript)] == ["One moment.", "Here it is."]
        assert not reader.all(AudioDelta)

    in_virtual_time(scene())


@pytest.mark.behaviour("L4")
def test_a_response_in_between_ends_no_turn_while_a_tool_is_at_work() -> None:
    """Somebody spoke while the tool ran, and the provider answered by itself."""

    async def scene() -> None:
        client, slow = ScriptedClient(), Slow()
        async with reading(session(client, Tools(look=slow)).events()) as reader:
            await client.until(lambda: bool(client.connects))
            client.dispatch("first", call(1))
            client.tell(ResponseStarted(response_id="between"), OutputTranscript(text="I am looking.", finished=True))
            client.tell(ResponseEnded(response_id="between"))
            await reader.until(ResponseEnded, 2)
            assert not reader.all(TurnComplete)
            slow.finish(1)
            await client.until(lambda: client.count("respond") == 1)
            await answered(client, reader)

    in_virtual_time(scene())
