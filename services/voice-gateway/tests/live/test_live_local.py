"""A live session on this machine: what is heard is answered by a cascade, and spoken in real time."""

from __future__ import annotations

import asyncio
from itertools import pairwise

import pytest
from local_fakes import TURN, HandCascade, Local, local
from virtual_time import in_virtual_time

from voice_gateway.errors import AnswerFailed
from voice_gateway.live.config import RealtimeConfig, Vad
from voice_gateway.live.errors import InvalidConfig, SessionRefused
from voice_gateway.live.events import AgentChanged
from voice_gateway.live.port import Line
from voice_gateway.scripted import NOISE, UNINTELLIGIBLE

pytestmark = pytest.mark.behaviour("L1", "O1")

BY_HAND = RealtimeConfig(vad=Vad(enabled=False))


def test_a_question_asked_aloud_is_answered_aloud() -> None:
    async def run() -> None:
        async with local("What is the code?") as call:
            await call.say()
            await call.until("response_ended")
            assert call.kinds == [
                "speech_started",
                "speech_stopped",
                "input_transcript",
                "turn_started",
                "response_started",
                "turn_started",
                "output",
                "response_ended",
            ]
            assert call.of("input_transcript")[-1].text == "What is the code?"
            traced, named = call.of("turn_started")
            assert (traced.turn_id, named.turn_id) == (None, TURN)
            assert len(traced.trace_id) == 32
            assert call.words == "The code is ORCHID-47. It opens the amber valve."
            assert call.of("output_transcript")[-1].finished
            assert call.of("output_transcript")[-1].text == call.words
            assert call.sound_ms == pytest.approx(len(call.words) * 60, abs=100)
            assert call.cascade.contexts[0].user_text == "What is the code?"
            assert call.cascade.was_heard == []

    in_virtual_time(run())


def test_the_words_of_a_long_question_come_while_it_is_said() -> None:
    async def run() -> None:
        async with local("What is the recovery code of the amber valve?") as call:
            await call.say(1600)
            heard = call.of("input_transcript")
            assert len(heard) > 2
            assert "".join(event.text for event in heard if not event.finished).startswith("What is the recovery")
            assert heard[-1].text == "What is the recovery code of the amber valve?"

    in_virtual_time(run())


def test_sound_comes_in_real_time_and_its_words_beside_it() -> None:
    async def run() -> None:
        async with local() as call:
            await call.client.send_text("What is the code?")
            await call.until("response_ended")
            first, last = call.at("audio_delta"), [at for at, event in call.told if event.type == "audio_delta"][-1]
            assert last - first == pytest.approx(call.sound_ms / 1000 - 0.2, abs=0.1)
            second = next(at for at, event in call.told if event.type == "output_transcript" and "amber" in event.text)
            assert second - first > 1.0, "words are told when they are said"

    in_virtual_time(run())


def test_the_next_chunk_is_prepared_while_one_is_made_so_that_there_is_no_gap() -> None:
    async def run() -> None:
        async with local(delay_s=1.0) as call:
            await call.client.send_text("What is the code?")
            await call.until("response_ended")
            times = [at for at, event in call.told if event.type == "audio_delta"]
            assert max(later - earlier for earlier, later in pairwise(times)) < 0.1

    in_virtual_time(run())


def test_the_first_chunk_is_said_while_the_second_is_not_written_yet() -> None:
    async def run() -> None:
        async with local(cascade=HandCascade(("The code is ORCHID-47.",), stays=True)) as call:
            await call.client.send_text("What is the code?")
            await call.until("audio_delta")
            assert call.cascade.running == 1

    in_virtual_time(run())


def test_who_writes_faster_than_is_spoken_waits() -> None:
    async def run() -> None:
        chunks = tuple(f"This is sentence number {number} of a long answer." for number in range(60))
        async with local(cascade=HandCascade(chunks)) as call:
            await call.client.send_text("Tell me everything.")
            await call.until("audio_delta")
            assert len(call.cascade.spoken) < 20
            await call.until("response_ended")
            assert call.words == " ".join(chunks)

    in_virtual_time(run())


