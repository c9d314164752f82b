"""How a lost connection comes back, and how one is left before it is lost (L3)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest
from live_fakes import LIKE_GEMINI, LIKE_OPENAI, Reader, ScriptedClient, Stored, Tools, reading
from virtual_time import in_virtual_time

from voice_gateway.live.config import RealtimeConfig, Reconnect
from voice_gateway.live.errors import ConnectionLost, LiveError, SessionRefused
from voice_gateway.live.events import (
    AudioDelta,
    Failure,
    GoAway,
    InputTranscript,
    OutputTranscript,
    Reconnected,
    Reconnecting,
    ResponseEnded,
    ResponseStarted,
    SessionUpdate,
    SpeechStarted,
    SpeechStopped,
    TurnComplete,
)
from voice_gateway.live.input_queue import InputQueue
from voice_gateway.live.port import Line, Part
from voice_gateway.live.runner import LiveSession
from voice_gateway.live.seeding import BROKEN, GO_ON


@asynccontextmanager
async def call(
    client: ScriptedClient,
    config: RealtimeConfig | None = None,
    *,
    resume_handle: str | None = None,
    history: tuple[Line, ...] = (),
) -> AsyncGenerator[tuple[LiveSession, Reader]]:
    session = LiveSession(
        client,
        config or RealtimeConfig(),
        queue=InputQueue(),
        tools=Tools(),
        resume_handle=resume_handle,
        history=history,
        transcripts=Stored(),
    )
    async with reading(session.events(), patience_s=100_000) as reader:
        await client.until(lambda: bool(client.connects))
        yield session, reader


def turn(client: ScriptedClient, question: str, answer: str, number: int = 1) -> None:
    client.tell(InputTranscript(text=question, finished=True), ResponseStarted(response_id=f"r{number}"))
    client.tell(OutputTranscript(text=answer, finished=True), ResponseEnded(response_id=f"r{number}"))


@pytest.mark.behaviour("L3")
def test_pauses_grow_to_their_limit_and_then_it_is_over() -> None:
    async def scene() -> None:
        client = ScriptedClient()
        client.refusals = [ConnectionLost()] * 20
        config = RealtimeConfig(reconnect=Reconnect(base_delay_s=0.5, max_delay_s=3.0, max_attempts=5))
        async with call(client, config) as (_, reader):
            failure = await reader.until(Failure)
            await reader.end()
        assert [event.wait_s for event in reader.all(Reconnecting)] == [0.5, 1.0, 2.0, 3.0, 3.0]
        assert [event.attempt for event in reader.all(Reconnecting)] == [1, 2, 3, 4, 5]
        assert len(client.connects) == 6
        assert (failure.code, failure.fatal) == ("reconnect_failed", True)
        assert asyncio.get_running_loop().time() == pytest.approx(9.5)

    in_virtual_time(scene())


@pytest.mark.behaviour("L3")
def test_without_attempts_the_first_drop_is_fatal() -> None:
    async def scene() -> None:
        client = ScriptedClient()
        async with call(client, RealtimeConfig(reconnect=Reconnect(max_attempts=0))) as (_, reader):
            client.drop()
            assert (await reader.until(Failure)).code == "reconnect_failed"
            await reader.end()
        assert len(client.connects) == 1

    in_virtual_time(scene())


@pytest.mark.behaviour("L3")
def test_anything_received_begins_the_count_anew() -> None:
    async def scene() -> None:
        client = ScriptedClient()
        async with call(client) as (_, reader):
            for number in range(1, 9):
                client.tell(SpeechStarted(), SpeechStopped(), ConnectionLost())
                await reader.until(Reconnected, number)
        assert {event.wait_s for event in reader.all(Reconnecting)} == {0.5}

    in_virtual_time(scene())


@pytest.mark.behaviour("L3")
def test_a_server_that_takes_everybody_and_drops_them_at_once_is_given_up() -> None:
    async def scene() -> None:
        client = ScriptedClient()
        async with call(client) as (_, reader):
            for number in range(1, 6):
                client.drop()
                await reader.until(Reconnected, number)
            client.drop()
            assert (await reader.until(Failure)).code == "reconnect_failed"
            await reader.end()

    in_virtual_time(scene())


@pytest.mark.behaviour("L3")
def test_a_long_silence_is_no_failed_attempt() -> None:
    async def scene() -> None:
        client = ScriptedClient()
        async with call(client) as (_, reader):
            for number in range(1, 9):
                await asyncio.sleep(60)
                client.drop()
                await reader.until(Reconnected, number)

    in_virtual_time(scene())


@pytest.mark.behaviour("L3")
def test_a_go_away_is_followed_at_once_and_counts_as_no_attempt() -> None:
    async def scene() -> None:
        client = ScriptedClient(LIKE_GEMINI)
        async with call(client) as (_, reader):
            client.tell(SessionUpdate(resumption_handle="h1"), GoAway(time_left_s=10))
            assert (await reader.until(Reconnected)).resumed
            assert asyncio.get_running_loop().time() < 0.01
        assert [(e.attempt, e.wait_s, e.reason) for e in reader.all(Reconnecting)] == [(0, 0, "go_away")]
        assert client.connects[1].handle == "h1"
        assert client.count("reseed") == 0, "with a handle no reseed"

    in_virtual_time(scene())


@pytest.mark.behaviour("L3")
def test_a_go_away_lets_an_answer_end_as_long_as_it_can() -> None:
    async def scene() -> None:
        client, loop = ScriptedClient(), asyncio.get_running_loop()
        async with call(client) as (_, reader):
            client.tell(ResponseStarted(response_id="r1"), AudioDelta(data=bytes(960)), GoAway(time_left_s=10))
            await reader.until(GoAway)
            await asyncio.sleep(5)
            assert len(client.connects) == 1
            client.tell(ResponseEnded(response_id="r1"))
            await reader.until(Reconnected)
            assert loop.time() == pytest.approx(5)
            client.tell(ResponseStarted(response_id="r2"), GoAway(time_left_s=10))
            await reader.until(Reconnected, 2)
            assert loop.time() == pytest.approx(14), "a second before the provider would"

    in_virtual_time(scene())


@pytest.mark.behaviour("L3")
def test_a_connection_is_left_before_its_longest_life_when_it_is_quiet() -> None:
    async def scene() -> None:
        client, loop = ScriptedClient(replace(LIKE_OPENAI, session_s=600.0)), asyncio.get_running_loop()
        async with call(client) as (_, reader):
            await reader.until(Reconnected)
            assert loop.time() == pytest.approx(540)
            await asyncio.sleep(530)
            client.tell(ResponseStarted(response_id="long"))
            for _ in range(3):
                await asyncio.sleep(20)
                client.tell(AudioDelta(data=bytes(960)))
            await reader.until(Reconnected, 2)
            assert loop.time() == pytest.approx(540 + 597), "an answer in work is waited for, but not for ever"
        assert [event.reason for event in reader.all(Reconnecting)] == ["rollover", "rollover"]

    in_virtual_time(scene())


@pytest.mark.behaviour("L3")
def test_without_a_handle_the_history_is_told() -> None:
    async def scene() -> None:
        client = ScriptedClient()
        async with call(client, history=(Line("user", "Earlier"),)) as (_, reader):
            assert client.all("reseed") == [(Line("user", "Earlier"),)]
            turn(client, "What is it?", "A valve.")
            await reader.until(TurnComplete)
            client.drop()
            assert not (await reader.until(Reconnected)).resumed
        told = (Line("user", "Earlier"), Line("user", "What is it?"), Line("assistant", "A valve."))
        assert client.all("reseed")[-1] == told

    in_virtual_time(scene())


@pytest.mark.behaviour("L3")
def test_a_question_without_an_answer_is_asked_again_and_a_begun_answer_gone_on_with() -> None:
    async def scene() -> None:
        client = ScriptedClient()
        async with call(client) as (session, reader):
            session.queue.send_text("Tell me.")
            await client.until(lambda: client.count("text") == 1)
            client.drop()
            await reader.until(Reconnected)
            assert client.all("text") == ["Tell me.", "Tell me."]
            assert client.count("reseed") == 0
            client.tell(ResponseStarted(response_id="r1"), OutputTranscript(text="It is a"))
            await reader.until(OutputTranscript)
            client.drop()
            await reader.until(Reconnected, 2)
            assert client.all("reseed") == [(Line("user", "Tell me."), Line("assistant", "It is a"))]
            assert client.all("text")[-1] == GO_ON
            client.tell(ResponseStarted(response_id="r1"), OutputTranscript(text="valve.", finished=True))
            client.tell(ResponseEnded(response_id="r1"))
            await reader.until(TurnComplete)
        assert session.history == (Line("user", "Tell me."), Line("assistant", "It is a valve."))

    in_virtual_time(scene())


@pytest.mark.behaviour("L3")
def test_speech_that_was_not_understood_is_said_again_with_what_came_before_it() -> None:
    async def scene() -> None:
        client = ScriptedClient()
        async with call(client) as (session, reader):
            before, said = bytes(48_000), b"\1\0" * 480
            session.queue.send_audio(before, 24_000)
            session.queue.send_audio(said, 24_000)
            await client.until(lambda: client.count("audio") == 2)
            client.tell(SpeechStarted())
            await reader.until(SpeechStarted)
            client.drop()
            await reader.until(Reconnected)
            assert client.all("audio")[2:] == [before, said]
            client.tell(SpeechStarted(), SpeechStopped(), InputTranscript(text="Understood", finished=True))
            await reader.until(InputTranscript)
            client.drop()
            await reader.until(Reconnected, 2)
        assert client.count("audio") == 4, "what was understood is not said a third time"
        assert client.all("text") == ["Understood"]

    in_virtual_time(scene())


@pytest.mark.behaviour("L3")
def test_an_answer_whose_words_nobody_knows_is_given_up_and_said_so() -> None:
    async def scene() -> None:
        client = ScriptedClient()
        async with call(client) as (session, reader):
            session.queue.send_text("Sing.")
            await client.until(lambda: client.count("text") == 1)
            client.tell(ResponseStarted(response_id="r1"), AudioDelta(data=bytes(960)))
            await reader.until(AudioDelta)
            client.drop()
            assert (await reader.until(Failure)).code == "answer_cut"
            await reader.until(TurnComplete)
            await reader.until(Reconnected)
        assert client.count("text") == 1

    in_virtual_time(scene())


@pytest.mark.behaviour("L3")
def test_a_question_that_breaks_every_connection_is_not_asked_for_ever() -> None:
    async def scene() -> None:
        client = ScriptedClient()
        async with call(client) as (session, reader):
            session.queue.send_text("Poison.")
            for number in range(1, 7):
                await client.until(lambda number=number: client.count("text") == number)
                client.tell(ResponseStarted(response_id="r"), ConnectionLost())
                await reader.until(Reconnected, number)
            assert (await reader.until(Failure)).code == "answer_cut"
            assert client.count("text") == 6
            turn(client, "Are you well?", "Yes.")
            await reader.until(TurnComplete, 2)

    in_virtual_time(scene())


@pytest.mark.behaviour("L3")
def test_after_the_end_of_the_input_a_drop_is_not_repaired() -> None:
    async def scene() -> None:
        client = ScriptedClient()
        async with call(client) as (session, reader):
            turn(client, "One", "First.")
            await reader.until(TurnComplete)
            session.queue.close()
            client.drop()
            await reader.end()
        assert not reader.all(Failure), "nothing was missed"
        client = ScriptedClient()
        async with call(client) as (session, reader):
            client.tell(InputTranscript(text="One", finished=True))
            await reader.until(InputTranscript)
            session.queue.close()
            client.drop()
            assert (await reader.until(Failure)).code == "connection_lost"
            await reader.end()
        assert len(client.connects) == 1

    in_virtual_time(scene())


@pytest.mark.behaviour("L3")
def test_the_end_of_the_input_waits_for_the_answer_but_not_for_ever() -> None:
    async def scene() -> None:
        client, loop = ScriptedClient(), asyncio.get_running_loop()
        async with call(client) as (session, reader):
            session.queue.send_text("Last question")
            session.queue.close()
            await asyncio.sleep(10)
            assert not reader.ended
            turn(client, "", "The answer.")
            await reader.end()
            assert loop.time() == pytest.approx(12)
        client = ScriptedClient()
        began = loop.time()
        async with call(client) as (session, reader):
            session.queue.send_text("Never answered")
            session.queue.close()
            await reader.end()
            assert loop.time() - began == pytest.approx(30)

    in_virtual_time(scene())


@pytest.mark.behaviour("L3")
def test_a_handle_that_is_refused_is_let_go_and_a_refusal_without_one_is_final() -> None:
    async def scene() -> None:
        client = ScriptedClient(LIKE_GEMINI)
        client.refusals = [SessionRefused("settings_refused", "no"), None]
        async with call(client, resume_handle="old") as (_, reader):
            assert (await reader.until(SessionUpdate)).resumption_handle is None
            await client.until(lambda: len(client.connects) == 2)
        assert [connected.handle for connected in client.connects] == ["old", None]
        client = ScriptedClient()
        client.refusals = [SessionRefused("invalid_api_key", "The key is refused.")]
        async with call(client) as (_, reader):
            failure = await reader.until(Failure)
            await reader.end()
        assert (failure.code, failure.message, failure.fatal) == ("invalid_api_key", "The key is refused.", True)

    in_virtual_time(scene())


@pytest.mark.behaviour("L3")
def test_a_handle_is_not_used_where_resumption_is_switched_off() -> None:
    async def scene() -> None:
        client = ScriptedClient(LIKE_GEMINI)
        async with call(client, RealtimeConfig(resumption=False), resume_handle="old"):
            assert client.connects[0].handle is None

    in_virtual_time(scene())


@pytest.mark.behaviour("L3")
def test_a_resumed_session_is_told_of_the_turn_that_its_handle_does_not_know() -> None:
    async def scene() -> None:
        client = ScriptedClient(LIKE_GEMINI)
        async with call(client) as (session, reader):
            client.tell(SessionUpdate(resumption_handle="h1"))
            session.queue.send_text("Tell me.")
            await client.until(lambda: client.count("text") == 1)
            client.tell(ResponseStarted(response_id="r1"), OutputTranscript(text="It is a"), ConnectionLost())
            assert (await reader.until(Reconnected)).resumed
        assert client.count("reseed") == 0
        told = str(client.all("text")[-1])
        assert told == BROKEN.format(question="Tell me.", answer="It is a")

    in_virtual_time(scene())


@pytest.mark.behaviour("L3")
def test_whoever_comes_after_the_end_is_told_so() -> None:
    async def scene() -> None:
        client = ScriptedClient()
        async with call(client) as (session, reader):
            await session.close()
            await reader.end()
            with pytest.raises(LiveError, match="ended"):
                await session.switch(Part("late", ("Too late.",), Tools()))
            await session.interrupt()
        never = LiveSession(ScriptedClient(), RealtimeConfig(), queue=InputQueue(), tools=Tools())
        await never.close()
        assert [event async for event in never.events()] == []

    in_virtual_time(scene())
