"""The ears with their real models, loaded once: recordings are heard right, and what is no speech is no turn."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncGenerator, Callable
from pathlib import Path

import numpy as np
import pytest
import pytest_asyncio
from ears_recordings import RATE, cough, fan, pcm, quiet, recorded, typing

from voice_gateway.ears.features import Samples
from voice_gateway.ears.local import LocalEars, open_ears
from voice_gateway.ears.port import Heard, SpeechStarted, Tuning, Utterance
from voice_gateway.errors import EarsBusy, ModelMissing

pytestmark = pytest.mark.asyncio(loop_scope="module")

FIRST = "It was the best of times"


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def ears() -> AsyncGenerator[LocalEars]:
    async with open_ears(places=2) as opened:
        assert not opened.ready
        await asyncio.wait_for(opened.wait_ready(), 60)
        assert opened.ready
        yield opened


async def heard_of(
    ears: LocalEars, *sounds: Samples, tuning: Tuning | None = None, words: tuple[str, ...] = ()
) -> list[Heard]:
    """All that is told of some sound; without a tuning, with the default one."""
    listener = ears.listen(tuning or Tuning(), words)
    told: list[Heard] = []

    async def read() -> None:
        async for heard in listener:
            told.append(heard)

    reading = asyncio.create_task(read())
    content = pcm(np.concatenate(sounds))
    for start in range(0, len(content), 96_000):
        listener.hear(content[start : start + 96_000])
        done = asyncio.Event()
        listener.when_heard(done.set)
        await asyncio.wait_for(done.wait(), 60)
    await listener.close()
    await reading
    return told


def utterances(told: list[Heard]) -> str:
    return " | ".join(one.text for one in told if isinstance(one, Utterance))


def best_of_times() -> Samples:
    return recorded("two_cities.wav")[: round(4.7 * RATE)]


async def test_a_recording_is_heard(ears: LocalEars) -> None:
    told = await heard_of(ears, best_of_times(), quiet(2))
    assert FIRST.lower() in utterances(told).lower()
    assert "worst of times" in utterances(told).lower()


@pytest.mark.behaviour("V10")
@pytest.mark.parametrize("cut_s", [1.72, 2.14], ids=["It was the", "It was the best of"])
async def test_a_pause_of_a_second_inside_a_sentence_is_one_turn(ears: LocalEars, cut_s: float) -> None:
    whole, cut = best_of_times(), round(cut_s * RATE)
    told = await heard_of(ears, whole[:cut], quiet(1), whole[cut:], quiet(2))
    assert len([one for one in told if isinstance(one, Utterance)]) == 1, utterances(told)


@pytest.mark.behaviour("V10")
@pytest.mark.parametrize("noise", [quiet, fan, typing, cough])
async def test_what_is_no_speech_is_no_turn(ears: LocalEars, noise: Callable[[float], Samples]) -> None:
    assert utterances(await heard_of(ears, noise(4), quiet(2))) == ""


async def test_speech_in_noise_is_heard(ears: LocalEars) -> None:
    speech = best_of_times()
    told = await heard_of(ears, (speech + fan(4.7)[: speech.size] * 0.2).astype(np.float32), quiet(2))
    assert "best of times" in utterances(told).lower()


async def test_words_of_the_notes_are_written_as_the_notes_do(ears: LocalEars) -> None:
    ears.learn(("WORST-of-TIMES",))
    try:
        assert "the WORST-of-TIMES" in utterances(await heard_of(ears, best_of_times(), quiet(2)))
    finally:
        ears.learn(())


@pytest.mark.behaviour("O7")
async def test_a_session_may_have_words_of_its_own_that_no_other_session_hears(ears: LocalEars) -> None:
    own = utterances(await heard_of(ears, best_of_times(), quiet(2), words=("WORST-of-TIMES",)))
    other = utterances(await heard_of(ears, best_of_times(), quiet(2)))
    assert ("WORST-of-TIMES" in own, "WORST-of-TIMES" in other) == (True, False)


@pytest.mark.behaviour("V7")
async def test_after_the_recogniser_was_killed_the_same_utterance_is_heard(ears: LocalEars) -> None:
    pid = ears.processes[2].pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    told = await heard_of(ears, best_of_times(), quiet(2))
    assert "best of times" in utterances(told).lower()


async def test_there_are_so_many_places(ears: LocalEars) -> None:
    first, second = ears.listen(None), ears.listen(None)
    with pytest.raises(EarsBusy):
        ears.listen(None)
    await first.close()
    third = ears.listen(None)
    await second.close()
    await third.close()


@pytest.mark.behaviour("L9")
async def test_by_hand_the_whole_is_one_utterance(ears: LocalEars) -> None:
    listener = ears.listen(None)
    listener.hear(pcm(best_of_times()))
    listener.commit()
    told: list[Heard] = []
    async for heard in listener:
        told.append(heard)
        if isinstance(heard, Utterance):
            break
    await listener.close()
    assert not any(isinstance(one, SpeechStarted) for one in told)
    assert FIRST.lower() in utterances(told).lower()


async def test_a_folder_without_the_models_stops_the_start(tmp_path: Path) -> None:
    with pytest.raises(ModelMissing, match="silero"):
        async with open_ears(models=tmp_path):
            pass