def test_the_voice_changes_hands_where_the_other_agent_begins_to_speak() -> None:
    async def run() -> None:
        change = AgentChanged(agent="safety", previous="concierge", reason="a valve")
        cascade = HandCascade(("I give you to a colleague who knows.", change, "This is safety, about the valve."))
        async with local(cascade=cascade) as call:
            await call.client.send_text("What is the code?")
            await call.until("response_ended")
            kinds = [event.type for _, event in call.told]
            place = kinds.index("agent_changed")
            before = [event for _, event in call.told[:place]]
            after = [event for _, event in call.told[place:]]
            words = [
                "".join(one.text for one in part if one.type == "output_transcript" and not one.finished)
                for part in (before, after)
            ]
            assert words == ["I give you to a colleague who knows.", " This is safety, about the valve."]
            sound = [sum(len(one.data) for one in part if one.type == "audio_delta") // 48 for part in (before, after)]
            assert sound == [pytest.approx(len(text) * 60, abs=60) for text in words]

    in_virtual_time(run())


def test_an_agent_whose_voice_this_machine_lacks_has_the_session_s() -> None:
    async def run() -> None:
        cascade = HandCascade(voice="am_michael")
        async with local(cascade=cascade) as call:
            await call.client.send_text("What is the code?")
            await call.until("response_ended")
            assert call.of("error") == []
            assert call.words == "The code is ORCHID-47. It opens the amber valve."

    in_virtual_time(run())


def test_text_needs_no_mouth() -> None:
    async def run() -> None:
        async with local(config=RealtimeConfig(modality="text")) as call:
            await call.client.send_text("What is the code?")
            await call.until("response_ended")
            assert call.words == "The code is ORCHID-47. It opens the amber valve."
            assert call.sound_ms == 0
            assert call.mouth.spoken == []

    in_virtual_time(run())


def test_what_was_said_before_is_known_to_the_next_turn() -> None:
    async def run() -> None:
        async with local() as call:
            await call.client.reseed([Line("user", "Hello."), Line("assistant", "Hello to you.")])
            for count in (1, 2):
                await call.client.send_text(f"Question {count}?")
                await call.until("response_ended", count)
            answer = "The code is ORCHID-47. It opens the amber valve."
            assert call.cascade.contexts[1].history == (
                Line("user", "Hello."),
                Line("assistant", "Hello to you."),
                Line("user", "Question 1?"),
                Line("assistant", answer),
            )

    in_virtual_time(run())


@pytest.mark.behaviour("V7")
def test_an_answer_that_fails_says_so_aloud_and_the_session_goes_on() -> None:
    async def run() -> None:
        broken = AnswerFailed("Questions cannot be answered right now.", failure="unavailable")
        async with local(cascade=HandCascade(("The code is", broken))) as call:
            await call.client.send_text("What is the code?")
            failure = await call.until("error")
            assert (failure.code, failure.fatal) == ("unavailable", False)  # type: ignore[union-attr]
            ended = await call.until("response_ended")
            assert ended.status == "failed"  # type: ignore[union-attr]
            assert call.words == "The code is Questions cannot be answered right now."
            call.cascade.chunks = ("It is well.",)
            await call.client.send_text("And now?")
            await call.until("response_ended", 2)
            assert call.of("response_ended")[1].status == "completed"

    in_virtual_time(run())


def test_a_fault_of_ours_is_told_in_one_plain_sentence() -> None:
    async def run() -> None:
        async with local(cascade=HandCascade((RuntimeError("a secret"),))) as call:
            await call.client.send_text("What is the code?")
            await call.until("response_ended")
            assert call.of("error")[0].code == "internal"
            assert "secret" not in call.of("error")[0].message

    in_virtual_time(run())


@pytest.mark.behaviour("L9")
def test_by_hand_an_utterance_is_what_lies_between_its_marks() -> None:
    async def run() -> None:
        async with local("What is the code?", "And the valve?", config=BY_HAND) as call:
            await call.say()
            assert call.told == [], "nobody pressed"
            await call.client.send_activity("start")
            await call.say(400, 2000)
            assert call.kinds == ["speech_started"], "a pause ends nothing while it is held"
            await call.client.send_activity("end")
            await call.until("response_ended")
            assert call.cascade.contexts[0].user_text == "What is the code?"

    in_virtual_time(run())


@pytest.mark.behaviour("L9")
@pytest.mark.parametrize("marks", [("start", "cancel"), ("start", "end")])
def test_by_hand_what_was_thought_better_of_or_held_nothing_asks_nothing(marks: tuple[str, str]) -> None:
    async def run() -> None:
        async with local("What is the code?", config=BY_HAND) as call:
            await call.client.send_text("Speak.")
            await call.until("audio_delta")
            await call.client.send_activity(marks[0])  # type: ignore[arg-type]
            before = call.sound_ms
            await call.say(300 if marks[1] == "cancel" else 0)
            assert call.sound_ms - before <= 220, "it is silent while the key is held"
            await call.client.send_activity(marks[1])  # type: ignore[arg-type]
            await call.until("speech_dismissed")
            await call.until("response_ended")
            assert len(call.cascade.contexts) == 1
            assert call.words == "The code is ORCHID-47. It opens the amber valve."
            assert call.sound_ms == pytest.approx(len(call.words) * 60, abs=100)

    in_virtual_time(run())


@pytest.mark.behaviour("O7")
def test_the_ears_listen_for_the_words_of_the_session() -> None:
    async def run() -> None:
        async with local(config=RealtimeConfig(vocabulary=("ORCHID-47", "Merrow"))) as call:
            assert call.ears.listened_for == ("ORCHID-47", "Merrow")

    in_virtual_time(run())


def test_a_full_house_and_a_voice_that_there_is_not_are_refused() -> None:
    async def run() -> None:
        with pytest.raises(SessionRefused) as refused:
            async with local(places=0):
                pass
        assert refused.value.code == "too_many_sessions"
        with pytest.raises(InvalidConfig, match="there are: tone"):
            async with local(config=RealtimeConfig(voice="Pavarotti")):
                pass

    in_virtual_time(run())


def test_ears_that_fail_are_told_and_ears_that_are_lost_are_taken_again() -> None:
    async def run() -> None:
        async with local(UNINTELLIGIBLE, "What is the code?") as call:
            await call.say()
            assert [event.code for event in call.of("error")] == ["not_understood"]
            assert "speech_dismissed" in call.kinds
            [listener] = call.ears.listeners
            await listener.close()
            await call.until("error", 2)
            await call.say()
            await call.say()
            await call.until("response_ended")

    in_virtual_time(run())


async def finished(call: Local, count: int = 1) -> None:
    await call.until("response_ended", count)
    await asyncio.sleep(0.5)


def test_noise_is_no_question() -> None:
    async def run() -> None:
        async with local(NOISE, "mhm") as call:
            await call.say()
            assert call.kinds == ["speech_started", "speech_stopped", "speech_dismissed"]
            await call.say()
            await finished(call)
            assert call.cascade.contexts[0].user_text == "mhm", "in silence even a short word answers something"

    in_virtual_time(run())
