"""What is said aloud becomes an item, in the protocol's order; what was no utterance becomes nothing."""

from __future__ import annotations

import asyncio
import base64
from uuid import UUID

import pytest
from voice_fakes import until
from voice_session_fakes import SILENCE_MS, Caller, kinds

from voice_gateway.ears.port import Heard, PerhapsOver, SpeechStarted, Tuning, Utterance, Words
from voice_gateway.scripted import UNINTELLIGIBLE, ScriptedEars, ScriptedListener, tone


class Told(ScriptedEars):
    """Ears that hear what is written down, whatever the sound is."""

    def __init__(self, heard: list[Heard]) -> None:
        super().__init__()
        self.heard = heard

    def listen(self, tuning: Tuning | None, words: tuple[str, ...] = ()) -> ScriptedListener:
        listener = super().listen(tuning)
        for heard in self.heard:
            listener.tell(heard)
        return listener


def b64(pcm: bytes) -> str:
    return base64.b64encode(pcm).decode()


@pytest.mark.behaviour("V3", "V9")
async def test_an_utterance_is_committed_and_its_transcript_is_what_was_heard() -> None:
    caller = Caller("What is the code?")
    await caller.as_page()
    caller.utter(speech_ms=300, pause_ms=600)
    events = await caller.hear_all()
    assert kinds(events) == [
        "input_audio_buffer.speech_started",
        "input_audio_buffer.speech_stopped",
        "input_audio_buffer.committed",
        "conversation.item.added",
        "conversation.item.done",
        "conversation.item.input_audio_transcription.delta",
        "conversation.item.input_audio_transcription.completed",
    ]
    assert len({event["item_id"] for event in events if "item_id" in event}) == 1
    assert events[3]["item"]["content"] == [{"type": "input_audio", "transcript": None}]
    assert events[-1]["transcript"] == "What is the code?"
    assert events[-1]["usage"] == {"type": "duration", "seconds": 0.3}
    assert events[1]["audio_end_ms"] == 300
    assert caller.agent.asked == []
    await caller.say("conversation.item.retrieve", item_id=events[0]["item_id"])
    assert (await caller.hear())["item"]["content"][0]["transcript"] == "What is the code?"


@pytest.mark.behaviour("V3")
@pytest.mark.parametrize(
    ("so_far", "told"),
    [
        (["What is", "What is the amber wall?"], ["What", " is the amber", " valve recovery code?"]),
        (["Wattle the", "What is the amber wall?"], ["Wattle"]),  # what was told cannot be taken back
    ],
)
async def test_words_are_told_while_they_are_spoken_and_the_transcript_has_the_last_word(
    so_far: list[str], told: list[str]
) -> None:
    question = "What is the amber valve recovery code?"
    caller = Caller(ears=Told([SpeechStarted(0), *map(Words, so_far), Utterance(question, 0, 900)]))
    await caller.as_page()
    caller.session.hear(SILENCE_MS)
    events = await caller.hear_all()
    deltas = [event for event in events if event["type"].endswith("transcription.delta")]
    assert [event["delta"] for event in deltas] == told
    assert {event["item_id"] for event in deltas} == {events[0]["item_id"]}
    assert events[-1]["transcript"] == question


@pytest.mark.behaviour("V3")
async def test_a_stock_session_is_answered_by_itself_and_one_utterance_is_one_question() -> None:
    caller = Caller("What is the code?")
    caller.utter()
    await caller.hear_until("response.done")
    await caller.play_out()
    caller.utter()
    await caller.hear_until("response.done")
    assert caller.agent.asked == ["What is the code?", "What is the code?"]


@pytest.mark.behaviour("V10")
@pytest.mark.parametrize("script", ["", "mhm"])
async def test_what_was_no_utterance_is_no_turn(script: str) -> None:
    caller = Caller(script)
    caller.utter()
    events = await caller.hear_all()
    assert kinds(events)[1:] == [
        "input_audio_buffer.speech_started",
        "input_audio_buffer.speech_stopped",
        "input_audio_buffer.cleared",
    ]
    assert caller.agent.asked == []
    assert len(caller.session.conversation) == 0


@pytest.mark.behaviour("V7")
async def test_speech_that_could_not_be_understood_says_so_and_the_next_utterance_works() -> None:
    caller = Caller(UNINTELLIGIBLE, "What is the code?")
    caller.utter()
    failed = (await caller.hear_until("conversation.item.input_audio_transcription.failed"))[-1]
    assert failed["error"]["code"] == "not_understood"
    caller.utter()
    await caller.hear_until("response.done")
    assert caller.agent.asked == ["What is the code?"]


