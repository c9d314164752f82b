"""Answers and phrases as they are spoken: in order, one voice, told as the provider tells them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence

import pytest
from voice_fakes import until
from voice_session_fakes import Caller, HandAgent, kinds

from contracts.frames import Delta, Done, Error
from voice_gateway.errors import MouthFailed
from voice_gateway.mouth.port import Manner, Spoken
from voice_gateway.pacing import Pacer
from voice_gateway.playout import Frame
from voice_gateway.scripted import MS_A_CHARACTER, ScriptedMouth

LONG = (
    Delta(text="The code is **ORCHID-47** [1]. "),
    Delta(text="It opens the amber valve [2]."),
    Done(answer="The code is **ORCHID-47** [1]. It opens the amber valve [2].", sources=()),
)
SPOKEN = "The code is ORCHID-47. It opens the amber valve."


@pytest.mark.behaviour("V4", "V9")
async def test_an_answer_is_spoken_phrase_by_phrase_without_its_citations() -> None:
    caller = Caller(agent=HandAgent(LONG))
    await caller.put_question()
    await caller.say("response.create")
    events = await caller.hear_until("rate_limits.updated")
    assert kinds(events[3:]) == [
        "response.created",
        "response.output_item.added",
        "conversation.item.added",
        "response.content_part.added",
        *["response.output_audio_transcript.delta"] * 4,
        "response.output_audio.done",
        "response.output_audio_transcript.done",
        "response.content_part.done",
        "conversation.item.done",
        "response.output_item.done",
        "response.done",
        "rate_limits.updated",
    ]
    deltas = [event["delta"] for event in events if event["type"] == "response.output_audio_transcript.delta"]
    assert "".join(deltas) == SPOKEN
    assert caller.mouth.spoken == ["The code is ORCHID-47.", "It opens the amber valve."]
    done = events[-2]["response"]
    assert done["output"][0]["content"] == [{"type": "output_audio", "transcript": SPOKEN}]
    assert done["output_modalities"] == ["audio"]
    assert done["audio"]["output"]["voice"] == "tone"
    played = await caller.play_out()
    assert len(played) >= len(SPOKEN.replace(". It", ".It")) * MS_A_CHARACTER * 48
    assert kinds(await caller.hear_all()) == ["output_audio_buffer.started", "output_audio_buffer.stopped"]


async def test_the_first_phrase_is_spoken_while_the_answer_is_still_written() -> None:
    caller = Caller(agent=HandAgent(LONG[:1]))
    await caller.put_question()
    await caller.say("response.create")
    await caller.hear_until("response.output_audio_transcript.delta")
    await until(lambda: caller.play(20))
    assert caller.session.busy
    await caller.session.leave()


async def test_one_response_may_be_written_in_a_session_that_speaks() -> None:
    caller = Caller(agent=HandAgent(LONG))
    await caller.put_question()
    await caller.say("response.create", response={"output_modalities": ["text"]})
    events = await caller.hear_until("response.done")
    assert (
        "".join(event["delta"] for event in events if event["type"] == "response.output_text.delta") == LONG[2].answer
    )
    assert caller.mouth.spoken == []


@pytest.mark.behaviour("V5")
async def test_a_phrase_is_read_as_it_stands_out_of_band_with_its_own_id() -> None:
    caller = Caller()
    await caller.read_aloud("The code is ORCHID-47.", phrase_id="3:1")
    events = await caller.hear_until("response.done")
    assert "conversation.item.added" not in kinds(events)
    created = next(event["response"] for event in events if event["type"] == "response.created")
    done = events[-1]["response"]
    assert created["metadata"] == done["metadata"] == {"phrase_id": "3:1"}
    assert created["conversation_id"] is None
    assert done["output"][0]["content"][0]["transcript"] == "The code is ORCHID-47."
    assert done["usage"]["output_tokens"] == 0
    assert len(caller.session.conversation) == 0
    assert caller.agent.asked == []


@pytest.mark.behaviour("V5")
async def test_phrases_are_spoken_one_behind_the_other_and_generation_ends_before_playback() -> None:
    caller = Caller()
    await caller.read_aloud("One two three.", phrase_id="1:0")
    await caller.read_aloud("Four five six.", phrase_id="1:1")
    events = await caller.hear_until("response.done")
    events += await caller.hear_until("response.done")
    assert not [kind for kind in kinds(events) if kind.startswith("output_audio_buffer")]
    ids = [event["response"]["id"] for event in events if event["type"] == "response.created"]
    await caller.play_out()
    played = [event for event in await caller.hear_all() if event["type"].startswith("output_audio_buffer")]
    assert kinds(played) == ["output_audio_buffer.started", "output_audio_buffer.stopped"] * 2
    assert [event["response_id"] for event in played] == [ids[0], ids[0], ids[1], ids[1]]


async def test_a_phrase_may_be_read_while_an_answer_is_awaited_but_no_second_answer() -> None:
    caller = Caller(agent=HandAgent(hold=asyncio.Event()))
    await caller.put_question()
    await caller.say("response.create")
    await caller.read_aloud("One moment.")
    await caller.hear_until("response.done")
    await caller.say("response.create")
    assert (await caller.error())["code"] == "conversation_already_has_active_response"
    await caller.session.leave()


@pytest.mark.parametrize(
    "wanted",
    [
        {"conversation": "none"},
        {"conversation": "none", "input": []},
        {"conversation": "none", "input": [{"type": "message", "role": "user", "content": []}]},
        {"conversation": "none", "input": [{"type": "message", "content": [{"type": "input_text", "text": " "}]}]},
        {"conversation": "none", "input": [{"content": [{"text": "x" * 2001}]}]},
        {"conversation": "none", "input": ["a", "b"]},
    ],
)
async def test_what_cannot_be_read_gets_an_error(wanted: dict[str, object]) -> None:
    caller = Caller()
    await caller.say("response.create", response=wanted)
    error = await caller.error()
    assert (error["code"], error["param"]) == ("invalid_value", "response.input")


@pytest.mark.parametrize(
    "wanted", [{"output_modalities": ["audio", "text"]}, {"audio": {"output": {"voice": "nobody"}}}]
)
async def test_what_cannot_be_spoken_so_gets_an_error(wanted: dict[str, object]) -> None:
    caller = Caller()
    await caller.put_question()
    await caller.say("response.create", response=wanted)
    assert (await caller.error())["code"] == "invalid_value"


@pytest.mark.behaviour("V5")
async def test_the_phrase_behind_the_one_that_is_read_is_prepared() -> None:
    caller = Caller(agent=HandAgent(LONG))
    await caller.read_aloud("The code is ORCHID-47.", turn_id="7e2b6f0e-8b5a-4a52-9d43-0d8d3b1f6c11")
    await caller.hear_until("response.done")
    await until(lambda: caller.mouth.prepared)
    assert caller.mouth.prepared == ["It opens the amber valve."]
    await caller.read_aloud("It opens the amber valve.", turn_id="7e2b6f0e-8b5a-4a52-9d43-0d8d3b1f6c11")
    await caller.hear_until("response.done")
    assert caller.mouth.prepared == []
    await caller.session.leave()
    assert caller.agent.following == 0


class FailingMouth(ScriptedMouth):
    """Speaks the first piece of a text, and then fails."""

    fails = True

    async def speak(self, text: str, manner: Manner) -> AsyncGenerator[Spoken]:
        async for piece in super().speak(text, manner):
            yield piece
            if self.fails:
                raise MouthFailed


@pytest.mark.behaviour("V7")
async def test_a_mouth_that_dies_in_a_phrase_fails_its_response_and_the_next_one_is_spoken() -> None:
    mouth = FailingMouth()
    caller = Caller(mouth=mouth, agent=HandAgent(LONG))
    await caller.read_aloud("One two three four.")
    failed = (await caller.hear_until("response.done"))[-1]["response"]
    assert failed["status_details"]["error"]["code"] == "speech_failed"
    assert await caller.play_out()
    await caller.put_question()
    await caller.say("response.create")
    failed = (await caller.hear_until("response.done"))[-1]["response"]
    assert failed["status"] == "failed"
    assert caller.agent.withdrawn == []
    assert caller.agent.following == 0
    mouth.fails = False
    await caller.put_question()
    await caller.say("response.create")
    assert (await caller.hear_until("response.done"))[-1]["response"]["status"] == "completed"


@pytest.mark.behaviour("V7")
async def test_an_answer_that_fails_midway_is_spoken_as_far_as_it_came() -> None:
    error = Error(code="model_failed", message="The model did not finish its answer; ask again.")
    caller = Caller(agent=HandAgent([LONG[0], error]))
    await caller.put_question()
    await caller.say("response.create")
    failed = (await caller.hear_until("response.done"))[-1]["response"]
    assert failed["status_details"]["error"]["code"] == "model_failed"
    assert failed["output"][0]["content"][0]["transcript"] == "The code is ORCHID-47."
    assert await caller.play_out()


async def test_a_client_without_a_track_gets_the_sound_in_events_and_a_response_ends_with_its_last() -> None:
    caller = Caller(agent=HandAgent(LONG), sound_in_events=True)
    sent = bytearray()

    def send(frames: Sequence[Frame]) -> None:
        sent.extend(b"".join(frame.pcm for frame in frames))

    pacer = Pacer(caller.session.playout, send)
    await caller.put_question()
    await caller.say("response.create")
    await caller.hear_until("response.content_part.added")
    assert "response.done" not in kinds(await caller.hear_all())
    pacing = asyncio.create_task(pacer.run())
    events = await caller.hear_until("output_audio_buffer.stopped")
    assert kinds(events)[0] == "output_audio_buffer.started"
    assert "response.done" in kinds(events)
    pacing.cancel()
    await asyncio.wait({pacing})
    assert len(sent) >= len(SPOKEN) * (MS_A_CHARACTER - 5) * 48


async def test_settings_of_the_sound_are_kept_and_come_back() -> None:
    caller = Caller()
    created = (await caller.hear())["session"]
    assert created["output_modalities"] == ["audio"]
    assert created["audio"]["input"]["turn_detection"]["type"] == "server_vad"
    tool = {"type": "function", "name": "look", "description": "Looks.", "parameters": {"type": "object"}}
    audio = {
        "input": {
            "turn_detection": {"type": "semantic_vad", "eagerness": "high"},
            "noise_reduction": {"type": "near_field"},
        },
        "output": {"voice": "marin", "speed": 1.25},
    }
    await caller.say(
        "session.update",
        session={
            "type": "realtime",
            "instructions": "Be brief.",
            "tools": [tool],
            "tool_choice": "auto",
            "audio": audio,
        },
    )
    session = (await caller.hear())["session"]
    assert session["instructions"] == "Be brief."
    assert session["tools"] == [tool]
    assert session["audio"]["output"] == {
        "format": {"type": "audio/pcm", "rate": 24000},
        "voice": "tone",
        "speed": 1.25,
    }
    assert session["audio"]["input"]["turn_detection"]["eagerness"] == "high"
    await caller.say("session.update", session={"audio": {"input": {"turn_detection": {"eagerness": "low"}}}})
    turns = (await caller.hear())["session"]["audio"]["input"]["turn_detection"]
    assert (turns["type"], turns["eagerness"]) == ("semantic_vad", "low")
    await caller.say("session.update", session={"audio": {"input": {"turn_detection": {"type": "server_vad"}}}})
    assert (await caller.hear())["session"]["audio"]["input"]["turn_detection"]["silence_duration_ms"] == 500
    await caller.say("session.update", session={"audio": {"input": {"turn_detection": None}}})
    assert (await caller.hear())["session"]["audio"]["input"]["turn_detection"] is None


@pytest.mark.parametrize(
    ("session", "param"),
    [
        ({"audio": {"output": {"voice": "nobody"}}}, "session.audio.output.voice"),
        ({"audio": {"output": {"speed": 9}}}, "session.audio.output.speed"),
        ({"audio": {"input": {"format": {"type": "audio/pcmu"}}}}, "session.audio.input.format.type"),
        (
            {"audio": {"input": {"turn_detection": {"type": "server_vad", "threshold": 2}}}},
            "session.audio.input.turn_detection.server_vad.threshold",
        ),
        ({"audio": {"input": {"turn_detection": {"type": "mood"}}}}, "session.audio.input.turn_detection"),
        ({"audio": {"input": 7}}, "session.audio.input"),
        ({"audio": 7}, "session.audio"),
        ({"output_modalities": ["audio", "text"]}, "session.output_modalities"),
        ({"tools": [{"type": "mcp", "server_label": "x"}]}, "session.tools.0.type"),
    ],
)
async def test_settings_that_cannot_be_kept_are_refused_and_change_nothing(
    session: dict[str, object], param: str
) -> None:
    caller = Caller()
    before = caller.session.config
    await caller.say("session.update", session=session)
    error = await caller.error()
    assert (error["code"], error["param"]) == ("invalid_value", param)
    assert caller.session.config == before
