"""The queue between mouth and transport, on a clock moved by hand: what is told of it is what was really taken."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from voice_gateway.pacing import LEAD_FRAMES, MAX_LATE_FRAMES, Pacer
from voice_gateway.playout import FRAME_BYTES, MAX_AHEAD_FRAMES, Frame, Playout


class Wire:
    """A playout and what it told."""

    def __init__(self) -> None:
        self.told: list[tuple[str, str]] = []
        self.playout = Playout(self._tell)

    def _tell(self, event: dict[str, Any]) -> None:
        self.told.append((event["type"].removeprefix("output_audio_buffer."), event["response_id"]))

    def take(self, count: int) -> list[bytes | None]:
        frames = [self.playout.take() for _ in range(count)]
        return [frame and frame.pcm for frame in frames]


def sound(frames: float, value: int = 1) -> bytes:
    return bytes([value]) * int(frames * FRAME_BYTES)


def test_sound_of_any_length_comes_out_in_whole_frames_and_the_events_tell_its_first_and_last() -> None:
    wire = Wire()
    speech = wire.playout.open("resp_1", "item_1")
    assert wire.take(1) == [None]
    speech.add(sound(1.5))
    assert wire.take(2) == [sound(1), None]
    assert wire.told == [("started", "resp_1")]
    speech.add(sound(0.75, 2))
    speech.end()
    assert wire.take(2) == [sound(0.5) + sound(0.5, 2), sound(0.25, 2).ljust(FRAME_BYTES, b"\0")]
    assert wire.told == [("started", "resp_1")]
    assert not speech.over.is_set()
    assert wire.take(1) == [None]
    assert wire.told == [("started", "resp_1"), ("stopped", "resp_1")]
    assert speech.over.is_set()
    assert (speech.played_ms, speech.gap_s) == (60, 0.02)


@pytest.mark.behaviour("V5")
def test_there_is_one_voice_and_the_next_speech_begins_when_the_last_has_ended() -> None:
    wire = Wire()
    first, second = wire.playout.open("resp_1", "item_1"), wire.playout.open("resp_2", "item_2")
    second.add(sound(1, 2))
    second.end()
    first.add(sound(1, 1))
    assert wire.take(2) == [sound(1, 1), None]
    first.end()
    assert wire.take(2) == [sound(1, 2), None]
    assert wire.told == [("started", "resp_1"), ("stopped", "resp_1"), ("started", "resp_2"), ("stopped", "resp_2")]


def test_waiting_for_more_sound_is_a_gap_and_waiting_for_the_first_or_the_end_is_none() -> None:
    wire = Wire()
    stopped: list[float] = []
    wire.playout.on_stopped = lambda speech: stopped.append(speech.gap_s)
    speech = wire.playout.open("resp_1", "item_1")
    wire.take(5)
    speech.add(sound(1))
    wire.take(4)
    speech.add(sound(1))
    wire.take(6)
    assert stopped == []
    speech.end()
    wire.take(1)
    assert stopped == [0.06]


@pytest.mark.behaviour("V6")
def test_what_is_held_goes_on_where_it_was() -> None:
    wire = Wire()
    speech = wire.playout.open("resp_1", "item_1")
    speech.add(sound(1, 1) + sound(1, 2))
    speech.end()
    assert wire.take(1) == [sound(1, 1)]
    wire.playout.hold()
    assert wire.take(3) == [None] * 3
    assert list(wire.playout.coming(5)) == []
    wire.playout.release()
    assert wire.take(2) == [sound(1, 2), None]
    assert wire.told == [("started", "resp_1"), ("stopped", "resp_1")]
    assert speech.gap_s == 0


@pytest.mark.behaviour("V6")
def test_what_is_cleared_is_never_played_and_what_comes_late_of_it_neither() -> None:
    wire = Wire()
    first, second = wire.playout.open("resp_1", "item_1"), wire.playout.open("resp_2", "item_2")
    first.add(sound(3))
    wire.take(1)
    second.add(sound(1))
    wire.playout.hold()
    assert wire.playout.clear() == [first, second]
    first.add(sound(1))
    first.end()
    assert wire.take(3) == [None] * 3
    assert wire.told == [("started", "resp_1"), ("cleared", "resp_1"), ("cleared", "resp_2")]
    assert first.over.is_set()
    assert first.played_ms == 20
    assert not wire.playout.held
    assert wire.playout.clear() == []


def test_one_response_is_cleared_and_the_others_are_played() -> None:
    wire = Wire()
    wire.playout.open("resp_1", "item_1").add(sound(2, 1))
    wire.playout.open("resp_2", "item_2").add(sound(1, 2))
    wire.playout.clear("resp_1")
    assert wire.take(1) == [sound(1, 2)]


def test_what_was_played_to_its_end_is_not_cleared_afterwards() -> None:
    wire = Wire()
    speech = wire.playout.open("resp_1", "item_1")
    speech.add(sound(1))
    speech.end()
    wire.take(1)
    assert wire.playout.clear() == []
    assert wire.told == [("started", "resp_1"), ("stopped", "resp_1")]


def test_a_speech_without_a_sound_is_never_told_of() -> None:
    wire = Wire()
    silent, next_one = wire.playout.open("resp_1", "item_1"), wire.playout.open("resp_2", "item_2")
    next_one.add(sound(1))
    silent.end()
    assert silent.over.is_set()
    assert wire.take(1) == [sound(1)]
    assert wire.told == [("started", "resp_2")]


@pytest.mark.behaviour("V11")
@given(st.lists(st.tuples(st.integers(1, 3 * FRAME_BYTES), st.integers(0, 30)), min_size=1), st.integers(0, 100))
def test_what_was_heard_grows_with_what_was_taken_and_is_all_at_the_end(
    pieces: list[tuple[int, int]], takes: int
) -> None:
    wire = Wire()
    speech = wire.playout.open("resp_1", "item_1")
    for length, characters in pieces:
        speech.add(b"\1" * length, characters)
    speech.end()
    heard = [speech.said_by()]
    for _ in range(takes):
        wire.take(1)
        heard.append(speech.said_by())
    assert heard == sorted(heard)
    assert wire.told != [("cleared", "resp_1")]
    while wire.playout.current:
        wire.take(1)
    assert speech.said_by() == sum(characters for _, characters in pieces)


@pytest.mark.behaviour("V11")
def test_of_the_piece_that_plays_the_share_that_was_taken_is_heard() -> None:
    wire = Wire()
    speech = wire.playout.open("resp_1", "item_1")
    speech.add(sound(2), 10)
    speech.add(sound(4), 20)
    wire.take(3)
    assert speech.said_by() == 15
    assert [speech.said_by(ms) for ms in (0, 20, 40, 80, 9999)] == [0, 5, 10, 20, 30]
    assert speech.duration_ms == 120


def test_a_transport_hears_of_frames_as_they_are_added_and_the_ears_as_they_are_taken() -> None:
    wire = Wire()
    added: list[Frame] = []
    taken: list[bytes] = []
    wire.playout.on_added = added.append
    wire.playout.on_taken = taken.append
    speech = wire.playout.open("resp_1", "item_1")
    speech.add(sound(2))
    assert [frame.pcm for frame in added] == [sound(1)] * 2
    added[0].encoded = b"opus"
    frame = wire.playout.take()
    assert frame is not None
    assert frame.encoded == b"opus"
    assert taken == [sound(1)]


async def test_who_is_far_ahead_waits_until_something_was_played_or_cleared() -> None:
    wire = Wire()
    speech = wire.playout.open("resp_1", "item_1")
    speech.add(sound(MAX_AHEAD_FRAMES))
    waiting = asyncio.create_task(speech.room())
    await asyncio.sleep(0)
    assert not waiting.done()
    wire.take(1)
    await waiting
    speech.add(sound(1))
    waiting = asyncio.create_task(speech.room())
    await asyncio.sleep(0)
    wire.playout.clear()
    await waiting


class Clock:
    """Time moved by hand, in seconds."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_the_pacer_sends_a_small_lead_and_then_a_frame_for_every_20_ms() -> None:
    wire, clock = Wire(), Clock()
    sent: list[int] = []

    def send(frames: Sequence[Frame]) -> None:
        sent.append(len(frames))

    pacer = Pacer(wire.playout, send, clock)
    speech = wire.playout.open("resp_1", "item_1")
    speech.add(sound(LEAD_FRAMES + 3))
    speech.end()
    for _ in range(LEAD_FRAMES + 3):
        clock.now += 0.0201
        pacer.tick()
    assert sent == [LEAD_FRAMES + 1, 1, 1]
    assert speech.delivered.is_set()
    assert not speech.over.is_set()
    clock.now += 0.0201
    pacer.tick()
    assert wire.told == [("started", "resp_1"), ("stopped", "resp_1")]


def test_a_clock_that_stood_still_plays_no_more_than_a_little_at_once() -> None:
    wire, clock = Wire(), Clock()
    pacer = Pacer(wire.playout, lambda _: None, clock)
    speech = wire.playout.open("resp_1", "item_1")
    speech.add(sound(500))
    clock.now = 5.0
    pacer.tick()
    assert speech.played_ms == MAX_LATE_FRAMES * 20
    pacer.tick()
    assert speech.played_ms == MAX_LATE_FRAMES * 20
