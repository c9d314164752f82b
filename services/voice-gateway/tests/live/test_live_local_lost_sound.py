"""A microphone that falls silent in the middle of speech, without a word of why."""

from __future__ import annotations

import asyncio

import pytest
from local_fakes import HandCascade, Local, local
from local_session import local_session
from virtual_time import in_virtual_time

from voice_gateway.live.config import RealtimeConfig, Vad
from voice_gateway.scripted import NOISE, tone

pytestmark = pytest.mark.behaviour("V10", "V11")

ANSWER = ("The code is ORCHID-47, as the safety note says.", "It opens the amber valve in the east wing.")


async def speech(call: Local, ms: int) -> None:
    """Speech in real time, with no silence after it."""
    sound = tone(ms)
    for start in range(0, len(sound), 960):
        await call.client.send_audio(sound[start : start + 960])
        await asyncio.sleep(0.02)


def test_an_answer_goes_on_when_no_more_sound_comes_of_what_was_no_utterance() -> None:
    async def run() -> None:
        async with local(NOISE, cascade=HandCascade(ANSWER)) as call:
            await call.client.send_text("What is the code?")
            await call.until("audio_delta")
            await speech(call, 600)
            last = asyncio.get_running_loop().time()
            await call.until("speech_dismissed")
            assert call.at("speech_dismissed") - last == pytest.approx(1.5, abs=0.3)
            await call.until("response_ended")
            assert call.words == " ".join(ANSWER)
            assert call.of("interrupted") == []

    in_virtual_time(run())


def test_a_question_whose_sound_breaks_off_is_answered_as_far_as_it_was_heard() -> None:
    async def run() -> None:
        async with local("And the valve?", cascade=HandCascade(ANSWER)) as call:
            await call.client.send_text("What is the code?")
            await call.until("audio_delta")
            await speech(call, 3000)
            await call.until("response_ended", 2)
            assert [context.user_text for context in call.cascade.contexts] == ["What is the code?", "And the valve?"]

    in_virtual_time(run())


def test_sound_that_only_came_late_is_one_utterance() -> None:
    async def run() -> None:
        async with local("What is the recovery code?") as call:
            await speech(call, 300)
            await asyncio.sleep(1.0)
            await call.say(300)
            await call.until("response_ended")
            assert len(call.cascade.contexts) == len(call.of("speech_started")) == 1

    in_virtual_time(run())


@pytest.mark.behaviour("L9")
def test_by_hand_a_key_that_is_held_in_silence_is_held() -> None:
    async def run() -> None:
        async with local(config=RealtimeConfig(vad=Vad(enabled=False))) as call:
            await call.client.send_activity("start")
            await speech(call, 300)
            await asyncio.sleep(10)
            assert call.kinds == ["speech_started"]

    in_virtual_time(run())


def test_what_was_being_said_when_the_input_ended_is_answered_and_holds_nothing() -> None:
    async def run() -> None:
        async with local_session("What is the code?", cascade=HandCascade(ANSWER)) as held:
            sound = tone(600)
            for start in range(0, len(sound), 960):
                held.queue.send_audio(sound[start : start + 960], 24_000)
            held.queue.close()
            await held.until("turn_complete")
            assert [context.user_text for context in held.cascade.contexts] == ["What is the code?"]

    in_virtual_time(run())
