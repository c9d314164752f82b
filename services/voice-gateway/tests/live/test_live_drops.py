"""A call of ten minutes whose provider is lost a hundred times (L3, L6)."""

from __future__ import annotations

import asyncio
import random
from collections import Counter

import pytest
from live_fakes import Diary, Reader, Stored, Tools, reading
from live_simulated import FRAME_S, SPEECH_FRAMES, SimulatedProvider, frame, words
from virtual_time import in_virtual_time

from contracts.vocabulary import JsonObject
from voice_gateway.live.config import RealtimeConfig
from voice_gateway.live.events import Failure, Interrupted, OutputTranscript, Reconnected, ToolCall, TurnComplete
from voice_gateway.live.input_queue import InputQueue
from voice_gateway.live.runner import LiveSession

CALL_S = 600.0
DROPS = 100
EVERY_S = 10.0
QUESTIONS = int(CALL_S / EVERY_S)


async def look(args: JsonObject) -> JsonObject:
    await asyncio.sleep(0.5)
    return {"seen": args["question"]}


async def speak(queue: InputQueue) -> None:
    """A question every ten seconds, and silence between, frame by frame as a microphone gives them."""
    loop = asyncio.get_running_loop()
    began, sent = loop.time(), 0
    while sent * FRAME_S < CALL_S:
        question, place = divmod(sent, int(EVERY_S / FRAME_S))
        assert queue.send_audio(frame(question + 1 if place < SPEECH_FRAMES else 0), 24_000)
        sent += 1
        await asyncio.sleep(began + sent * FRAME_S - loop.time())


async def lose(provider: SimulatedProvider, seed: int) -> None:
    """Lose the connection at random."""
    chance, loop = random.Random(seed), asyncio.get_running_loop()
    for moment in sorted(chance.uniform(0.5, CALL_S - 1) for _ in range(DROPS)):
        await asyncio.sleep(max(0.0, moment - loop.time()))
        provider.drop()


@pytest.mark.behaviour("L3", "L5", "L6")
@pytest.mark.parametrize("resumes", [False, True])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_hundred_drops_lose_no_question_and_say_nothing_twice(seed: int, resumes: bool) -> None:
    async def scene() -> tuple[SimulatedProvider, Reader, Diary, Stored]:
        provider, queue, diary, stored = SimulatedProvider(resumes=resumes), InputQueue(), Diary(), Stored()
        session = LiveSession(
            provider, RealtimeConfig(), queue=queue, tools=Tools(look=look), hooks=[diary], transcripts=stored
        )
        async with reading(session.events(), patience_s=2 * CALL_S) as reader:
            losing = asyncio.create_task(lose(provider, seed))
            await speak(queue)
            queue.close()
            await reader.end()
            await losing
        assert len(asyncio.all_tasks()) == 1, "nothing of a session outlives it"
        return provider, reader, diary, stored

    provider, reader, diary, stored = in_virtual_time(scene())

    assert provider.drops == DROPS
    assert provider.wrong == []
    assert provider.resumed > DROPS / 2 or not resumes
    assert not [failure for failure in reader.all(Failure) if failure.fatal]
    assert len(reader.all(Reconnected)) > DROPS / 2

    asked = [text for _, role, text in stored.lines if role == "user"]
    assert asked == [f"question {number}" for number in range(1, QUESTIONS + 1)], "each question once, in order"

    spoken = [event.text.strip() for event in reader.all(OutputTranscript)]
    assert not [word for word, times in Counter(spoken).items() if times > 1], "nothing is said twice"
    cut = [n for n in range(1, QUESTIONS + 1) if len(said := [w for w in spoken if w in words(n)]) < len(words(n))]
    for number in range(1, QUESTIONS + 1):
        said = [word for word in spoken if word in words(number)]
        assert said == words(number)[: len(said)], "an answer goes on where it broke off"
    assert len(cut) <= len(reader.all(Interrupted)), "an answer is whole unless somebody spoke over it"
    assert reader.all(ToolCall)
    assert len(reader.all(TurnComplete)) + len(reader.all(Interrupted)) >= QUESTIONS

    starts = [entry for entry in diary.entries if entry.startswith("turn")]
    assert diary.entries == [
        "session",
        *(entry for n in range(1, len(starts) + 1) for entry in (f"turn {n}", f"end {n}")),
        f"closed after {len(starts)}",
    ]
