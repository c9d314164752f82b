"""What the settings of a session become at each provider, and how programs without a loop use one (L1, L10)."""

from __future__ import annotations

import asyncio
import math
from array import array
from itertools import pairwise
from threading import Thread

import pytest
from google.genai import types
from live_fakes import LIKE_GEMINI, LIKE_OPENAI, Diary, ScriptedClient, Tools, reading
from openai.types.realtime import RealtimeSessionCreateRequest
from pydantic import TypeAdapter, ValidationError
from strict_types import strict
from virtual_time import in_virtual_time

from contracts.vocabulary import JsonObject
from voice_gateway.live.blocking import blocking
from voice_gateway.live.clients import gemini, gemini_settings, openai, openai_settings
from voice_gateway.live.clients.local import LocalClient
from voice_gateway.live.config import RealtimeConfig, Sensitivity, Vad
from voice_gateway.live.events import (
    Failure,
    RealtimeEvent,
    ResponseEnded,
    ResponseStarted,
    TurnComplete,
    event_adapter,
)
from voice_gateway.live.input_queue import InputQueue
from voice_gateway.live.port import ToolSpec
from voice_gateway.live.resampling import Resampler
from voice_gateway.live.runner import LiveSession

TOOL = ToolSpec("look", "Look something up.", {"type": "object", "properties": {"what": {"type": "string"}}})


def detection_of(vad: Vad) -> JsonObject | None:
    return openai_settings.turn_detection_of(vad)


@pytest.mark.behaviour("L10")
@pytest.mark.parametrize("start", [None, "low", "high"])
@pytest.mark.parametrize("end", [None, "low", "high"])
@pytest.mark.parametrize("enabled", [True, False])
def test_every_hint_makes_a_session_that_the_providers_types_take(
    start: Sensitivity | None, end: Sensitivity | None, enabled: bool
) -> None:
    config = RealtimeConfig(
        voice="any",
        instructions=("One.", "Two."),
        vad=Vad(enabled=enabled, start_sensitivity=start, end_sensitivity=end, prefix_padding_ms=100),
        context_compression=True,
        language="en",
        vocabulary=("ORCHID-47", "x" * 100),
        tool_tags=("any",),
    )
    session = openai_settings.session_of(config, [TOOL], "gpt-transcribe")
    strict(RealtimeSessionCreateRequest).model_validate(session)
    assert session["audio"]["input"]["transcription"]["keywords"] == ["ORCHID-47"], (
        "a word that is too long is left out"
    )
    asked = gemini_settings.session_of(config, [TOOL], "handle", with_history=True)
    assert asked.realtime_input_config is not None
    assert asked.realtime_input_config.automatic_activity_detection is not None
    assert asked.realtime_input_config.automatic_activity_detection.disabled is not enabled
    assert asked.session_resumption == types.SessionResumptionConfig(handle="handle")


@pytest.mark.behaviour("L10")
def test_sensitivity_and_silence_mean_the_same_at_openai() -> None:
    plain, low, high = (detection_of(Vad(start_sensitivity=start)) or {} for start in (None, "low", "high"))
    assert "threshold" not in plain, "none given is the provider's own"
    assert low["threshold"] > 0.5 > high["threshold"], "low sensitivity takes louder speech"
    slow, fast = (detection_of(Vad(end_sensitivity=end)) or {} for end in ("low", "high"))
    assert slow["silence_duration_ms"] > 500 > fast["silence_duration_ms"]
    exact = detection_of(Vad(end_sensitivity="low", silence_duration_ms=120)) or {}
    assert exact["silence_duration_ms"] == 120, "a figure goes before a hint"
    assert detection_of(Vad(enabled=False)) is None


@pytest.mark.behaviour("L10")
def test_a_transcriber_that_takes_no_keywords_gets_none() -> None:
    config = RealtimeConfig(vocabulary=("ORCHID-47",))
    assert openai_settings.transcription_of(config, "whisper-1") == {"model": "whisper-1"}
    assert openai_settings.transcription_of(RealtimeConfig(input_transcription=False), "whisper-1") is None


@pytest.mark.behaviour("L1", "L10")
@pytest.mark.parametrize("wrong", [{"modality": ["audio", "text"]}, {"modality": "video"}, {"vad": {"loudness": 3}}])
def test_a_session_has_one_modality_and_known_settings(wrong: JsonObject) -> None:
    with pytest.raises(ValidationError):
        RealtimeConfig.model_validate(wrong)


@pytest.mark.behaviour("L10")
@pytest.mark.parametrize(
    "wrong",
    [
        {"reconnect": {"base_delay_s": 60.1}},
        {"reconnect": {"max_delay_s": 1e308}},
        {"model": ""},
        {"model": "m" * 129},
        {"model": "a\nb"},
        {"voice": ""},
        {"voice": "v" * 129},
        {"language": ""},
        {"language": "en_GB; drop"},
        {"language": "en-" + "a" * 36},
        {"instructions": ["x" * 16_385]},
        {"instructions": ["x"] * 21},
        {"instructions": ["a\0b"]},
        {"vocabulary": [""]},
        {"vocabulary": ["x" * 201]},
        {"vocabulary": ["x"] * 1_001},
        {"vocabulary": ["a\0b"]},
        {"tool_tags": ["x"] * 101},
        {"tool_tags": ["x" * 129]},
    ],
)
def test_no_setting_of_a_session_is_without_bound(wrong: JsonObject) -> None:
    with pytest.raises(ValidationError):
        RealtimeConfig.model_validate(wrong)


