"""A client that sends all at once, over a whole gateway with scripted ears and a scripted mouth."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest
from bridge_fakes import Talker
from voice_fakes import Gateway
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

from voice_gateway.settings import Settings
from voice_gateway.transports.bridge.serving import PATH

SCRIPTED = Settings(
    voice="local",
    ears="scripted",
    mouth="scripted",
    script=("What is the code?",),
    silent_s=0.1,
    stop_s=0.2,
)
LOUD = b"\x00\x20" * 320
"""20 ms at 16 kHz."""

pytestmark = [pytest.mark.behaviour("L8"), pytest.mark.parametrize("settings", [SCRIPTED])]


@asynccontextmanager
async def client_of(gateway: Gateway, **init: object) -> AsyncGenerator[Talker]:
    secret = await gateway.mint(bridge=True)
    async with connect(f"{gateway.url.replace('http', 'ws', 1)}{PATH}?token={secret.value}") as socket:
        client = Talker(socket)
        await client.say(**init)
        assert (await client.hear())["type"] == "ready"
        yield client


def names(heard: list[bytes | dict[str, Any]]) -> list[str]:
    return [message["type"] for message in heard if isinstance(message, dict)]


@pytest.mark.behaviour("L9")
async def test_a_turn_by_hand_ends_however_much_sound_came_at_once(gateway: Gateway) -> None:
    async with client_of(gateway, vad={"enabled": False}) as client:
        await client.say(type="activity_start")
        for _ in range(5000):
            await client.socket.send(LOUD)
        await client.say(type="activity_end")
        [*_, words] = await client.hear_until("input_transcript")
        assert isinstance(words, dict)
        assert words["text"] == "What is the code?"


@pytest.mark.parametrize("modality", ["audio", "text"])
async def test_silence_that_is_asked_for_right_behind_a_question_is_kept(gateway: Gateway, modality: str) -> None:
    async with client_of(gateway, modality=modality) as client:
        await client.say(type="text", text="What is the code?")
        await client.say(type="interrupt")
        heard: list[bytes | dict[str, Any]] = []
        with suppress(TimeoutError):
            async with asyncio.timeout(1.0):
                while True:
                    heard.append(await client.next())
        assert [message for message in heard if isinstance(message, bytes)] == []
        assert "output_transcript" not in names(heard)
        assert "interrupted" in names(heard)


@pytest.mark.behaviour("L9")
async def test_close_with_the_key_still_held_lets_the_answer_be_said(gateway: Gateway) -> None:
    async with client_of(gateway, vad={"enabled": False}) as client:
        await client.say(type="text", text="What is the code?")
        while not isinstance(await client.next(), bytes):
            pass
        await client.say(type="activity_start")
        await client.hear_until("speech_started")
        await client.say(type="close")
        rest = await client.hear_until("turn_complete")
        assert "speech_dismissed" in names(rest)
        with suppress(ConnectionClosed):
            while True:
                await client.next()
        assert client.socket.close_code == 1000
