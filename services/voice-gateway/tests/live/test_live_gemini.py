"""A live session with Gemini's protocol over TLS, as the package's own types have it (L1, L3-L5, L9, L10)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest
from gemini_live_server import GeminiProvider, GeminiScript, gemini_live
from gemini_live_session import GoAwaySoon
from google.genai import types
from live_fakes import Diary, Reader, Tools, reading
from openai_live_session import Call, Misbehave, Say, silence, tone

from contracts.vocabulary import JsonObject
from voice_gateway.live.clients.gemini import GeminiLive
from voice_gateway.live.config import RealtimeConfig, Reconnect, Vad
from voice_gateway.live.events import (
    AudioDelta,
    Failure,
    GoAway,
    InputTranscript,
    Interrupted,
    OutputTranscript,
    Reconnected,
    Reconnecting,
    ResponseEnded,
    SessionUpdate,
    ToolCall,
    TurnComplete,
    Usage,
)
from voice_gateway.live.input_queue import InputQueue
from voice_gateway.live.port import Line, Part
from voice_gateway.live.runner import LiveSession

SOON = Reconnect(base_delay_s=0.01)
Serve = Callable[[GeminiScript], AbstractAsyncContextManager[GeminiProvider]]


@pytest.fixture
def serve(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Serve:
    return lambda script: gemini_live(tmp_path, monkeypatch, script)


async def look(args: JsonObject) -> JsonObject:
    return {"code": "ORCHID-47", "asked": args}


@asynccontextmanager
async def call(
    provider: GeminiProvider,
    config: RealtimeConfig | None = None,
    *,
    tools: Tools | None = None,
    resume_handle: str | None = None,
) -> AsyncGenerator[tuple[LiveSession, Reader]]:
    session = LiveSession(
        GeminiLive(provider.key, base_url=provider.url),
        config or RealtimeConfig(reconnect=SOON),
        queue=InputQueue(),
        tools=tools or Tools(look=look),
        hooks=[Diary()],
        resume_handle=resume_handle,
    )
    async with reading(session.events()) as reader:
        yield session, reader


def speak(session: LiveSession, ms: int = 400) -> None:
    """Say something, and fall silent."""
    for pcm in (tone(ms), silence(800)):
        for start in range(0, len(pcm), 960):
            assert session.queue.send_audio(pcm[start : start + 960], 24_000)


@pytest.mark.behaviour("L1", "L5")
async def test_a_spoken_turn_comes_as_neutral_events(serve: Serve) -> None:
    async with serve(GeminiScript([(Say("The code is ORCHID-47."),)], ["What is the code?"])) as provider:
        async with call(provider) as (session, reader):
            speak(session)
            await reader.until(TurnComplete)
            await reader.until(SessionUpdate)
        assert [event.text for event in reader.all(InputTranscript) if event.finished] == ["What is the code?"]
        assert reader.all(OutputTranscript)[-1] == OutputTranscript(text="The code is ORCHID-47.", finished=True)
        assert sum(len(event.data) for event in reader.all(AudioDelta)) == 4 * 250 * 48
        assert [(u.input_tokens, u.output_tokens) for u in reader.all(Usage)] == [(40, 20)]
        assert session.history == (Line("user", "What is the code?"), Line("assistant", "The code is ORCHID-47."))
        said_ms = provider.session.heard_bytes / 32
        assert 1_100 < said_ms <= 1_200, "24 kHz became 16 kHz, and next to nothing waits in the resampler"
        assert provider.wrong == []


@pytest.mark.behaviour("L10")
async def test_settings_reach_the_setup_in_the_providers_words(serve: Serve) -> None:
    vad = Vad(start_sensitivity="low", end_sensitivity="high", prefix_padding_ms=200, silence_duration_ms=700)
    config = RealtimeConfig(
        voice="Puck", instructions=("Be brief.", "Speak of valves."), vad=vad, context_compression=True
    )
    async with serve(GeminiScript()) as provider:
        async with call(provider, config) as (session, reader):
            session.queue.send_text("Hello")
            await reader.until(TurnComplete)
        setup, detection = provider.session.setup, provider.session.input.automatic_activity_detection
        assert isinstance(setup.system_instruction, types.Content)
        assert setup.system_instruction.parts == [types.Part(text="Be brief.\n\nSpeak of valves.")]
        generation = setup.generation_config
        assert generation is not None
        assert generation.response_modalities == [types.Modality.AUDIO]
        assert generation.speech_config is not None
        assert generation.speech_config.voice_config == types.VoiceConfig(
            prebuilt_voice_config=types.PrebuiltVoiceConfig(voice_name="Puck")
        )
        assert detection == types.AutomaticActivityDetection(
            disabled=False,
            start_of_speech_sensitivity=types.StartSensitivity.START_SENSITIVITY_LOW,
            end_of_speech_sensitivity=types.EndSensitivity.END_SENSITIVITY_HIGH,
            prefix_padding_ms=200,
            silence_duration_ms=700,
        )
        assert setup.context_window_compression == types.ContextWindowCompressionConfig(
            sliding_window=types.SlidingWindow()
        )
        assert setup.session_resumption == types.SessionResumptionConfig()
        assert setup.input_audio_transcription == types.AudioTranscriptionConfig()
        assert setup.output_audio_transcription == types.AudioTranscriptionConfig()
        tools = setup.tools or []
        declared = [tool.function_declarations or [] for tool in tools if isinstance(tool, types.Tool)]
        assert [one.name for some in declared for one in some] == ["look"]
        assert provider.wrong == []


@pytest.mark.behaviour("L10")
async def test_transcription_and_resumption_are_switched_off(serve: Serve) -> None:
    config = RealtimeConfig(input_transcription=False, output_transcription=False, resumption=False)
    async with serve(GeminiScript()) as provider, call(provider, config) as (session, reader):
        speak(session)
        await reader.until(TurnComplete)
        setup = provider.session.setup
        assert (setup.input_audio_transcription, setup.output_audio_transcription) == (None, None)
        assert (setup.session_resumption, setup.context_window_compression) == (None, None)
        assert not reader.all(InputTranscript)
        assert not reader.all(SessionUpdate)
        assert provider.wrong == []


@pytest.mark.behaviour("L10")
async def test_language_and_vocabulary_are_hints_for_the_ears(serve: Serve) -> None:
    config = RealtimeConfig(language="en-US", vocabulary=("ORCHID-47",))
    async with serve(GeminiScript()) as provider, call(provider, config) as (session, reader):
        session.queue.send_text("Hello")
        await reader.until(TurnComplete)
        heard = provider.session.setup.input_audio_transcription
        assert heard == types.AudioTranscriptionConfig(language_codes=["en-US"], custom_vocabulary=["ORCHID-47"])


@pytest.mark.behaviour("L1")
async def test_a_session_of_text_has_words_and_no_sound(serve: Serve) -> None:
    async with serve(GeminiScript([(Say("Only words."),)])) as provider:
        async with call(provider, RealtimeConfig(modality="text")) as (session, reader):
            session.queue.send_text("Say something.")
            await reader.until(TurnComplete)
        assert reader.all(OutputTranscript)[-1].text == "Only words."
        assert not reader.all(AudioDelta)
        generation = provider.session.setup.generation_config
        assert generation is not None
        assert generation.response_modalities == [types.Modality.TEXT]


@pytest.mark.behaviour("L4")
async def test_two_calls_get_their_results_as_they_come_and_one_answer_follows(serve: Serve) -> None:
    gate = asyncio.Event()

    async def slow(args: JsonObject) -> JsonObject:
        await gate.wait()
        return {"slow": True}

    async with serve(GeminiScript([(Call("slow"), Call("look", '{"n": 2}'))])) as provider:
        async with call(provider, tools=Tools(slow=slow, look=look)) as (session, reader):
            session.queue.send_text("Both, please.")
            await provider.until(lambda: any(message.tool_response for message in provider.session.received))
            gate.set()
            await reader.until(TurnComplete)
        results = [m.tool_response.function_responses for m in provider.session.received if m.tool_response]
        assert [one[0].name for one in results if one] == ["look", "slow"]
        assert len(reader.all(TurnComplete)) == 1
        assert json.dumps({"slow": True}) in session.history[-1].text
        assert [len(event.calls) for event in reader.all(ResponseEnded)] == [2, 0]
        assert provider.wrong == []


@pytest.mark.behaviour("L3")
async def test_a_go_away_is_followed_at_once_and_the_session_resumed(serve: Serve) -> None:
    script = GeminiScript([(Say("One."),), (Say("Two."), GoAwaySoon()), (Say("Three."),)])
    async with serve(script) as provider:
        async with call(provider) as (session, reader):
            session.queue.send_text("First")
            await reader.until(TurnComplete)
            session.queue.send_text("Second")
            assert (await reader.until(GoAway)).time_left_s == 0.2
            await reader.until(TurnComplete, 2)
            assert (await reader.until(Reconnected)).resumed
            session.queue.send_text("Third")
            await reader.until(TurnComplete, 3)
        assert [(event.attempt, event.reason) for event in reader.all(Reconnecting)] == [(0, "go_away")]
        assert provider.session.resumed is not None
        assert not any(message.client_content for message in provider.session.received), "with a handle no reseed"
        assert provider.wrong == []


@pytest.mark.behaviour("L3")
async def test_a_handle_from_before_is_resumed_and_one_that_is_not_known_is_let_go(serve: Serve) -> None:
    async with serve(GeminiScript()) as provider:
        async with call(provider) as (session, reader):
            session.queue.send_text("Remember me")
            handle = (await reader.until(SessionUpdate)).resumption_handle
        async with call(provider, resume_handle=handle) as (session, reader):
            session.queue.send_text("Do you?")
            await reader.until(TurnComplete)
        assert provider.session.texts[0] == "Remember me"
        async with call(provider, resume_handle="long gone") as (session, reader):
            assert (await reader.until(SessionUpdate)).resumption_handle is None
            session.queue.send_text("Hello")
            await reader.until(TurnComplete)
        assert provider.session.texts[0] == "Hello"
        assert provider.wrong == []


@pytest.mark.behaviour("L3")
async def test_without_a_handle_the_history_is_told_and_not_answered(serve: Serve) -> None:
    script = GeminiScript([(Say("One."),), (Misbehave(close=1011),), (Say("Two."),)], handles=False)
    async with serve(script) as provider:
        async with call(provider) as (session, reader):
            session.queue.send_text("First")
            await reader.until(TurnComplete)
            session.queue.send_text("Second")
            await reader.until(TurnComplete, 2)
            assert not reader.all(Reconnected)[0].resumed
        assert provider.session.texts == ["First", "One.", "Second", "Two."]
        assert session.history[-1] == Line("assistant", "Two.")
        assert provider.wrong == []


@pytest.mark.behaviour("L3", "L4")
async def test_a_drop_in_a_tool_turn_sends_no_result_to_a_session_that_knows_no_call(serve: Serve) -> None:
    gate = asyncio.Event()

    async def slow(args: JsonObject) -> JsonObject:
        await gate.wait()
        return {"late": True}

    script = GeminiScript([(Say("One."),), (Call("slow"), Misbehave(close=0)), (Say("Found it."),)])
    async with serve(script) as provider:
        async with call(provider, tools=Tools(slow=slow)) as (session, reader):
            session.queue.send_text("First")
            await reader.until(TurnComplete)
            session.queue.send_text("Where is it?")
            await reader.until(ToolCall)
            assert (await reader.until(Reconnected)).resumed
            gate.set()
            await reader.until(TurnComplete, 2)
        assert not any(message.tool_response for message in provider.session.received)
        assert session.history[-2:] == (Line("user", "Where is it?"), Line("assistant", "Found it."))
        assert provider.wrong == []


@pytest.mark.behaviour("L1")
async def test_speech_over_the_answer_interrupts_it(serve: Serve) -> None:
    script = GeminiScript([(Say(" ".join(["word"] * 40)),), (Say("Sorry."),)], ["Tell me all", "Stop"], pace_s=0.01)
    async with serve(script) as provider:
        async with call(provider) as (session, reader):
            speak(session)
            await reader.until(AudioDelta, 5)
            speak(session)
            await reader.until(Interrupted)
            await reader.until(TurnComplete)
        assert len(reader.all(TurnComplete)) == 1
        assert [line.text for line in session.history if line.role == "user"] == ["Tell me all", "Stop"]
        assert session.history[-1] == Line("assistant", "Sorry.")
        assert provider.wrong == []


@pytest.mark.behaviour("L1", "L9")
async def test_a_turn_by_hand_is_what_lies_between_its_bounds(serve: Serve) -> None:
    config = RealtimeConfig(vad=Vad(enabled=False))
    script = GeminiScript([(Say("Forgotten."),), (Say("Heard."),)], ["Never mind", "Real question"])
    async with serve(script) as provider:
        async with call(provider, config) as (session, reader):
            session.queue.send_activity("start")
            session.queue.send_audio(tone(100), 24_000)
            session.queue.send_activity("cancel")
            await reader.until(ResponseEnded)
            assert not reader.all(AudioDelta), "what was thought better of is not answered aloud"
            session.queue.send_activity("start")
            session.queue.send_audio(tone(100), 24_000)
            session.queue.send_activity("end")
            await reader.wait(lambda: session.history[-1:] == (Line("assistant", "Heard."),))
        assert provider.session.input.automatic_activity_detection == types.AutomaticActivityDetection(disabled=True)
        assert provider.wrong == []


@pytest.mark.behaviour("L1")
async def test_what_no_provider_should_send_stops_no_session(serve: Serve) -> None:
    nonsense = Misbehave(
        raw=(
            "not json",
            b'{"serverContent": "\xe2\x82',
            json.dumps({"telepathy": {"thought": 1}}),
            json.dumps({"serverContent": {"modelTurn": {"parts": "none"}}}),
            json.dumps({"serverContent": {"novelty": True}}),
        )
    )
    async with serve(GeminiScript([(Say("Still here.", then=nonsense),)])) as provider:
        async with call(provider) as (session, reader):
            session.queue.send_text("Are you there?")
            await reader.until(TurnComplete)
        assert session.history[-1] == Line("assistant", "Still here.")
        assert len(provider.sessions) == 1


@pytest.mark.behaviour("L1")
@pytest.mark.parametrize("refusal", [403, 404, 1007, 1008])
async def test_a_refusal_for_good_ends_the_session(serve: Serve, refusal: int) -> None:
    async with serve(GeminiScript(refuse=[refusal])) as provider, call(provider) as (_, reader):
        failure = await reader.until(Failure)
        await reader.end()
        assert (failure.code, failure.fatal) == ("settings_refused", True)
        assert provider.refused == 1


@pytest.mark.behaviour("L3")
async def test_a_refusal_that_passes_is_tried_again(serve: Serve) -> None:
    async with serve(GeminiScript(refuse=[503, 1011])) as provider, call(provider) as (session, reader):
        session.queue.send_text("Hello?")
        await reader.until(TurnComplete)
        assert [event.attempt for event in reader.all(Reconnecting)] == [1, 2]


@pytest.mark.behaviour("L1")
async def test_another_agent_takes_over_on_a_new_connection(serve: Serve) -> None:
    async with serve(GeminiScript([(Say("Hello."),), (Say("I am the second."),)])) as provider:
        async with call(provider) as (session, reader):
            session.queue.send_text("Hi")
            await reader.until(TurnComplete)
            await session.switch(Part("second", ("You are the second.",), Tools(look=look), voice="Kore"))
            session.queue.send_text("And you?")
            await reader.until(TurnComplete, 2)
        assert len(provider.sessions) >= 2
        second = types.Content(parts=[types.Part(text="You are the second.")], role="user")
        assert provider.session.setup.system_instruction == second
        assert provider.session.texts == ["Hi", "Hello.", "And you?", "I am the second."]
        assert provider.wrong == []


@pytest.mark.behaviour("L1")
async def test_a_picture_is_sent_as_a_frame_of_film(serve: Serve) -> None:
    async with serve(GeminiScript()) as provider, call(provider) as (session, reader):
        session.queue.send_image(b"jpeg", "image/jpeg")
        session.queue.send_text("What is this?")
        await reader.until(TurnComplete)
        frames = [one.realtime_input.video for one in provider.session.received if one.realtime_input]
        assert types.Blob(data=b"jpeg", mime_type="image/jpeg") in frames
        assert provider.wrong == []
