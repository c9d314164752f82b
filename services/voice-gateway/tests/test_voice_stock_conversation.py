"""The stock ``openai`` client talks with the gateway: sound in, transcript and sound out, and it may be interrupted."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncGenerator
from uuid import UUID

import pytest
from openai import AsyncOpenAI
from openai.resources.realtime.realtime import AsyncRealtimeConnection
from openai.types.realtime import RealtimeServerEvent
from voice_fakes import FakeAgent, Gateway, begin_only, until
from voice_wire import check

from contracts.frames import Delta
from voice_gateway.scripted import tone
from voice_gateway.settings import Settings

QUESTION = "What is the amber valve recovery code?"
SPEAKING = Settings(
    voice="local",
    ears="scripted",
    mouth="scripted",
    script=(QUESTION, "And the valve?"),
    max_voices=2,
    silent_s=20,
    stop_s=0.2,
)
pytestmark = pytest.mark.parametrize("settings", [SPEAKING])
SILENCE = b"\0\0" * 24


async def long_answer(agent: FakeAgent, turn_id: UUID) -> None:
    """Write a long answer, and leave it unfinished."""
    await agent.write(turn_id, *(Delta(text=f"This is sentence {number} of a long answer. ") for number in range(9)))


@pytest.fixture
async def connection(gateway: Gateway) -> AsyncGenerator[AsyncRealtimeConnection]:
    minting = AsyncOpenAI(api_key="unused", base_url=f"{gateway.url}/v1", max_retries=0)
    secret = await minting.realtime.client_secrets.create(session={"type": "realtime", "model": "gpt-realtime"})
    client = AsyncOpenAI(api_key=secret.value, base_url=f"{gateway.url}/v1", max_retries=0)
    async with client.realtime.connect(model="gpt-realtime") as connected:
        yield connected
    await minting.close()
    await client.close()
    await until(lambda: len(gateway.sessions()) == 0)


async def say(connection: AsyncRealtimeConnection, speech_ms: int = 300, pause_ms: int = 600) -> None:
    """Send the sound of speech and of the pause behind it, in pieces as a microphone gives them."""
    sound = tone(speech_ms) + SILENCE * pause_ms
    for start in range(0, len(sound), 4800):
        await connection.input_audio_buffer.append(audio=base64.b64encode(sound[start : start + 4800]).decode())


async def read_until(connection: AsyncRealtimeConnection, kind: str) -> list[RealtimeServerEvent]:
    events: list[RealtimeServerEvent] = []
    async with asyncio.timeout(30):
        async for event in connection:
            check(event.to_dict())
            events.append(event)
            if event.type == kind:
                return events
    raise AssertionError(f"the connection ended before {kind}")


def sound_of(events: list[RealtimeServerEvent]) -> bytes:
    return b"".join(base64.b64decode(event.delta) for event in events if event.type == "response.output_audio.delta")


@pytest.mark.behaviour("V3", "V9")
async def test_a_question_that_is_spoken_is_answered_aloud(
    gateway: Gateway, connection: AsyncRealtimeConnection
) -> None:
    await connection.session.update(
        session={
            "type": "realtime",
            "instructions": "Answer from the notes.",
            "audio": {
                "input": {"turn_detection": {"type": "server_vad"}, "transcription": {"model": "gpt-4o-transcribe"}},
                "output": {"voice": "marin"},
            },
        }
    )
    await say(connection)
    events = await read_until(connection, "output_audio_buffer.stopped")
    heard = [event.transcript for event in events if event.type.endswith("input_audio_transcription.completed")]  # type: ignore[union-attr]
    assert heard == [QUESTION]
    assert [asked.question for asked in gateway.agent.asked] == heard
    spoken = "".join(event.delta for event in events if event.type == "response.output_audio_transcript.delta")
    assert spoken == "The code is ORCHID-47."
    kinds = [event.type for event in events]
    assert kinds.index("response.done") < kinds.index("output_audio_buffer.stopped")
    assert kinds.index("output_audio_buffer.started") < kinds.index("response.output_audio.delta")
    assert "response.output_audio.delta" not in kinds[kinds.index("response.output_audio.done") :]
    assert len(sound_of(events)) >= len(spoken) * 60 * 48


@pytest.mark.behaviour("V6", "V11")
async def test_who_speaks_into_the_answer_is_answered_and_the_old_answer_falls_silent(
    gateway: Gateway, connection: AsyncRealtimeConnection
) -> None:
    gateway.agent.play = long_answer
    await say(connection)
    begun = await read_until(connection, "output_audio_buffer.started")
    first = next(event.response.id for event in begun if event.type == "response.created")
    await say(connection)
    events = await read_until(connection, "conversation.item.truncated")
    done = next(event.response for event in events if event.type == "response.done")
    assert (done.id, done.status) == (first, "cancelled")
    cleared = [event.response_id for event in events if event.type == "output_audio_buffer.cleared"]
    assert cleared == [first]
    gateway.agent.play = begin_only
    late = await read_until(connection, "response.created")
    assert not sound_of(late)
    await until(lambda: gateway.agent.cancelled == gateway.agent.turns[:1])
    assert gateway.agent.how[0].reason == "interrupted"
    assert gateway.agent.asked[1].question == "And the valve?"


@pytest.mark.behaviour("V5")
async def test_a_phrase_is_read_aloud_out_of_band(gateway: Gateway, connection: AsyncRealtimeConnection) -> None:
    await connection.response.create(
        response={
            "conversation": "none",
            "output_modalities": ["audio"],
            "tools": [],
            "instructions": "Read it as it stands.",
            "input": [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Good day."}]}],
            "metadata": {"phrase_id": "1:0"},
        }
    )
    events = await read_until(connection, "output_audio_buffer.stopped")
    done = next(event.response for event in events if event.type == "response.done")
    assert done.metadata == {"phrase_id": "1:0"}
    assert done.status == "completed"
    assert len(sound_of(events)) >= 9 * 60 * 48
    assert gateway.agent.asked == []


async def test_push_to_talk_is_a_commit_by_hand(gateway: Gateway, connection: AsyncRealtimeConnection) -> None:
    await connection.session.update(
        session={"type": "realtime", "audio": {"input": {"turn_detection": None}}}  # pyright: ignore[reportArgumentType]
    )
    await say(connection, pause_ms=0)
    await connection.input_audio_buffer.commit()
    await connection.response.create()
    await read_until(connection, "response.done")
    assert [asked.question for asked in gateway.agent.asked] == [QUESTION]


async def test_who_finds_no_place_is_told_so_and_keeps_the_credential(
    gateway: Gateway, connection: AsyncRealtimeConnection
) -> None:
    await connection.recv()
    second, third = await gateway.mint(), await gateway.mint()
    client = AsyncOpenAI(api_key=second.value, base_url=f"{gateway.url}/v1", max_retries=0)
    async with client.realtime.connect(model="talkdown") as other:
        await other.recv()
        refused = AsyncOpenAI(api_key=third.value, base_url=f"{gateway.url}/v1", max_retries=0)
        with pytest.raises(Exception, match="429"):
            await refused.realtime.connect(model="talkdown").enter()
    await until(lambda: len(gateway.sessions()) == 1)
    async with refused.realtime.connect(model="talkdown") as later:
        assert (await later.recv()).type == "session.created"


async def test_health_says_that_ears_and_mouth_are_ready(gateway: Gateway) -> None:
    assert (await gateway.http.get("/health/ready")).json()["status"] == "ready"
