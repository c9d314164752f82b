"""What the person says follows so fast on what they said before that its answer has hardly begun."""

from __future__ import annotations

import asyncio

import pytest
from local_fakes import HandCascade, local
from local_session import local_session
from virtual_time import in_virtual_time

from voice_gateway.live.config import RealtimeConfig
from voice_gateway.live.events import AgentChanged
from voice_gateway.live.port import Line

pytestmark = pytest.mark.behaviour("V10", "V11")

ANSWER = "The code is ORCHID-47. It opens the amber valve."
TO_SAFETY = AgentChanged(agent="safety", previous="concierge", reason="The person asked for it.")


@pytest.mark.parametrize("modality", ["audio", "text"])
def test_of_two_questions_at_once_the_second_is_answered_in_a_turn_of_its_own(modality: str) -> None:
    async def run() -> None:
        config = RealtimeConfig(modality=modality)  # type: ignore[arg-type]
        async with local_session(config=config) as held:
            for question in ("And the valve?", "What is the code?"):
                held.queue.send_text(question)
            await held.until("turn_complete")
            assert [context.user_text for context in held.cascade.contexts] == ["And the valve?", "What is the code?"]
            assert [event.turn for event in held.of("turn_complete")] == [2]
            began, ended = held.of("response_started"), held.of("response_ended")
            assert [event.response_id for event in began] == [event.response_id for event in ended]
            assert "" not in [event.response_id for event in ended]
            assert ended[-1].status == "completed"
            assert held.kinds.index("turn_complete") > len(held.kinds) - 1 - held.kinds[::-1].index("output")
            assert held.history[-2:] == (Line("user", "What is the code?"), Line("assistant", ANSWER))

    in_virtual_time(run())


@pytest.mark.behaviour("O4")
@pytest.mark.parametrize("modality", ["audio", "text"])
@pytest.mark.parametrize("before", [0, 1])
def test_a_floor_that_changed_hands_is_told_though_the_next_question_came_at_once(modality: str, before: int) -> None:
    async def run() -> None:
        config = RealtimeConfig(modality=modality)  # type: ignore[arg-type]
        cascade = HandCascade((ANSWER,))
        async with local_session(cascade=cascade, config=config) as held:
            for _ in range(before):
                held.queue.send_text("What is the code?")
                await held.until("turn_complete")
            cascade.chunks, cascade.stays = (TO_SAFETY, "This is safety."), True
            held.queue.send_text("Get me the safety specialist please")
            held.queue.send_text("What is the code?")
            await held.until("agent_changed", 1)
            assert len(cascade.contexts) == before + 2
            assert held.of("agent_changed")[0] == TO_SAFETY

    in_virtual_time(run())


def test_a_turn_that_is_broken_off_at_once_takes_nothing_of_the_answer_before_it() -> None:
    async def run() -> None:
        async with local() as call:
            await call.client.send_text("What is the code?")
            await call.until("response_ended")
            await call.client.send_text("And the valve?")
            await call.client.interrupt()
            assert call.cascade.was_heard == [""]
            await call.client.send_text("Again?")
            await call.until("response_ended", 2)
            lines = call.cascade.contexts[-1].history
            assert lines == (
                Line("user", "What is the code?"),
                Line("assistant", ANSWER),
                Line("user", "And the valve?"),
            )

    in_virtual_time(run())


def test_a_change_of_the_floor_that_waits_for_its_sound_is_told_when_the_sound_is_broken_off() -> None:
    async def run() -> None:
        cascade = HandCascade(("I give you to a colleague who knows.", TO_SAFETY, "This is safety, about the valve."))
        async with local(cascade=cascade) as call:
            await call.client.send_text("What is the code?")
            await call.until("audio_delta")
            await asyncio.sleep(0.3)
            assert call.of("agent_changed") == []
            await call.client.interrupt()
            await call.until("response_ended")
            assert call.of("agent_changed") == [TO_SAFETY]

    in_virtual_time(run())


@pytest.mark.parametrize("modality", ["audio", "text"])
@pytest.mark.parametrize("questions", [1, 2])
def test_who_wants_silence_right_behind_a_question_gets_it(modality: str, questions: int) -> None:
    async def run() -> None:
        config = RealtimeConfig(modality=modality)  # type: ignore[arg-type]
        async with local_session(cascade=HandCascade((ANSWER,), stays=True), config=config) as held:
            for _ in range(questions):
                held.queue.send_text("What is the code?")
            await held.session.interrupt()
            await asyncio.sleep(10)
            assert len(held.cascade.contexts) == held.cascade.cancelled == questions
            assert held.of("audio_delta") == []
            assert held.history[0] == Line("user", "What is the code?")
            held.queue.send_text("And the valve?")
            await asyncio.sleep(1)
            assert "output" in held.kinds, "what is asked after it is answered"

    in_virtual_time(run())
