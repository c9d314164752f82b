"""An answer that is held for somebody who may speak: nothing holds it for ever, neither the end nor silence."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import suppress

import pytest
from bridge_fakes import Bridge, Talker, bridging
from voice_fakes import until
from websockets.exceptions import ConnectionClosed

from voice_gateway.live.events import AudioDelta, ResponseEnded, ResponseStarted, SpeechStarted, TurnStarted
from voice_gateway.settings import Settings

SOUND = bytes(range(256)) * 15
BY_HAND = {"enabled": False}

pytestmark = pytest.mark.behaviour("L8")


@pytest.fixture
async def bridge() -> AsyncGenerator[Bridge]:
    async with bridging() as bridge:
        yield bridge


async def held(bridge: Bridge, client: Talker) -> None:
    """Half a second of an answer waits, and the session ends when the test says so."""
    session = bridge.opened[0]
    session.lingers = True
    session.tell(ResponseStarted(response_id="r"), AudioDelta(data=SOUND * 6), ResponseEnded(response_id="r"))
    await client.hear_until("response_started")


async def to_the_end(client: Talker) -> list[str]:
    """What comes until the session is closed: names of events, sound joined."""
    names: list[str] = []
    with suppress(ConnectionClosed):
        while True:
            message = await client.next()
            name = message["type"] if isinstance(message, dict) else "sound"
            if names[-1:] != [name]:
                names.append(name)
    return names


async def test_close_lets_go_of_an_answer_that_a_provider_s_client_holds(bridge: Bridge) -> None:
    async with bridge.connected(orchestrator="live") as client:
        session = bridge.opened[0]
        await held(bridge, client)
        session.tell(SpeechStarted())
        await client.hear_until("speech_started")
        await client.say(type="close")
        await until(lambda: session.queue.closed)
        session.end()
        assert await to_the_end(client) == ["speech_dismissed", "sound", "response_ended"]
        assert client.socket.close_code == 1000


async def test_close_by_hand_forgets_the_turn_that_was_begun_and_lets_go_of_the_answer(bridge: Bridge) -> None:
    async with bridge.connected(orchestrator="live", vad=BY_HAND) as client:
        session = bridge.opened[0]
        await held(bridge, client)
        await client.say(type="activity_start")
        await client.hear_until("speech_started")
        await client.say(type="close")
        await until(lambda: session.queue.closed)
        session.end()
        assert await to_the_end(client) == ["speech_stopped", "speech_dismissed", "sound", "response_ended"]
        assert session.queue.taken == [("activity", "start"), ("activity", "cancel")]


@pytest.mark.parametrize("end", ["activity_end", "activity_cancel", None])
async def test_close_by_hand_forgets_a_turn_of_our_own_ears_only_where_one_was_begun(
    bridge: Bridge, end: str | None
) -> None:
    async with bridge.connected(orchestrator="cascade", vad=BY_HAND) as client:
        session = bridge.opened[0]
        for kind in ("activity_start", end):
            if kind is not None:
                await client.say(type=kind)
        await client.say(type="close")
        await to_the_end(client)
        kinds = [kind for _, kind in session.queue.taken]
        assert kinds == ["start", "cancel" if end in ("activity_cancel", None) else "end"]


async def test_a_key_that_is_held_in_silence_is_no_answer_and_the_client_is_sent_away() -> None:
    async with bridging(Settings(idle_s=0.2)) as bridge, bridge.connected(orchestrator="live", vad=BY_HAND) as client:
        bridge.opened[0].tell(TurnStarted(turn=1), ResponseStarted(response_id="r"), AudioDelta(data=SOUND * 100))
        await client.hear_until("response_started")
        await client.say(type="activity_start")
        await to_the_end(client)
        assert client.socket.close_code == 1000
        assert "Nothing was said for 0.2 seconds" in (client.socket.close_reason or "")