async def test_by_hand_a_commit_is_an_item_and_a_response_waits_for_its_words() -> None:
    caller = Caller("What is the code?")
    await caller.turns()
    await caller.say("input_audio_buffer.append", audio=b64(tone(300)))
    await caller.say("input_audio_buffer.commit")
    await caller.say("response.create")
    events = await caller.hear_until("response.done")
    assert kinds(events)[:3] == [
        "input_audio_buffer.committed",
        "conversation.item.added",
        "conversation.item.done",
    ]
    assert "input_audio_buffer.speech_started" not in kinds(events)
    assert "conversation.item.input_audio_transcription.completed" in kinds(events)
    assert caller.agent.asked == ["What is the code?"]


async def test_a_commit_without_words_fails_the_response_that_asks_about_it() -> None:
    caller = Caller("")
    await caller.turns()
    await caller.say("input_audio_buffer.append", audio=b64(tone(300)))
    await caller.say("input_audio_buffer.commit")
    await caller.say("response.create")
    done = (await caller.hear_until("response.done"))[-1]["response"]
    assert done["status_details"]["error"]["code"] == "blank_question"


@pytest.mark.parametrize("sound", [b"", SILENCE_MS * 99])
async def test_a_commit_of_next_to_nothing_is_refused_as_the_provider_does(sound: bytes) -> None:
    caller = Caller()
    await caller.turns()
    await caller.say("input_audio_buffer.append", audio=b64(sound))
    await caller.say("input_audio_buffer.commit", event_id="mine")
    error = await caller.error()
    assert (error["code"], error["event_id"]) == ("input_audio_buffer_commit_empty", "mine")


async def test_what_was_cleared_is_no_longer_to_be_committed() -> None:
    caller = Caller()
    await caller.turns()
    await caller.say("input_audio_buffer.append", audio=b64(tone(300)))
    await caller.say("input_audio_buffer.clear")
    assert (await caller.hear())["type"] == "input_audio_buffer.cleared"
    await caller.say("input_audio_buffer.commit")
    assert (await caller.error())["code"] == "input_audio_buffer_commit_empty"


@pytest.mark.parametrize("audio", ["%%%", "AAA", "AAAA", "AA==\n", "ÄÄ=="])
async def test_what_is_no_sound_gets_an_error_and_the_session_goes_on(audio: str) -> None:
    """Base64 garbage, an odd number of bytes."""
    caller = Caller()
    await caller.say("input_audio_buffer.append", audio=audio)
    error = await caller.error()
    assert (error["code"], error["param"]) == ("invalid_value", "audio")
    caller.utter()
    await caller.hear_until("response.done")


async def test_sound_that_comes_much_faster_than_it_was_spoken_has_to_wait() -> None:
    caller = Caller()
    await caller.say("input_audio_buffer.append", audio=b64(SILENCE_MS * 5_000))
    late = asyncio.create_task(caller.say("input_audio_buffer.append", audio=b64(SILENCE_MS * 3_000)))
    done, _ = await asyncio.wait({late}, timeout=0.05)
    assert not done
    await late


async def test_an_event_of_sound_is_larger_than_others_may_be_and_bounded_too() -> None:
    caller = Caller(max_message_bytes=1024, max_sound_message_bytes=50_000)
    await caller.say("input_audio_buffer.append", audio=b64(SILENCE_MS * 500))
    await caller.say("session.update", session={"instructions": "x" * 2000})
    assert (await caller.error())["code"] == "event_too_large"
    await caller.say("input_audio_buffer.append", audio=b64(SILENCE_MS * 1000))
    assert (await caller.error())["code"] == "event_too_large"


@pytest.mark.parametrize("voice", [{"id": {}}, {"id": ["x"]}, {"id": "nobody"}])
async def test_a_voice_that_is_none_is_refused(voice: dict[str, object]) -> None:
    caller = Caller()
    await caller.put_question()
    await caller.say("response.create", response={"audio": {"output": {"voice": voice}}})
    assert (await caller.error())["code"] == "invalid_value"