@pytest.mark.behaviour("L10")
def test_the_largest_settings_of_a_session_are_taken() -> None:
    RealtimeConfig.model_validate(
        {
            "reconnect": {"base_delay_s": 60, "max_delay_s": 60, "max_attempts": 100},
            "model": "m" * 128,
            "voice": "v" * 128,
            "language": "zh-Hant-TW",
            "instructions": ["x" * 16_384] * 20,
            "vocabulary": ["x" * 200] * 1_000,
            "tool_tags": ["x" * 128] * 100,
        }
    )


@pytest.mark.behaviour("L1")
def test_every_provider_says_what_it_can_as_data() -> None:
    can = {one.provider: one for one in (openai.CAPABILITIES, gemini.CAPABILITIES, LocalClient.capabilities)}
    assert set(can) == {"openai", "gemini", "local"}
    assert {name: (one.input_rate, one.output_rate) for name, one in can.items()} == {
        "openai": (24_000, 24_000),
        "gemini": (16_000, 24_000),
        "local": (24_000, 24_000),
    }
    assert [name for name, one in can.items() if one.resumption] == ["gemini"]
    assert [name for name, one in can.items() if one.truncation] == ["openai"]


@pytest.mark.behaviour("L1")
def test_the_union_of_events_is_told_apart_by_its_type() -> None:
    event = event_adapter.validate_python({"type": "turn_complete", "turn": 3})
    assert event == TurnComplete(turn=3)
    with pytest.raises(ValidationError):
        event_adapter.validate_python({"type": "telepathy"})
    kinds = TypeAdapter(RealtimeEvent).json_schema()["discriminator"]["mapping"]
    assert len(kinds) == len(set(kinds)) >= 19


@pytest.mark.behaviour("L1", "L9")
@pytest.mark.parametrize(("can", "code"), [(LIKE_GEMINI, "no_activity"), (LIKE_OPENAI, "no_activity")])
def test_a_turn_by_hand_is_refused_where_turns_are_found(can: object, code: str) -> None:
    async def scene() -> None:
        client = ScriptedClient()
        session = LiveSession(client, RealtimeConfig(), queue=InputQueue(), tools=Tools())
        async with reading(session.events()) as reader:
            session.queue.send_activity("start")
            failure = await reader.until(Failure)
            assert (failure.code, failure.fatal) == (code, False)
        assert client.count("activity") == 0

    in_virtual_time(scene())


@pytest.mark.behaviour("L1")
def test_a_picture_goes_where_pictures_are_taken() -> None:
    async def scene() -> None:
        client = ScriptedClient()
        session = LiveSession(client, RealtimeConfig(), queue=InputQueue(), tools=Tools())
        async with reading(session.events()):
            session.queue.send_image(b"jpeg")
            await client.until(lambda: client.count("image") == 1)
        client = ScriptedClient(LocalClient.capabilities)
        session = LiveSession(client, RealtimeConfig(), queue=InputQueue(), tools=Tools())
        async with reading(session.events()) as reader:
            session.queue.send_image(b"jpeg")
            assert (await reader.until(Failure)).code == "no_images"

    in_virtual_time(scene())


@pytest.mark.behaviour("L1")
def test_sound_is_resampled_without_a_click_where_pieces_meet() -> None:
    def tone(rate: int, seconds: float) -> array[int]:
        return array("h", (int(9_000 * math.sin(2 * math.pi * 440 * n / rate)) for n in range(int(rate * seconds))))

    resampler, given = Resampler(24_000, 16_000), tone(24_000, 1.0).tobytes()
    cuts = [0, 1, 7, 960, 2_001, 30_000, len(given)]  # in the middle of samples too
    out = b"".join(resampler.take(given[start:end]) for start, end in pairwise(cuts)) + resampler.end()
    heard, ideal = array("h", out), tone(16_000, 1.0)
    assert len(heard) == len(ideal)
    assert max(abs(a - b) for a, b in zip(heard[200:-200], ideal[200:-200], strict=True)) < 150
    assert Resampler(24_000, 24_000).take(given) == given


class Answering(ScriptedClient):
    """Answers whatever is said."""

    async def send_text(self, text: str) -> None:
        await super().send_text(text)
        self.tell(ResponseStarted(response_id=text), ResponseEnded(response_id=text))


@pytest.mark.behaviour("L10")
def test_a_program_without_a_loop_reads_a_session_and_ends_it() -> None:
    client, diary = Answering(), Diary()
    session = LiveSession(client, RealtimeConfig(), queue=InputQueue(), tools=Tools(), hooks=[diary])
    session.queue.send_text("First")
    complete = 0
    for event in blocking(session):
        if isinstance(event, TurnComplete):
            complete += 1
            if complete == 2:
                break
            sending = Thread(target=session.queue.send_text, args=("Second",))
            sending.start()
            sending.join()
    assert client.all("text") == ["First", "Second"]
    assert diary.entries[-1] == "closed after 2", "leaving the loop closes the session"


@pytest.mark.behaviour("L10")
async def test_the_blocking_wrapper_refuses_to_run_inside_an_event_loop() -> None:
    session = LiveSession(ScriptedClient(), RealtimeConfig(), queue=InputQueue(), tools=Tools())
    with pytest.raises(RuntimeError, match="async for"):
        blocking(session)
    await asyncio.sleep(0)
