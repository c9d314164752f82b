"""A person's voice and ours: held at once, gone on with when it was nothing, cut off and accounted for when it was."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

import pytest
from test_voice_speaking import LONG, SPOKEN
from voice_fakes import until
from voice_session_fakes import Caller, HandAgent, kinds

from contracts.turns import CancelRequested
from voice_gateway.mouth.port import Manner, Spoken
from voice_gateway.scripted import ScriptedMouth, tone


async def answered(caller: Caller, ms: int) -> str:
    """Have a question answered aloud, and ``ms`` of it played; gives the id of the response."""
    await caller.put_question()
    await caller.say("response.create")
    done = (await caller.hear_until("response.done"))[-1]["response"]
    caller.play(ms)
    await caller.hear_until("output_audio_buffer.started")
    return done["id"]


@pytest.mark.behaviour("V6")
async def test_speech_holds_the_voice_where_it_is_and_nothing_is_lost_when_it_was_a_cough() -> None:
    caller = Caller("", agent=HandAgent(LONG))
    await answered(caller, 400)
    caller.session.hear(tone(200))
    await caller.hear_until("input_audio_buffer.speech_started")
    assert caller.play(1000) == b""
    caller.utter(speech_ms=0, pause_ms=600)
    await caller.hear_until("input_audio_buffer.cleared")
    rest = await caller.play_out()
    assert len(rest) // 48 + 400 >= (len(SPOKEN) - 1) * 60
    assert kinds(await caller.hear_all()) == ["output_audio_buffer.stopped"]
    assert caller.agent.reported == []


@pytest.mark.behaviour("V10")
async def test_mhm_does_not_end_an_answer() -> None:
    caller = Caller("mhm", agent=HandAgent(LONG))
    await answered(caller, 400)
    caller.utter()
    await caller.hear_until("input_audio_buffer.cleared")
    assert await caller.play_out()
    assert caller.agent.asked == ["What is the code?"]


@pytest.mark.behaviour("V6", "V11")
async def test_an_utterance_cuts_the_answer_off_and_its_history_holds_what_was_heard() -> None:
    caller = Caller("And the valve?", agent=HandAgent(LONG))
    await answered(caller, 1700)
    first = caller.session.conversation.last
    assert first is not None
    caller.utter()
    events = await caller.hear_until("response.created")
    cut = [event for event in events if event["type"].startswith(("output_audio_buffer", "conversation.item.trunc"))]
    assert kinds(cut) == ["output_audio_buffer.cleared", "conversation.item.truncated"]
    assert cut[1]["item_id"] == first.id
    assert cut[1]["audio_end_ms"] == 1700
    # 1.7 s are 22 characters of the first phrase, and 6 of the second of which 2 are whole words.
    assert first.text == "The code is ORCHID-47. It"
    heard = len("The code is **ORCHID-47** [1]. It")
    assert caller.agent.reported == [(caller.agent.turns[0], heard)]
    assert caller.agent.withdrawn == []
    await caller.hear_until("response.done")
    await caller.play_out()
    assert caller.agent.asked == ["What is the code?", "And the valve?"]


@pytest.mark.behaviour("V6", "V11")
async def test_an_answer_that_is_still_written_is_cancelled_and_the_agent_told_what_was_heard() -> None:
    caller = Caller("Stop, what about the valve?", agent=HandAgent(LONG[:1] + LONG[1:2]))
    await caller.put_question()
    await caller.say("response.create")
    await caller.hear_until("response.output_audio_transcript.delta")
    await until(lambda: caller.play(20))
    caller.play(700)
    caller.agent.frames = LONG
    caller.utter()
    events = await caller.hear_until("response.created")
    done = next(event["response"] for event in events if event["type"] == "response.done")
    assert done["status"] == "cancelled"
    assert done["status_details"]["reason"] == "turn_detected"
    order = [kind for kind in kinds(events) if kind in ("response.done", "output_audio_buffer.cleared")]
    assert order == ["response.done", "output_audio_buffer.cleared"]
    assert caller.agent.how == [CancelRequested(reason="interrupted", heard=len("The code is"))]
    assert caller.agent.reported == []
    await until(lambda: caller.agent.withdrawn == caller.agent.turns[:1])
    await caller.hear_until("response.done")


@pytest.mark.behaviour("V6", "V11")
async def test_who_speaks_before_the_first_word_of_an_answer_heard_nothing_of_it() -> None:
    caller = Caller("No, the other one.", agent=HandAgent(hold=asyncio.Event()))
    await caller.put_question()
    await caller.say("response.create")
    await until(lambda: caller.agent.asked)
    caller.utter()
    await caller.hear_until("response.done")
    assert caller.agent.how == [CancelRequested(reason="interrupted", heard=0)]
    await caller.session.leave()


@pytest.mark.behaviour("V6")
async def test_the_page_decides_itself_what_an_utterance_ends() -> None:
    """It cancels and clears when it has the transcript; until then what was being said stays held."""
    caller = Caller("And the valve?")
    await caller.as_page()
    await caller.read_aloud("The code is ORCHID-47.")
    await caller.hear_until("response.done")
    caller.play(200)
    caller.utter()
    await caller.hear_until("conversation.item.input_audio_transcription.completed")
    assert caller.session.playout.held
    assert caller.play(200) == b""
    await caller.say("output_audio_buffer.clear")
    assert kinds(await caller.hear_all()) == ["output_audio_buffer.cleared"]
    assert not caller.session.playout.held
    assert caller.agent.asked == []
    await caller.read_aloud("The valve is open.", phrase_id="2:0")
    await caller.hear_until("response.done")
    assert await caller.play_out()


@pytest.mark.behaviour("V6")
async def test_what_nobody_decides_goes_on_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("voice_gateway.floor.UNDECIDED_S", 0.05)
    caller = Caller("And the valve?")
    await caller.as_page()
    await caller.read_aloud("The code is ORCHID-47.")
    await caller.hear_until("response.done")
    caller.play(200)
    caller.utter()
    await caller.hear_until("input_audio_buffer.speech_stopped")
    await until(lambda: caller.play(20))


class WaitingMouth(ScriptedMouth):
    """Waits before each piece until it is let go on."""

    def __init__(self) -> None:
        super().__init__()
        self.go_on = asyncio.Event()

    async def speak(self, text: str, manner: Manner) -> AsyncGenerator[Spoken]:
        async for piece in super().speak(text, manner):
            await self.go_on.wait()
            yield piece


@pytest.mark.behaviour("V6")
async def test_a_phrase_cancelled_before_its_first_sound_never_speaks() -> None:
    mouth = WaitingMouth()
    caller = Caller(mouth=mouth)
    await caller.read_aloud("The code is ORCHID-47.")
    created = (await caller.hear_until("response.created"))[-1]["response"]
    await caller.say("response.cancel", response_id=created["id"])
    await caller.say("output_audio_buffer.clear")
    mouth.go_on.set()
    done = (await caller.hear_until("response.done"))[-1]["response"]
    assert done["status"] == "cancelled"
    await caller.hear_all()
    assert caller.play(1000) == b""
    assert not caller.session.busy


@pytest.mark.behaviour("V6")
async def test_clearing_ends_a_phrase_that_is_still_being_made() -> None:
    mouth = WaitingMouth()
    mouth.go_on.set()
    caller = Caller(mouth=mouth)
    await caller.read_aloud("One two three four five six seven.")
    await until(lambda: caller.play(20))
    mouth.go_on.clear()
    await caller.say("output_audio_buffer.clear")
    await caller.hear_all()
    mouth.go_on.set()
    await caller.hear_all()
    assert caller.play(2000) == b""
    assert not caller.session.busy


@pytest.mark.behaviour("V11")
async def test_a_client_says_itself_how_much_of_an_item_was_heard() -> None:
    caller = Caller(agent=HandAgent(LONG))
    await answered(caller, 200)
    await caller.play_out()
    item = caller.session.conversation.last
    assert item is not None
    where = {"item_id": item.id, "content_index": 0}
    await caller.say("conversation.item.truncate", audio_end_ms=99_999, **where)
    assert (await caller.error())["param"] == "audio_end_ms"
    await caller.say("conversation.item.truncate", audio_end_ms=800, **where)
    assert (await caller.hear())["audio_end_ms"] == 800
    assert item.text == "The code is"
    assert caller.agent.reported == [(caller.agent.turns[0], len("The code is"))]


@pytest.mark.behaviour("V11")
async def test_what_was_cleared_before_it_was_heard_does_not_become_heard() -> None:
    caller = Caller(agent=HandAgent(LONG))
    await answered(caller, 300)
    item = caller.session.conversation.last
    assert item is not None
    await caller.say("output_audio_buffer.clear")
    await caller.hear_until("conversation.item.truncated")
    heard = item.text
    await caller.say("conversation.item.truncate", item_id=item.id, content_index=0, audio_end_ms=700)
    await caller.hear_until("conversation.item.truncated")
    assert item.text == heard
    assert max(characters for _, characters in caller.agent.reported) <= len("The code")


@pytest.mark.parametrize("where", [{"item_id": "nowhere"}, {"item_id": "item_mine"}, {"content_index": 1}])
async def test_what_was_not_spoken_is_not_truncated(where: dict[str, object]) -> None:
    caller = Caller()
    await caller.put_question(id="item_mine")
    await caller.say(
        "conversation.item.truncate", **{"item_id": "item_mine", "content_index": 0, "audio_end_ms": 0} | where
    )
    assert (await caller.error())["code"] in ("item_not_found", "invalid_value")


async def test_a_client_that_leaves_in_the_middle_of_everything_leaves_nothing_behind() -> None:
    before = asyncio.all_tasks()
    mouth = WaitingMouth()
    caller = Caller("And the valve?", mouth=mouth, agent=HandAgent(LONG[:1]))
    caller.agent.guess = "Yes."
    await caller.put_question()
    await caller.say("response.create")
    await caller.read_aloud("One.", turn_id="7e2b6f0e-8b5a-4a52-9d43-0d8d3b1f6c11")
    await caller.hear_until("response.created")
    caller.utter(pause_ms=300)
    await caller.hear_until("input_audio_buffer.speech_started")
    await caller.session.leave()
    assert len(caller.ears) == 0  # pyright: ignore[reportArgumentType]
    assert caller.agent.following == 0
    assert caller.agent.withdrawn == []
    await asyncio.sleep(0)
    assert asyncio.all_tasks() == before


@pytest.mark.behaviour("V6")
async def test_an_utterance_into_silence_holds_nothing_and_its_answer_is_heard_at_once() -> None:
    caller = Caller("What is the code?")
    await caller.as_page()
    caller.utter()
    await caller.hear_until("conversation.item.input_audio_transcription.completed")
    assert not caller.session.playout.held
