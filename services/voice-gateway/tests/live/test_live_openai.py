"""A live session with OpenAI's protocol over a real socket, as the package's own types have it (L1-L5)."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest
from live_fakes import Diary, Reader, Tools, reading
from openai_live_server import Provider, Script, openai_live
from openai_live_session import Call, Misbehave, Say, silence, tone

from contracts.vocabulary import JsonObject
from voice_gateway.live.clients.openai import OpenAILive
from voice_gateway.live.config import RealtimeConfig, Reconnect, Vad
from voice_gateway.live.events import (
    AudioDelta,
    Failure,
    InputTranscript,
    Interrupted,
    OutputTranscript,
    Reconnected,
    Reconnecting,
    ResponseEnded,
    ResponseStarted,
    SpeechStarted,
    SpeechStopped,
    ToolResult,
    TurnComplete,
    TurnStarted,
    Usage,
)
from voice_gateway.live.input_queue import InputQueue
from voice_gateway.live.port import Line, Part
from voice_gateway.live.runner import LiveSession

SOON = Reconnect(base_delay_s=0.01)


async def look(args: JsonObject) -> JsonObject:
    return {"code": "ORCHID-47", "asked": args}


@asynccontextmanager
async def call(
    provider: Provider, config: RealtimeConfig | None = None, *, played_ms: int | None = None
) -> AsyncGenerator[tuple[LiveSession, Reader]]:
    client = OpenAILive(provider.key, base_url=provider.url)
    session = LiveSession(
        client,
        config or RealtimeConfig(reconnect=SOON),
        queue=InputQueue(),
        tools=Tools(look=look),
        played_ms=lambda: played_ms,
    )
    async with reading(session.events()) as reader:
        yield session, reader


def speak(session: LiveSession, ms: int = 400) -> None:
    """Say something, and fall silent."""
    for pcm in (tone(ms), silence(800)):
        for start in range(0, len(pcm), 960):
            assert session.queue.send_audio(pcm[start : start + 960], 24_000)


@pytest.mark.behaviour("L1")
async def test_a_spoken_turn_comes_as_neutral_events_in_order() -> None:
    async with openai_live(Script([(Say("The code is ORCHID-47."),)], ["What is the code?"])) as provider:
        async with call(provider) as (session, reader):
            speak(session)
            await reader.until(TurnComplete)
        kinds = [kind for kind in map(type, reader.events) if kind not in (AudioDelta, OutputTranscript)]
        order = (SpeechStarted, SpeechStopped, InputTranscript, TurnStarted, InputTranscript, Usage)
        assert tuple(kinds[:6]) == order
        assert kinds[6:] == [ResponseStarted, Usage, ResponseEnded, TurnComplete]
        assert [event.text for event in reader.all(InputTranscript) if event.finished] == ["What is the code?"]
        assert "".join(e.text for e in reader.all(OutputTranscript) if not e.finished) == "The code is ORCHID-47."
        assert sum(len(event.data) for event in reader.all(AudioDelta)) == 4 * 250 * 48, "no sample is lost"
        assert reader.all(Usage)[-1].output_tokens == 20
        assert session.history == (Line("user", "What is the code?"), Line("assistant", "The code is ORCHID-47."))
        assert provider.wrong == []


@pytest.mark.behaviour("L10")
async def test_settings_reach_the_session_in_the_providers_words() -> None:
    vad = Vad(start_sensitivity="low", prefix_padding_ms=200, silence_duration_ms=700)
    config = RealtimeConfig(
        voice="cedar", instructions=("Be brief.", "Speak of valves."), vad=vad, language="en", vocabulary=("ORCHID-47",)
    )
    async with openai_live() as provider:
        async with call(provider, config) as (session, reader):
            session.queue.send_text("Hello")
            await reader.until(TurnComplete)
        settings = provider.session.settings
        assert settings["instructions"] == "Be brief.\n\nSpeak of valves."
        assert settings["audio"]["output"]["voice"] == "cedar"
        assert settings["audio"]["input"]["transcription"] == {
            "model": "gpt-transcribe",
            "language": "en",
            "keywords": ["ORCHID-47"],
        }
        detection = settings["audio"]["input"]["turn_detection"]
        assert detection["threshold"] > 0.5
        assert (detection["prefix_padding_ms"], detection["silence_duration_ms"]) == (200, 700)
        assert (detection["create_response"], detection["interrupt_response"]) == (True, True)
        assert [tool["name"] for tool in settings["tools"]] == ["look"]
        assert provider.wrong == []


@pytest.mark.behaviour("L10")
async def test_transcription_is_switched_off_each_way() -> None:
    config = RealtimeConfig(input_transcription=False, output_transcription=False)
    async with openai_live() as provider, call(provider, config) as (session, reader):
        speak(session)
        await reader.until(TurnComplete)
        assert provider.session.settings["audio"]["input"]["transcription"] is None
        assert not reader.all(InputTranscript)
        assert not reader.all(OutputTranscript)
        assert reader.all(AudioDelta)


@pytest.mark.behaviour("L1")
async def test_a_session_of_text_has_words_and_no_sound() -> None:
    async with openai_live(Script([(Say("Only words."),)])) as provider:
        async with call(provider, RealtimeConfig(modality="text")) as (session, reader):
            session.queue.send_text("Say something.")
            await reader.until(TurnComplete)
        assert reader.all(OutputTranscript)[-1].text == "Only words."
        assert not reader.all(AudioDelta)
        assert provider.session.settings["output_modalities"] == ["text"]
        assert provider.wrong == []


@pytest.mark.behaviour("L4")
async def test_two_calls_in_one_response_are_answered_together() -> None:
    answers = [(Say("One moment."), Call("look", '{"n": 1}'), Call("look", "no json")), (Say("ORCHID-47."),)]
    async with openai_live(Script(list(answers))) as provider:
        async with call(provider) as (session, reader):
            session.queue.send_text("The code?")
            await reader.until(TurnComplete)
        outputs = [item for item in provider.session.items if item["type"] == "function_call_output"]
        told = [json.loads(item["output"]) for item in outputs]
        assert {"code": "ORCHID-47", "asked": {"n": 1}} in told
        assert {"error": "The arguments are not a JSON object."} in told
        assert provider.session.responses == 2, "one response follows both"
        assert len(reader.all(TurnComplete)) == 1
        assert session.history[-1] == Line("assistant", "One moment. ORCHID-47.")
        assert provider.wrong == []


@pytest.mark.behaviour("L1")
async def test_what_no_provider_should_send_stops_no_session() -> None:
    again = json.dumps({"type": "response.output_audio_transcript.delta", "event_id": "evt_twice", "delta": " once"})
    nonsense = Misbehave(
        raw=(
            "not json",
            "[1, 2]",
            '{"type": 5}',
            json.dumps({"type": "session.telepathy", "event_id": "evt_new", "thought": []}),
            json.dumps({"type": "response.output_audio.delta", "event_id": "evt_bad", "delta": "%%"}),
            json.dumps({"type": "response.done", "event_id": "evt_odd", "response": None}),
            again,
            again,
        )
    )
    async with openai_live(Script([(Say("Still here.", then=nonsense),)])) as provider:
        async with call(provider) as (session, reader):
            session.queue.send_text("Are you there?")
            await reader.until(TurnComplete)
        assert session.history[-1] == Line("assistant", "Still here.")
        said = "".join(event.text for event in reader.all(OutputTranscript) if not event.finished)
        assert said == "Still once here.", "an event that comes twice counts once"
        assert len(provider.sessions) == 1


@pytest.mark.behaviour("L1", "L3")
async def test_half_a_character_costs_the_connection_and_not_the_conversation() -> None:
    """A text frame that is no UTF-8 is an offence against the WebSocket protocol itself."""
    broken = Misbehave(raw=(b'{"type": "response.output_text.delta", "delta": "\xe2\x82',))
    script = Script([(Say("Good day.", then=broken),), (Say("And more."),)])
    async with openai_live(script) as provider, call(provider) as (session, reader):
        session.queue.send_text("Hello")
        await reader.until(TurnComplete)
        assert session.history[0] == Line("user", "Hello")
        assert "".join(event.text for event in reader.all(OutputTranscript) if not event.finished).startswith("Good")


@pytest.mark.behaviour("L1")
async def test_an_error_in_the_middle_is_told_and_the_session_goes_on() -> None:
    async with openai_live(Script([(Misbehave(fail="server_error"),), (Say("Better now."),)])) as provider:
        async with call(provider) as (session, reader):
            session.queue.send_text("First")
            failure = await reader.until(Failure)
            await reader.until(TurnComplete)
            session.queue.send_text("Second")
            await reader.until(TurnComplete, 2)
        assert (failure.code, failure.fatal) == ("server_error", False)
        assert "fake says no" not in failure.message, "the provider's own words go nowhere"
        assert session.history[-1] == Line("assistant", "Better now.")


@pytest.mark.behaviour("L1")
@pytest.mark.parametrize(
    ("status", "code"), [(401, "invalid_api_key"), (404, "model_not_found"), (403, "invalid_api_key")]
)
async def test_a_refusal_for_good_ends_the_session_with_its_reason(status: int, code: str) -> None:
    async with openai_live(Script(refuse=[status])) as provider, call(provider) as (_, reader):
        failure = await reader.until(Failure)
        await reader.end()
        assert (failure.code, failure.fatal) == (code, True)
        assert provider.refused == 1, "what is refused for good is not tried again"


@pytest.mark.behaviour("L3")
async def test_a_refusal_that_passes_is_tried_again() -> None:
    async with openai_live(Script([(Say("Here."),)], refuse=[503, 429])) as provider:
        async with call(provider) as (session, reader):
            session.queue.send_text("Hello?")
            await reader.until(TurnComplete)
            assert [event.attempt for event in reader.all(Reconnecting)] == [1, 2]
        assert provider.refused == 2


@pytest.mark.behaviour("L3", "L4")
async def test_a_drop_in_a_tool_turn_asks_the_question_again_and_sends_no_orphan() -> None:
    gate = asyncio.Event()

    async def slow(args: JsonObject) -> JsonObject:
        await gate.wait()
        return {"found": True}

    script = Script([(Call("look"), Misbehave(close=0)), (Say("Found it."),)])
    async with openai_live(script) as provider:
        client = OpenAILive(provider.key, base_url=provider.url)
        diary = Diary()
        session = LiveSession(
            client, RealtimeConfig(reconnect=SOON), queue=InputQueue(), tools=Tools(look=slow), hooks=[diary]
        )
        async with reading(session.events()) as reader:
            session.queue.send_text("Where is it?")
            assert not (await reader.until(Reconnected)).resumed
            gate.set()
            await reader.until(TurnComplete)
            await reader.until(ToolResult)
        assert provider.session.last_text == "Where is it?"
        assert provider.session.count("conversation.item.create") == 1, "the new session knows of no call"
        assert provider.wrong == []
        assert session.history == (Line("user", "Where is it?"), Line("assistant", "Found it."))
        assert diary.entries == ["session", "turn 1", "end 1", "closed after 1"]


@pytest.mark.behaviour("L3")
async def test_a_session_that_expires_goes_on_over_a_new_connection() -> None:
    expires = Misbehave(fail="session_expired", close=1001)
    script = Script([(Say("One."),), (expires,), (Say("Two."),)])
    async with openai_live(script) as provider:
        async with call(provider) as (session, reader):
            session.queue.send_text("First")
            await reader.until(TurnComplete)
            session.queue.send_text("Second")
            await reader.until(TurnComplete, 2)
        assert [item["content"][0]["text"] for item in provider.session.items[:3]] == ["First", "One.", "Second"]
        assert session.history[-1] == Line("assistant", "Two.")
        assert provider.wrong == []


@pytest.mark.behaviour("L5")
async def test_an_empty_transcript_makes_no_line() -> None:
    async with openai_live(Script([(Say("Yes?"),)], [""])) as provider:
        async with call(provider) as (session, reader):
            speak(session)
            await reader.until(TurnComplete)
        assert session.history == (Line("assistant", "Yes?"),)
        assert provider.wrong == []


@pytest.mark.behaviour("L1")
async def test_speech_over_the_answer_cancels_and_cuts_what_was_not_played() -> None:
    script = Script([(Say(" ".join(["word"] * 40)),), (Say("Sorry."),)], ["Tell me all", "Stop"], pace_s=0.01)
    async with openai_live(script) as provider:
        async with call(provider, played_ms=120) as (session, reader):
            speak(session)
            await reader.until(AudioDelta, 5)
            speak(session)
            await reader.until(Interrupted)
            before = len(reader.events)
            await reader.until(TurnComplete)
        after = [type(event) for event in reader.events[before:]]
        assert AudioDelta not in after[: after.index(ResponseStarted)], "nothing of the old answer comes after"
        assert [ms for _, ms in provider.session.truncated] == [120]
        assert session.history[0] == Line("user", "Tell me all")
        assert session.history[-1] == Line("assistant", "Sorry.")
        assert not reader.all(Failure), "a cancel that came too late is no failure"
        assert provider.wrong == []


@pytest.mark.behaviour("L1")
async def test_a_cancel_that_crosses_a_completion_is_no_failure() -> None:
    async with openai_live(Script([(Say("Done."),)])) as provider:
        async with call(provider, played_ms=50) as (session, reader):
            session.queue.send_text("Quick")
            await reader.until(ResponseStarted)
            await session.interrupt()
            session.queue.send_text("Again")
            await reader.until(TurnComplete)
        assert not reader.all(Failure)
        assert provider.wrong == []


@pytest.mark.behaviour("L1")
async def test_another_agent_takes_over_within_the_connection_or_over_a_new_one() -> None:
    script = Script([(Say("Hello."),), (Say("The same voice."),), (Say("Another voice."),)])
    async with openai_live(script) as provider:
        async with call(provider) as (session, reader):
            session.queue.send_text("Hi")
            await reader.until(TurnComplete)
            await session.switch(Part("second", ("You are the second.",), Tools(look=look)))
            session.queue.send_text("And you?")
            await reader.until(TurnComplete, 2)
            assert len(provider.sessions) == 1
            assert provider.session.settings["instructions"] == "You are the second."
            await session.switch(Part("third", ("You are the third.",), Tools(), voice="cedar"))
            session.queue.send_text("And you?")
            await reader.until(TurnComplete, 3)
        assert len(provider.sessions) == 2, "a voice that was heard cannot change"
        assert provider.session.settings["audio"]["output"]["voice"] == "cedar"
        assert len(provider.session.items) == 6
        assert provider.wrong == []


@pytest.mark.behaviour("L10")
def test_importing_the_clients_loads_no_providers_package() -> None:
    program = (
        "import sys, voice_gateway.live.clients.openai, voice_gateway.live.clients.gemini, voice_gateway.live.runner\n"
        "assert not {'openai', 'google.genai'} & set(sys.modules), sorted(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


@pytest.mark.behaviour("L1", "L9")
async def test_a_turn_by_hand_is_what_lies_between_its_bounds() -> None:
    config = RealtimeConfig(vad=Vad(enabled=False))
    async with openai_live(Script([(Say("Heard."),)], ["Real question"])) as provider:
        async with call(provider, config) as (session, reader):
            session.queue.send_activity("start")
            session.queue.send_audio(tone(100), 24_000)
            session.queue.send_activity("cancel")
            await provider.until(lambda: provider.session.count("input_audio_buffer.clear") == 2)
            session.queue.send_activity("start")
            session.queue.send_audio(tone(100), 24_000)
            session.queue.send_activity("end")
            await reader.until(TurnComplete)
        assert provider.session.settings["audio"]["input"]["turn_detection"] is None
        assert provider.session.count("input_audio_buffer.commit") == 1
        assert session.history == (Line("user", "Real question"), Line("assistant", "Heard."))
        assert provider.wrong == []


@pytest.mark.behaviour("L1")
async def test_a_picture_is_an_item_that_is_not_answered_by_itself() -> None:
    async with openai_live() as provider, call(provider) as (session, reader):
        session.queue.send_image(b"jpeg", "image/jpeg")
        session.queue.send_text("What is this?")
        await reader.until(TurnComplete)
        picture = provider.session.items[0]["content"][0]
        assert picture == {"type": "input_image", "image_url": "data:image/jpeg;base64,anBlZw=="}
        assert provider.session.responses == 1
        assert provider.wrong == []


@pytest.mark.behaviour("L1")
async def test_a_response_that_is_refused_ends_its_turn() -> None:
    async with openai_live(Script(refuse_responses=["rate_limit_exceeded"])) as provider:
        async with call(provider) as (session, reader):
            session.queue.send_text("Hello?")
            assert (await reader.until(Failure)).code == "rate_limit_exceeded"
            await reader.until(TurnComplete)
            session.queue.send_text("Now?")
            await reader.until(TurnComplete, 2)
        assert session.history[-1].text == "You said: Now?."


@pytest.mark.behaviour("L1")
async def test_closing_is_bounded_though_the_provider_says_nothing_more() -> None:
    async with openai_live() as provider:
        client = OpenAILive(provider.key, base_url=provider.url)
        await client.connect(RealtimeConfig(), (), None)
        await provider.until(lambda: provider.session.count("session.update") == 1)
        provider.session.connection.transport.pause_reading()
        async with asyncio.timeout(4):
            await client.close()
            await client.close()
