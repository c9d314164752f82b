"""The metrics of the voice, by a session that is spoken to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from test_voice_interruption import answered
from test_voice_speaking import LONG
from test_voice_websocket import bearer, hear
from voice_fakes import Gateway, until
from voice_session_fakes import Caller, HandAgent
from websockets.asyncio.client import connect

from voice_gateway.scripted import tone

Measured = Callable[[str], list[Any]]


@pytest.fixture(autouse=True)
def settled_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("voice_gateway.moments.SETTLE_S", 0.0)


async def test_the_wait_for_the_first_sound_is_the_sum_of_its_parts(measured: Measured) -> None:
    caller = Caller("What is the code?", agent=HandAgent(LONG))
    caller.remember()
    caller.utter(pause_ms=600)
    await caller.hear_until("response.done")
    await caller.play_out()
    await until(lambda: measured("talkdown.voice.time_to_first_sound"))
    (whole,) = measured("talkdown.voice.time_to_first_sound")
    parts = {point.attributes["talkdown.voice.stage"]: point.sum for point in measured("talkdown.voice.stage.duration")}
    assert set(parts) == {
        "transcribed", "question", "first_delta", "first_phrase", "first_sound_made", "first_sound_played"
    }  # fmt: skip
    assert whole.count == 1
    assert parts["transcribed"] >= 0.599
    assert sum(parts.values()) == pytest.approx(whole.sum)
    (gaps,) = measured("talkdown.voice.gap.duration")
    assert (gaps.count, gaps.sum) == (1, 0)


@pytest.mark.behaviour("V6")
async def test_speaking_over_an_answer_is_timed_and_speaking_into_a_silence_is_not(measured: Measured) -> None:
    caller = Caller("", agent=HandAgent(LONG))
    caller.session.hear(tone(200))
    await caller.hear_until("input_audio_buffer.speech_started")
    caller.utter(speech_ms=0, pause_ms=600)
    await caller.hear_until("input_audio_buffer.cleared")
    assert measured("talkdown.voice.barge_in.duration") == []
    await answered(caller, 400)
    caller.session.hear(tone(200))
    await caller.hear_until("input_audio_buffer.speech_started")
    (barge_in,) = measured("talkdown.voice.barge_in.duration")
    assert barge_in.count == 1
    assert 0 <= barge_in.sum <= 0.2


async def test_sessions_are_counted_while_they_are_open(gateway: Gateway, measured: Measured) -> None:
    def is_open() -> int:
        return sum(point.value for point in measured("talkdown.voice.sessions"))

    before = is_open()
    async with connect(gateway.ws_url, additional_headers=bearer((await gateway.mint()).value)) as connection:
        await hear(connection)
        assert is_open() == before + 1
    await until(lambda: is_open() == before)
