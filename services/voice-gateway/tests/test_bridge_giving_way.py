"""What the person types, or says by hand, ends what is being said, whoever holds the conversation."""

from __future__ import annotations

from collections.abc import AsyncGenerator

import pytest
from bridge_fakes import Bridge, Talker, bridging
from voice_fakes import until

from voice_gateway.live.events import AudioDelta, ResponseEnded, ResponseStarted, TurnComplete, TurnStarted

SECOND = bytes(range(256)) * 187 + bytes(128)

pytestmark = pytest.mark.behaviour("L8")


@pytest.fixture
async def bridge() -> AsyncGenerator[Bridge]:
    async with bridging() as bridge:
        yield bridge


async def answering(bridge: Bridge, client: Talker) -> None:
    """An answer of five seconds that was made at once is being said; its turn is over."""
    session = bridge.opened[0]
    session.tell(TurnStarted(turn=1), ResponseStarted(response_id="old"), AudioDelta(data=SECOND * 5))
    session.tell(ResponseEnded(response_id="old"), TurnComplete(turn=1))
    while not isinstance(await client.next(), bytes):
        pass


async def rest_of(client: Talker, kind: str) -> list[str]:
    """The names of what comes up to an event, sound too."""
    return [one["type"] if isinstance(one, dict) else "sound" for one in await client.hear_until(kind)]


async def test_a_question_that_is_typed_ends_what_is_still_being_said_of_an_answer_that_is_whole(
    bridge: Bridge,
) -> None:
    async with bridge.connected(orchestrator="live") as client:
        await answering(bridge, client)
        await client.say(type="played", response_id="old", ms=120)
        await client.say(type="text", text="And now?")
        session = bridge.opened[0]
        await until(lambda: session.queue.taken)
        assert session.queue.taken == [("text", "And now?")]
        assert session.interrupted == [120]
        session.tell(ResponseStarted(response_id="new"))
        rest = await rest_of(client, "response_started")
        assert rest.count("sound") < 10
        assert rest[-4:] == ["response_ended", "turn_complete", "interrupted", "response_started"]


async def test_a_question_that_is_typed_in_silence_interrupts_nothing(bridge: Bridge) -> None:
    async with bridge.connected() as client:
        await client.say(type="text", text="Hello?")
        await until(lambda: bridge.opened[0].queue.taken)
        assert bridge.opened[0].interrupted == []


@pytest.mark.behaviour("L9")
async def test_by_hand_a_provider_s_answer_waits_while_the_key_is_held_and_ends_when_something_was_said(
    bridge: Bridge,
) -> None:
    async with bridge.connected(orchestrator="live", vad={"enabled": False}) as client:
        await answering(bridge, client)
        await client.say(type="activity_start")
        await client.hear_until("speech_started")
        await client.say(type="activity_end")
        assert await rest_of(client, "interrupted") == [
            "speech_stopped",
            "response_ended",
            "turn_complete",
            "interrupted",
        ]
        session = bridge.opened[0]
        await until(lambda: len(session.queue.taken) == 2)
        assert session.queue.taken == [("activity", "start"), ("activity", "end")]
        assert len(session.interrupted) == 1


@pytest.mark.behaviour("L9")
async def test_by_hand_a_provider_s_answer_goes_on_when_the_person_thinks_better_of_it(bridge: Bridge) -> None:
    async with bridge.connected(orchestrator="live", vad={"enabled": False}) as client:
        await answering(bridge, client)
        await client.say(type="activity_start")
        await client.hear_until("speech_started")
        await client.say(type="activity_cancel")
        assert await rest_of(client, "speech_dismissed") == ["speech_stopped", "speech_dismissed"]
        assert isinstance(await client.next(), bytes)
        assert bridge.opened[0].interrupted == []


@pytest.mark.behaviour("L9")
async def test_by_hand_our_own_ears_decide_what_becomes_of_the_answer(bridge: Bridge) -> None:
    async with bridge.connected(orchestrator="cascade", vad={"enabled": False}) as client:
        await answering(bridge, client)
        for kind in ("activity_start", "activity_end"):
            await client.say(type=kind)
        await until(lambda: len(bridge.opened[0].queue.taken) == 2)
        assert bridge.opened[0].interrupted == []
        assert set(await rest_of(client, "turn_complete")) == {"sound", "response_ended", "turn_complete"}
