"""A person speaks over a local session: what it does, and what is kept of what was heard."""

from __future__ import annotations

import asyncio

import pytest
from local_fakes import HandCascade, local
from virtual_time import in_virtual_time

from voice_gateway.live.clients.silence import asks_for_silence
from voice_gateway.live.config import RealtimeConfig, Vad
from voice_gateway.live.port import Line
from voice_gateway.scripted import NOISE

pytestmark = pytest.mark.behaviour("V10", "V11")

ANSWER = ("The code is ORCHID-47, as the safety note says.", "It opens the amber valve in the east wing.")


def test_who_speaks_over_an_answer_is_answered_and_only_what_was_heard_is_kept() -> None:
    async def run() -> None:
        async with local("And the valve?", cascade=HandCascade(ANSWER)) as call:
            await call.client.send_text("What is the code?")
            await call.until("audio_delta")
            await asyncio.sleep(1.0)
            await call.say()
            await call.until("response_ended", 2)
            order = [kind for kind in call.kinds if kind not in ("output", "turn_started")]
            assert order == [
                "response_started",
                "speech_started",
                "speech_stopped",
                "interrupted",
                "response_ended",
                "input_transcript",
                "response_started",
                "response_ended",
            ]
            assert [event.status for event in call.of("response_ended")] == ["cancelled", "completed"]
            [heard] = call.cascade.was_heard
            assert " ".join(ANSWER).startswith(heard)
            assert 10 <= len(heard) <= 25
            assert call.cascade.contexts[1].history[-1] == Line("assistant", heard)

    in_virtual_time(run())


def test_nothing_is_said_from_the_first_sound_of_the_person_on() -> None:
    async def run() -> None:
        async with local("And the valve?", cascade=HandCascade(ANSWER)) as call:
            await call.client.send_text("What is the code?")
            await call.until("audio_delta")
            await asyncio.sleep(0.5)
            await call.say()
            await call.until("response_started", 2)
            started, again = call.at("speech_started"), call.at("response_started", 2)
            between = [event for at, event in call.told if started < at < again and event.type == "audio_delta"]
            assert between == []

    in_virtual_time(run())


@pytest.mark.parametrize("line", [NOISE, "mhm"])
def test_a_cough_or_a_sign_of_listening_only_holds_the_answer_and_nothing_is_lost_or_said_twice(line: str) -> None:
    async def run() -> None:
        async with local(line, cascade=HandCascade(ANSWER)) as call:
            await call.client.send_text("What is the code?")
            await call.until("audio_delta")
            await asyncio.sleep(0.5)
            await call.say()
            await call.until("speech_dismissed")
            await call.until("response_ended")
            assert call.of("interrupted") == []
            assert call.words == " ".join(ANSWER)
            assert call.sound_ms == pytest.approx(len(call.words) * 60, abs=100)
            assert call.cascade.was_heard == []
            assert len(call.cascade.contexts) == 1

    in_virtual_time(run())


def test_what_the_page_really_played_counts_and_not_what_was_sent() -> None:
    async def run() -> None:
        async with local(cascade=HandCascade(ANSWER), played_ms=300) as call:
            await call.client.send_text("What is the code?")
            await call.until("audio_delta")
            await asyncio.sleep(2.0)
            await call.client.interrupt()
            assert call.cascade.was_heard == ["The"]
            await call.client.send_text("Again.")
            await call.until("audio_delta", 50)
            await asyncio.sleep(1.0)
            await call.client.interrupt(played_ms=0)
            assert call.cascade.was_heard == ["The", ""]

    in_virtual_time(run())


def test_an_answer_that_is_written_and_only_being_said_can_be_interrupted_too() -> None:
    async def run() -> None:
        async with local(cascade=HandCascade(ANSWER)) as call:
            await call.client.send_text("What is the code?")
            await call.until("audio_delta")
            await asyncio.sleep(1.0)
            assert call.cascade.running == 0
            await call.client.interrupt()
            assert len(call.cascade.was_heard) == 1
            before = call.sound_ms
            await asyncio.sleep(2.0)
            assert call.sound_ms == before
            await call.client.interrupt()
            assert len(call.cascade.was_heard) == 1, "there was nothing to interrupt"

    in_virtual_time(run())


def test_an_interruption_before_the_first_word_has_heard_nothing() -> None:
    async def run() -> None:
        async with local(cascade=HandCascade((), stays=True)) as call:
            await call.client.send_text("What is the code?")
            await call.until("turn_started")
            await call.client.interrupt()
            assert call.cascade.was_heard == [""]
            assert call.cascade.cancelled == 1
            ended = await call.until("response_ended")
            assert ended.model_dump()["status"] == "cancelled"

    in_virtual_time(run())


def test_who_asks_for_silence_gets_it_and_no_answer() -> None:
    async def run() -> None:
        async with local("Stop, please.", cascade=HandCascade(ANSWER)) as call:
            await call.client.send_text("What is the code?")
            await call.until("audio_delta")
            await call.say()
            await call.until("interrupted")
            await asyncio.sleep(2.0)
            assert len(call.cascade.contexts) == 1
            assert call.of("input_transcript") == []

    in_virtual_time(run())


@pytest.mark.parametrize(
    ("text", "silence"),
    [
        ("Stop!", True),
        ("That's enough.", True),
        ("Danke schön", True),
        ("Stop the pump?", False),
        ("", False),
        ("7", False),
    ],
)
def test_silence_is_asked_for_by_the_whole_of_what_was_said(text: str, *, silence: bool) -> None:
    assert asks_for_silence(text) is silence


def test_a_session_that_is_closed_in_an_answer_leaves_nothing() -> None:
    async def run() -> None:
        async with local(cascade=HandCascade(ANSWER, stays=True)) as call:
            await call.client.send_text("What is the code?")
            await call.until("audio_delta")
        assert call.cascade.running == 0

    in_virtual_time(run())


@pytest.mark.behaviour("L10")
@pytest.mark.parametrize(
    ("vad", "speech_ms", "pause_ms", "turns"),
    [
        (Vad(silence_duration_ms=1500), 300, 1000, 0),
        (Vad(silence_duration_ms=300), 300, 400, 1),
        (Vad(end_sensitivity="low"), 300, 800, 0),
        (Vad(end_sensitivity="high"), 300, 450, 1),
    ],
)
def test_the_ears_are_tuned_as_the_session_asks(vad: Vad, speech_ms: int, pause_ms: int, turns: int) -> None:
    async def run() -> None:
        async with local("What is the code?", config=RealtimeConfig(vad=vad)) as call:
            await call.say(speech_ms, pause_ms)
            await asyncio.sleep(0.1)
            assert len(call.cascade.contexts) == turns

    in_virtual_time(run())
