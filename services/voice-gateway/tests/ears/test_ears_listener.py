"""A listener over scripted senses: what it tells of sound, whatever is done to it."""

from __future__ import annotations

import asyncio

import pytest
from ears_fakes import FakeSenses, done_with, hear, silence, sound

from voice_gateway.ears.listener import MOST_WAITING_BYTES, LocalListener
from voice_gateway.ears.port import Dismissed, Failed, Heard, PerhapsOver, SpeechStarted, Tuning, Utterance, Words

PLAIN = Tuning(adaptive=False)


def kinds(told: list[Heard]) -> list[type[Heard]]:
    """What was told, without the words so far, which come when there is time."""
    return [type(one) for one in told if not isinstance(one, Words)]


async def test_a_sentence_is_one_utterance() -> None:
    told = await hear(silence(640), sound(640), silence(1600))
    assert kinds(told) == [SpeechStarted, PerhapsOver, Utterance]
    assert told[0] == SpeechStarted(640 - 320)
    assert told[-1] == Utterance("Words of 20 windows.", 320, 1280)


async def test_the_words_are_made_in_the_pause_and_only_once() -> None:
    senses = FakeSenses()
    await hear(sound(640), silence(1600), senses=senses)
    assert len(senses.asked) == 1


@pytest.mark.behaviour("V10")
async def test_a_pause_of_a_second_inside_a_sentence_is_one_turn() -> None:
    senses = FakeSenses(say=lambda voiced: "What is the code of" if voiced < 30 else "What is the code of the valve?")
    told = await hear(sound(640), silence(1024), sound(640), silence(1600), senses=senses)
    assert [one.text for one in told if isinstance(one, Utterance)] == ["What is the code of the valve?"]


async def test_a_plain_vad_cuts_it() -> None:
    told = await hear(sound(640), silence(1024), sound(640), silence(1600), tuning=PLAIN)
    assert len([one for one in told if isinstance(one, Utterance)]) == 2


@pytest.mark.behaviour("V10")
@pytest.mark.parametrize("text", ["", "...", "You"])
async def test_a_noise_is_dismissed_soon(text: str) -> None:
    told = await hear(sound(192), silence(1600), senses=FakeSenses(say=lambda _: text, over=lambda _: 0.0))
    assert isinstance(told[-1], Dismissed)
    assert told[-1].reason == "noise"
    assert not any(isinstance(one, Utterance | PerhapsOver) for one in told)


@pytest.mark.behaviour("V10")
async def test_a_backchannel_is_told_as_one_and_is_no_guess() -> None:
    told = await hear(sound(384), silence(600), senses=FakeSenses(say=lambda _: "Mm-hmm."))
    assert told[-1] == Utterance("Mm-hmm.", 0, 384, backchannel=True)
    assert not any(isinstance(one, PerhapsOver) for one in told)


@pytest.mark.behaviour("V10")
async def test_our_own_voice_coming_back_starts_nothing() -> None:
    assert await hear(lambda it: it.playing(sound(960)), sound(960), silence(1600)) == []


async def test_sound_of_any_length_is_heard() -> None:
    listener = LocalListener(FakeSenses(), Tuning(), lambda: None)
    whole = silence(640) + sound(640) + silence(1600)
    for start in range(0, len(whole), 777):
        listener.hear(whole[start : start + 777])
    listener.hear(b"")
    told = aiter(listener)
    assert await anext(told) == SpeechStarted(320)
    await listener.close()


async def test_sound_past_the_bound_is_dropped() -> None:
    senses = FakeSenses(hold=asyncio.Event())
    listener = LocalListener(senses, Tuning(), lambda: None)
    listener.hear(bytes(2 * MOST_WAITING_BYTES))
    assert listener.waiting_bytes == MOST_WAITING_BYTES
    await done_with(listener)
    assert listener.waiting_bytes == 0
    await listener.close()


async def test_speech_goes_on_being_heard_while_words_are_made() -> None:
    senses = FakeSenses(hold=asyncio.Event())
    listener = LocalListener(senses, Tuning(), lambda: None)
    listener.hear(sound(1600))
    assert isinstance(await anext(aiter(listener)), SpeechStarted)
    await listener.close()


@pytest.mark.behaviour("V7")
async def test_a_recogniser_that_dies_once_is_asked_again() -> None:
    told = await hear(sound(640), silence(1600), senses=FakeSenses(dies=1))
    assert isinstance(told[-1], Utterance)


