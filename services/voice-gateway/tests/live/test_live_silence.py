"""A provider that is there and says nothing (L3)."""

from __future__ import annotations

import asyncio

import pytest
from live_fakes import ScriptedClient, Tools, reading
from virtual_time import in_virtual_time

from contracts.vocabulary import JsonObject
from voice_gateway.live.clients.local import LocalClient
from voice_gateway.live.config import RealtimeConfig
from voice_gateway.live.events import Failure, Reconnected, Reconnecting, ToolCall
from voice_gateway.live.input_queue import InputQueue
from voice_gateway.live.runner import SILENT_S, LiveSession


async def never(args: JsonObject) -> JsonObject:
    await asyncio.Event().wait()
    return {}


def session(client: ScriptedClient) -> LiveSession:
    return LiveSession(client, RealtimeConfig(), queue=InputQueue(), tools=Tools(never=never))


@pytest.mark.behaviour("L3")
def test_a_provider_that_owes_an_answer_and_falls_silent_is_asked_anew_and_then_given_up() -> None:
    async def scene() -> None:
        client = ScriptedClient()
        live = session(client)
        async with reading(live.events(), patience_s=10_000) as reader:
            live.queue.send_text("Are you there?")
            await reader.until(Reconnected)
            assert SILENT_S <= asyncio.get_running_loop().time() < 2 * SILENT_S + 1
            assert client.all("text") == ["Are you there?"] * 2
            failure = await reader.until(Failure)
            assert failure.code in ("answer_cut", "reconnect_failed")

    in_virtual_time(scene())


@pytest.mark.behaviour("L3")
def test_silence_is_fine_while_nothing_is_owed() -> None:
    async def scene() -> None:
        client = ScriptedClient()
        async with reading(session(client).events()) as reader:
            await asyncio.sleep(3_000)
            client.dispatch("first", ToolCall(id="c1", name="never", args={}))
            await reader.until(ToolCall)
            await asyncio.sleep(25)
        assert not reader.all(Reconnecting)
        client = ScriptedClient(LocalClient.capabilities)
        live = session(client)
        async with reading(live.events()) as reader:
            live.queue.send_text("Think about it.")
            await asyncio.sleep(3_000)
        assert not reader.all(Reconnecting), "our own agent has bounds of its own"

    in_virtual_time(scene())