async def test_an_item_of_text_is_no_larger_because_sound_may_be_and_the_session_goes_on() -> None:
    caller = Caller(max_message_bytes=1024, max_sound_message_bytes=500_000)
    await caller.put_question("x" * 100_000)
    assert (await caller.error())["code"] == "event_too_large"
    await caller.put_question()
    assert caller.session.conversation.last is not None


async def test_an_item_of_sound_is_transcribed_and_can_be_asked_about() -> None:
    caller = Caller("What is the code?")
    part = {"type": "input_audio", "audio": b64(tone(1200))}
    await caller.say("conversation.item.create", item={"type": "message", "role": "user", "content": [part]})
    await caller.say("response.create")
    events = await caller.hear_until("response.done")
    completed = next(event for event in events if event["type"].endswith("transcription.completed"))
    assert completed["transcript"] == "What is the code?"
    assert completed["usage"]["seconds"] == 1.2
    assert caller.agent.asked == ["What is the code?"]
    await caller.session.leave()
    assert isinstance(caller.ears, ScriptedEars)
    assert len(caller.ears) == 0


async def test_without_a_place_at_the_ears_an_item_of_sound_says_why_it_is_not_transcribed() -> None:
    caller = Caller(ears=ScriptedEars(places=1))
    part = {"type": "input_audio", "audio": b64(tone(200))}
    await caller.say("conversation.item.create", item={"type": "message", "role": "user", "content": [part]})
    failed = (await caller.hear_until("conversation.item.input_audio_transcription.failed"))[-1]
    assert "wait for one to stop" in failed["error"]["message"]


async def test_without_transcription_an_utterance_is_still_answered() -> None:
    caller = Caller("What is the code?")
    await caller.say("session.update", session={"audio": {"input": {"transcription": None}}})
    caller.utter()
    events = await caller.hear_until("response.done")
    assert not [kind for kind in kinds(events) if "transcription" in kind]
    assert caller.agent.asked == ["What is the code?"]


async def test_what_may_be_over_is_prepared_once_and_forgotten_when_they_go_on() -> None:
    caller = Caller("What is the code?")
    caller.agent.guess = "The code is ORCHID-47 [1]. It opens the valve."
    await caller.as_page()
    caller.utter(pause_ms=400)
    await until(lambda: caller.mouth.prepared)
    assert caller.agent.guessed == ["What is the code?"]
    assert caller.mouth.prepared == ["The code is ORCHID-47."]


async def test_a_guess_that_was_wrong_is_forgotten_for_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = {"Which valve?": "The amber one [1].", "Which valve opens?": "The green one [1]."}
    ears = Told([SpeechStarted(0), PerhapsOver("Which valve?")])
    caller = Caller(ears=ears)

    async def prefetch(_: UUID, question: str) -> str:
        return answers[question]

    monkeypatch.setattr(caller.agent, "prefetch", prefetch)
    await caller.as_page()
    caller.session.hear(SILENCE_MS)
    await until(lambda: caller.mouth.prepared == ["The amber one."])
    (listener,) = ears.listeners
    assert isinstance(listener, ScriptedListener)
    listener.tell(PerhapsOver("Which valve opens?"))
    await until(lambda: caller.mouth.prepared == ["The green one."])


def _utters(caller: Caller, ears: ScriptedEars) -> bool:
    """Say something; whether there are ears that hear it."""
    caller.utter()
    return len(ears) > 0


@pytest.mark.behaviour("V7")
async def test_ears_that_die_release_the_speech_and_the_next_sound_has_others(monkeypatch: pytest.MonkeyPatch) -> None:
    ears = ScriptedEars(["What is the code?"])
    caller = Caller(ears=ears)
    await caller.as_page()
    await caller.read_aloud("The code is ORCHID-47.")
    await caller.hear_until("response.done")
    caller.play(100)
    caller.session.hear(tone(200))
    await caller.hear_until("input_audio_buffer.speech_started")
    assert caller.session.playout.held
    [listener] = ears.listeners
    await listener.close()
    await caller.hear_until("input_audio_buffer.speech_stopped")
    assert not caller.session.playout.held
    taken = [ears.listen(None) for _ in range(100)]
    caller.utter()
    assert (await caller.error())["code"] == "too_many_sessions"
    caller.utter()
    for other in taken:
        await other.close()
    monkeypatch.setattr("voice_gateway.listening.AGAIN_S", 0.0)
    await until(lambda: _utters(caller, ears))
    await caller.hear_until("conversation.item.input_audio_transcription.completed")
    await caller.session.leave()
    assert len(ears) == 0
