"""The tools of a live session: at most four at once, one response after all of them (L4, O5)."""

from __future__ import annotations

import asyncio

import pytest
from live_fakes import Diary, Reader, ScriptedClient, Stored, Tools, reading
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
