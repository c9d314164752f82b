"""Packets of the person's sound are put in order, and silence fills what is missing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from voice_caller import tone
from voice_fakes import until

from voice_gateway.playout import FRAME_BYTES, Frame, Playout
from voice_gateway.transports.webrtc.hearing import MAX_GAP_TICKS, QUIET_S, Arrivals
from voice_gateway.transports.webrtc.opus import FRAME_TICKS, SILENCE, Decoder, Encoder, OpusThread, duration


@dataclass
class Ear:
    """What came, in order: the last byte of a packet, or minus the milliseconds of a silence."""

    heard: list[int] = field(default_factory=list[int])

    def feed(self, payload: bytes) -> None:
        self.heard.append(payload[-1])

    def silence(self, samples: int) -> None:
        self.heard.append(-samples // 48)


@dataclass
class Packet:
    sequence_number: int
    timestamp: int
    payload: bytes


def packet(number: int, *, first: int = 0, timestamp: int | None = None) -> Packet:
    at = number * FRAME_TICKS if timestamp is None else timestamp
    return Packet((first + number) & 0xFFFF, at & 0xFFFFFFFF, SILENCE[:1] + bytes([number & 0xFF]))


def heard(numbers: Sequence[int], first: int = 0) -> list[int]:
    ear = Ear()
    arrivals = Arrivals(ear)
    for number in numbers:
        assert arrivals.add(packet(number, first=first)) == (False, None)
    return ear.heard


def test_packets_in_order_are_heard_at_once() -> None:
    assert heard(range(5)) == [0, 1, 2, 3, 4]


def test_the_count_may_go_past_its_end() -> None:
    assert heard(range(200), first=0xFFF0) == list(range(200))


def test_a_pair_that_changed_places_is_put_right() -> None:
    assert heard([0, 2, 1, 3]) == [0, 1, 2, 3]


def test_a_packet_that_is_lost_is_silence_once_three_later_ones_are_there() -> None:
    assert heard([0, 2, 3]) == [0]
    assert heard([0, 2, 3, 4, 5]) == [0, -20, 2, 3, 4, 5]


def test_a_packet_that_comes_after_its_place_is_left_out() -> None:
    assert heard([0, 2, 3, 4, 1, 5]) == [0, -20, 2, 3, 4, 5]
    assert heard([0, 1, 1, 2]) == [0, 1, 2]


def test_a_sender_that_starts_over_is_heard_from_there() -> None:
    assert heard([0, 1, 1000, 1001]) == [0, 1, 1000 & 0xFF, 1001 & 0xFF]


@given(st.permutations(range(3)), st.integers(0, 0xFFFF))
def test_any_three_packets_behind_the_first_are_heard_in_order(order: list[int], first: int) -> None:
    assert heard([0, *(1 + number for number in order), 4, 5, 6], first) == [0, 1, 2, 3, 4, 5, 6]


def test_a_pause_in_what_is_sent_is_silence_of_its_length_within_a_bound() -> None:
    ear = Ear()
    arrivals = Arrivals(ear)
    arrivals.add(packet(0))
    arrivals.add(packet(1, timestamp=FRAME_TICKS * 11))
    arrivals.add(packet(2, timestamp=FRAME_TICKS * 10_000))
    assert ear.heard == [0, -200, 1, -MAX_GAP_TICKS // 48, 2]


def test_while_nothing_comes_silence_goes_by_as_time_does() -> None:
    ear = Ear()
    arrivals = Arrivals(ear)
    arrivals.passed(0.0)
    assert ear.heard == []
    arrivals.add(packet(0))
    arrivals.passed(1.0)
    arrivals.passed(1.0 + QUIET_S / 2)
    assert ear.heard == [0]
    for slot in range(3):
        arrivals.passed(1.01 + QUIET_S + slot * 0.02)
    assert ear.heard == [0, -20, -20, -20]
    # What was held up in the network is heard all the same, and no silence stands before it twice.
    arrivals.add(packet(1))
    arrivals.add(packet(2))
    assert ear.heard == [0, -20, -20, -20, 1, 2]


@pytest.mark.parametrize(
    ("payload", "ticks"),
    [
        ("d8fffe", 960),
        ("60", 480),
        ("0b00", 0),
        ("78", 960),
        ("68", 960),
        ("0a00", 1920),
        ("0b03", 2880),
        ("ff3f", 5760),
    ],
)
def test_a_packet_says_how_long_it_is(payload: str, ticks: int) -> None:
    assert duration(bytes.fromhex(payload)) == ticks


async def test_sound_comes_out_as_it_went_in() -> None:
    thread = OpusThread()
    frames: list[Frame] = []
    pcm = bytearray()
    playout = Playout(lambda _event: None)
    playout.on_added = frames.append
    speech = playout.open("resp_1", "item_1")
    speech.add(tone(1.0))
    encoder, decoder = Encoder(thread), Decoder(thread, pcm.extend)
    for frame in frames:
        encoder.ahead(frame)
    await until(lambda: all(frame.encoded for frame in frames))
    for frame in frames:
        assert frame.encoded is not None
        assert (duration(frame.encoded), frame.encoded[0]) == (FRAME_TICKS, SILENCE[0])
        decoder.feed(frame.encoded)
    decoder.feed(b"\xff\xff\xff")
    decoder.silence(FRAME_TICKS)
    await until(lambda: len(pcm) >= 51 * FRAME_BYTES)
    sound = np.frombuffer(bytes(pcm[2400:-2400]), dtype="<i2").astype(float)
    loudest = np.abs(np.fft.rfft(sound)).argmax() * 24_000 / sound.size
    assert abs(loudest - 440) < 2
    assert 4000 < np.sqrt((sound**2).mean()) < 7000
    thread.stop()


async def test_frames_that_nobody_will_hear_are_not_encoded() -> None:
    thread = OpusThread()
    thread.do(lambda: False)
    frames: list[Frame] = []
    playout = Playout(lambda _event: None)
    playout.on_added = frames.append
    playout.open("resp_1", "item_1").add(tone(0.1))
    playout.clear()
    encoder = Encoder(thread)
    for frame in frames:
        encoder.ahead(frame)
    thread.stop()
    assert [frame.encoded for frame in frames] == [None] * 5


def test_a_step_that_fails_leaves_the_thread_to_the_others() -> None:
    thread = OpusThread()
    done: list[int] = []

    def fails() -> bool:
        raise ValueError("no sound")

    def works() -> bool:
        done.append(1)
        return len(done) < 3

    thread.do(fails)
    thread.do(works)
    thread.do(lambda: False)
    while len(done) < 3:
        pass
    thread.stop()
    assert done == [1, 1, 1]
