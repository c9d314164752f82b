"""What is left of a connection over the bridge that ended badly: nothing."""

from __future__ import annotations

import asyncio

import pytest
from bridge_fakes import Talker, bridging
from voice_fakes import Gateway, until
from websockets.asyncio.client import connect

from voice_gateway.live.events import AudioDelta, InputTranscript, ResponseStarted
from voice_gateway.settings import Settings
from voice_gateway.transports.bridge.serving import PATH

ONE_PLACE = Settings(
    voice="local",
    ears="scripted",
    mouth="scripted",
    script=("What is the code?",),
    max_voices=1,
    silent_s=0.1,
    stop_s=0.2,
)

pytestmark = pytest.mark.behaviour("L8")


@pytest.mark.parametrize("settings", [ONE_PLACE])
async def test_who_vanishes_in_an_answer_gives_the_place_at_the_ears_back(gateway: Gateway) -> None:
    address = gateway.url.replace("http", "ws", 1) + PATH
    for _ in range(4):
        secret = await gateway.mint(bridge=True)
        socket = await connect(f"{address}?token={secret.value}")
        client = Talker(socket)
        await client.say()
        assert (await client.hear())["type"] == "ready", "the place is free again"
        await client.say(type="text", text="What is the code?")
        await client.hear_until("output_transcript")
        socket.transport.abort()
        await until(lambda: len(gateway.sessions()) == 0)


@pytest.mark.parametrize("settings", [ONE_PLACE])
async def test_who_finds_no_place_at_the_ears_is_told_so_and_keeps_the_credential(gateway: Gateway) -> None:
    address = gateway.url.replace("http", "ws", 1) + PATH
    first, second = await gateway.mint(bridge=True), await gateway.mint(bridge=True)
    async with connect(f"{address}?token={first.value}") as socket:
        client = Talker(socket)
        await client.say()
        await client.hear()
        async with connect(f"{address}?token={second.value}") as refused:
            assert (await Talker(refused).hear())["code"] == "too_many_sessions"
            await refused.wait_closed()
            assert refused.close_code == 1013
    await until(lambda: len(gateway.sessions()) == 0)
    async with connect(f"{address}?token={second.value}") as socket:
        client = Talker(socket)
        await client.say()
        assert (await client.hear())["type"] == "ready"


@pytest.mark.parametrize("settings", [ONE_PLACE])
async def test_a_gateway_that_stops_ends_a_held_call_with_1001_and_no_task_is_left(gateway: Gateway) -> None:
    address = gateway.url.replace("http", "ws", 1) + PATH
    secret = await gateway.mint(bridge=True)
    before = asyncio.all_tasks()
    async with connect(f"{address}?token={secret.value}") as socket:
        client = Talker(socket)
        await client.say()
        await client.hear()
        await gateway.sessions().stop(0.2)
        await socket.wait_closed()
        assert socket.close_code == 1001
    await until(lambda: not {task for task in asyncio.all_tasks() - before if not task.done()})


async def test_a_client_that_does_not_read_is_closed_and_its_session_ended() -> None:
    async with bridging(Settings(max_unread_bytes=65_536)) as bridge:
        headers = {"authorization": f"Bearer {bridge.token()}"}
        socket = await connect(bridge.url, additional_headers=headers, max_queue=1)
        client = Talker(socket)
        await client.say()
        await client.hear()
        session = bridge.opened[0]
        session.tell(ResponseStarted(response_id="r"), AudioDelta(data=bytes(4_800_000)))
        session.tell(*(InputTranscript(text="a" * 10_000) for _ in range(2_000)))
        await until(lambda: session.closed, within_s=30)
        await until(lambda: len(bridge.sessions) == 0, within_s=30)
        socket.transport.abort()