@pytest.mark.behaviour("V7")
async def test_an_utterance_that_cannot_be_heard_fails_and_the_next_is_heard() -> None:
    told = await hear(sound(640), silence(1600), sound(640), silence(1600), senses=FakeSenses(dies=3))
    ends = [one for one in told if isinstance(one, Failed | Utterance)]
    assert [type(one) for one in ends] == [Failed, Utterance]


async def test_deaf_for_a_moment_fails_the_turn_and_the_next_is_heard() -> None:
    senses = FakeSenses()

    def deafen(_: LocalListener) -> None:
        senses.deaf = 1

    listener = LocalListener(senses, Tuning(), lambda: None)
    told = aiter(listener)
    listener.hear(sound(640))
    assert isinstance(await anext(told), SpeechStarted)
    await done_with(listener)
    deafen(listener)
    listener.hear(silence(320))
    listener.hear(sound(640) + silence(1600))
    rest: list[Heard] = []
    while not any(isinstance(one, Utterance) for one in rest):
        rest.append(await anext(told))
    assert kinds(rest) == [Failed, SpeechStarted, PerhapsOver, Utterance]
    await listener.close()


@pytest.mark.behaviour("L9")
async def test_by_hand_a_turn_is_what_lies_between_commits() -> None:
    told = await hear(
        sound(640),
        silence(1600),
        LocalListener.commit,
        sound(320),
        LocalListener.commit,
        LocalListener.commit,
        tuning=None,
    )
    ends = [one for one in told if not isinstance(one, Words)]
    assert ends == [
        Utterance("Words of 20 windows.", 0, 2240),
        Utterance("Words of 10 windows.", 2240, 2560),
        Dismissed(2560, "noise"),
    ]


@pytest.mark.behaviour("L9")
async def test_by_hand_what_was_cleared_is_not_heard() -> None:
    told = await hear(sound(640), LocalListener.clear, sound(320), LocalListener.commit, tuning=None)
    assert [one.text for one in told if isinstance(one, Utterance)] == ["Words of 10 windows."]


async def test_a_commit_ends_a_turn_that_was_found() -> None:
    told = await hear(sound(640), LocalListener.commit, silence(1600))
    assert kinds(told) == [SpeechStarted, Utterance]


async def test_tuning_by_hand_in_a_turn_ends_it() -> None:
    told = await hear(sound(640), lambda it: it.tune(None), sound(320), LocalListener.commit)
    assert kinds(told) == [SpeechStarted, Dismissed, Utterance]


async def test_tuning_to_the_same_changes_nothing() -> None:
    told = await hear(sound(320), lambda it: it.tune(Tuning()), sound(320), silence(1600))
    assert told[-1] == Utterance("Words of 20 windows.", 0, 640)


async def test_a_long_speech_is_heard_in_pieces_and_nothing_of_it_much_more_than_three_times() -> None:
    senses = FakeSenses(say=lambda voiced: "so " * voiced + "it is", over=lambda _: 0.0)
    told = await hear(*[sound(4000), silence(320)] * 10, silence(1600), senses=senses)
    (utterance,) = [one for one in told if isinstance(one, Utterance)]
    assert utterance.text.count("so") == 10 * 125
    assert max(senses.asked + senses.guesses) * 32 < 20_000
    assert sum(senses.asked) <= 2 * 45_000 / 32


async def test_speech_without_a_pause_is_cut_before_twenty_seconds() -> None:
    senses = FakeSenses(say=lambda voiced: "so " * voiced + "it is", over=lambda _: 0.9)
    told = await hear(sound(40_000), silence(1600), senses=senses)
    (utterance,) = [one for one in told if isinstance(one, Utterance)]
    assert utterance.text.count("so") == 40_000 // 32
    assert max(senses.asked + senses.guesses) * 32 < 20_000


async def test_closing_lets_go_of_everything() -> None:
    left = asyncio.Event()
    senses = FakeSenses(hold=asyncio.Event())
    listener = LocalListener(senses, Tuning(), left.set)
    listener.hear(sound(640) + silence(320))
    await asyncio.sleep(0)
    before = asyncio.all_tasks()
    await listener.close()
    await listener.close()
    assert left.is_set()
    assert senses.closed
    assert [one async for one in listener][-1:] in ([], [SpeechStarted(0)])
    await asyncio.gather(*(before - {asyncio.current_task()}), return_exceptions=True)
