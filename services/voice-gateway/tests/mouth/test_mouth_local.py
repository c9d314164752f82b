"""The mouth's end in the gateway, over a process whose model is a toy."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, asynccontextmanager
from pathlib import Path

import pytest

from voice_gateway.errors import MouthBusy, MouthFailed
from voice_gateway.mouth.local import LocalMouth
from voice_gateway.mouth.port import Manner, Spoken
from voice_gateway.processes import open_process

HEART = Manner("heart")


class Rig:
    """A mouth and what its model was asked."""

    def __init__(self, mouth: LocalMouth, log: Path) -> None:
        self.mouth = mouth
        self._log = log

    @property
    def asked(self) -> list[str]:
        return self._log.read_text().splitlines() if self._log.exists() else []

    async def said(self, text: str, manner: Manner = HEART) -> list[Spoken]:
        return [piece async for piece in self.mouth.speak(text, manner)]


@asynccontextmanager
async def rig(folder: Path, *, places: int = 8, kept_s: float = 20) -> AsyncGenerator[Rig]:
    log = folder / "asked"
    here = {"PYTHONPATH": str(Path(__file__).parent)}
    async with open_process("mouth", "toy_speaker:make", {"log": str(log)}, places=places, environment=here) as process:
        mouth = LocalMouth(process, ("heart", "michael"), at_once=2, kept_s=kept_s)
        await mouth.wait_ready()
        yield Rig(mouth, log)
        mouth.close()


async def until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not true():  # noqa: ASYNC110 - a process elsewhere cannot set an event
            await asyncio.sleep(0.01)


async def test_a_text_is_spoken_piece_by_piece(tmp_path: Path) -> None:
    async with rig(tmp_path) as here:
        assert here.mouth.ready
        assert [piece.text for piece in await here.said("one two three")] == ["one ", "two ", "three "]
        assert here.asked == ["one two three|heart|1.0|hurried"]


async def test_the_first_piece_is_given_before_the_second_is_made(tmp_path: Path) -> None:
    async with rig(tmp_path) as here, aclosing(here.mouth.speak("one die", HEART)) as pieces:
        assert (await anext(pieces)).text == "one "


async def test_what_was_prepared_is_not_made_again(tmp_path: Path) -> None:
    async with rig(tmp_path) as here:
        here.mouth.prepare("one two", HEART)
        here.mouth.prepare("one two", HEART)
        await until(lambda: len(here.asked) == 1)
        assert [piece.text for piece in await here.said("one two")] == ["one ", "two "]
        assert len(here.asked) == 1
        await here.said("one two")
        assert len(here.asked) == 2


async def test_another_voice_or_speed_is_another_speech(tmp_path: Path) -> None:
    async with rig(tmp_path) as here:
        here.mouth.prepare("one", HEART)
        await here.said("one", Manner("michael", 1.5))
        assert "one|michael|1.5|hurried" in here.asked


async def test_a_speed_or_a_voice_that_there_is_not_becomes_the_nearest(tmp_path: Path) -> None:
    async with rig(tmp_path) as here:
        await here.said("one", Manner("nobody", 9.0))
        assert here.asked == ["one|heart|2.0|hurried"]


async def test_what_is_spoken_goes_before_what_is_only_a_guess(tmp_path: Path) -> None:
    async with rig(tmp_path) as here:
        here.mouth.prepare("slow slow slow slow slow slow slow slow", HEART)
        await until(lambda: len(here.asked) == 1)
        real = await here.said("real words")
        assert [piece.text for piece in real] == ["real ", "words "]


async def test_while_something_is_spoken_the_next_is_prepared_at_ease(tmp_path: Path) -> None:
    async with rig(tmp_path) as here, aclosing(here.mouth.speak("one two", HEART)) as pieces:
        await anext(pieces)
        here.mouth.prepare("next", HEART)
        await until(lambda: "next|heart|1.0|at ease" in here.asked)


async def test_what_is_being_spoken_is_not_prepared_beside_it(tmp_path: Path) -> None:
    async with rig(tmp_path) as here:
        async with aclosing(here.mouth.speak("one two", HEART)) as pieces:
            await anext(pieces)
            here.mouth.prepare("one two", HEART)
            async for _ in pieces:
                pass
        await here.said("other")
        assert here.asked == ["one two|heart|1.0|hurried", "other|heart|1.0|hurried"]


async def test_what_is_not_wanted_any_more_is_made_anew_when_it_is_wanted_after_all(tmp_path: Path) -> None:
    async with rig(tmp_path) as here:
        here.mouth.prepare("one", HEART)
        await until(lambda: len(here.asked) == 1)
        here.mouth.forget("one", HEART)
        here.mouth.forget("never prepared", HEART)
        await here.said("one")
        assert len(here.asked) == 2


async def test_newer_guesses_take_the_place_of_older_ones(tmp_path: Path) -> None:
    async with rig(tmp_path, places=3) as here:
        for number in range(6):
            here.mouth.prepare(f"slow {number}", HEART)
        assert [piece.text for piece in await here.said("now")] == ["now "]


async def test_a_guess_is_forgotten_after_a_while(tmp_path: Path) -> None:
    async with rig(tmp_path, kept_s=0.05) as here:
        here.mouth.prepare("one", HEART)
        await until(lambda: len(here.asked) == 1)
        await asyncio.sleep(0.1)
        await here.said("one")
        assert len(here.asked) == 2


async def test_what_comes_behind_a_long_speech_is_kept_until_it_ends(tmp_path: Path) -> None:
    async with rig(tmp_path, kept_s=0.05) as here:
        async with aclosing(here.mouth.speak("one two", HEART)) as pieces:
            await anext(pieces)
            here.mouth.prepare("next", HEART)
            await until(lambda: len(here.asked) == 2)
            await asyncio.sleep(0.2)
        await here.said("next")
        assert len(here.asked) == 2


async def test_closing_the_speech_stops_the_work_and_frees_its_place(tmp_path: Path) -> None:
    async with rig(tmp_path, places=1) as here:
        async with aclosing(here.mouth.speak("one slow slow slow slow", HEART)) as pieces:
            await anext(pieces)
            with pytest.raises(MouthBusy):
                await here.said("two")
        assert [piece.text for piece in await here.said("three")] == ["three "]


async def test_it_is_saturated_while_as_many_are_in_work_as_can_be_without_a_gap(tmp_path: Path) -> None:
    long = "slow " * 12
    async with rig(tmp_path) as here:
        first, second = here.mouth.speak(f"a {long}", HEART), here.mouth.speak(f"b {long}", HEART)
        async with aclosing(first), aclosing(second):
            await anext(first)
            assert not here.mouth.saturated
            await anext(second)
            assert here.mouth.saturated
        assert not here.mouth.saturated


async def test_what_is_made_and_only_plays_keeps_nobody_away(tmp_path: Path) -> None:
    async with rig(tmp_path) as here:
        first, second = here.mouth.speak("a b", HEART), here.mouth.speak("c d", HEART)
        async with aclosing(first), aclosing(second):
            await anext(first)
            await anext(second)
            await until(lambda: not here.mouth.saturated)


async def test_a_text_that_the_model_refuses_fails_and_the_next_is_spoken(tmp_path: Path) -> None:
    async with rig(tmp_path) as here:
        with pytest.raises(MouthFailed):
            await here.said("refuse")
        assert [piece.text for piece in await here.said("two")] == ["two "]


async def test_a_model_that_dies_before_the_first_piece_is_asked_once_more(tmp_path: Path) -> None:
    async with rig(tmp_path) as here:
        assert [piece.text for piece in await here.said("die well")] == ["die ", "well "]


async def test_a_model_that_dies_within_a_phrase_fails_it_and_speaks_the_next(tmp_path: Path) -> None:
    async with rig(tmp_path) as here:
        with pytest.raises(MouthFailed):
            await here.said("one die")
        assert [piece.text for piece in await here.said("two")] == ["two "]


async def test_what_is_too_long_to_speak_stands_in_the_text_without_sound(tmp_path: Path) -> None:
    text = "word " * 4_001
    async with rig(tmp_path) as here:
        *spoken, last = await here.said(text)
        assert "".join(piece.text for piece in (*spoken, last)) == text
        assert last.pcm == b""
