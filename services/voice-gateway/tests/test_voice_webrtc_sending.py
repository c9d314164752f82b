"""A packet for every 20 ms, silence where nothing is said, and no burst after a stall."""

from __future__ import annotations

from typing import Any

import av
import pytest
from aiortc.mediastreams import MediaStreamError
from voice_caller import tone

from voice_gateway.playout import Frame, Playout
from voice_gateway.transports.webrtc.opus import FRAME_TICKS, SILENCE
from voice_gateway.transports.webrtc.sending import ENCODING_SLOTS, VoiceTrack


class Run:
    """A track on a clock of its own; ``stall`` is how much longer the next sleep takes."""

    def __init__(self) -> None:
        self.now, self.stall = 100.0, 0.0
        self.frames: list[Frame] = []
        self.passed: list[tuple[float, int]] = []
        self.events: list[str] = []
        self.playout = Playout(lambda event: self.events.append(event["type"]))
        self.playout.on_added = self.frames.append
        self.track = VoiceTrack(
            self.playout, lambda now, ticks: self.passed.append((now, ticks)), clock=lambda: self.now, sleep=self.sleep
        )

    async def sleep(self, seconds: float) -> None:
        self.now += seconds + self.stall
        self.stall = 0.0

    def say(self, frames: int) -> None:
        speech = self.playout.open(f"resp_{len(self.frames)}", "item_1")
        first = len(self.frames)
        speech.add(tone(frames * 0.02))
        speech.end()
        for number, frame in enumerate(self.frames[first:]):
            frame.encoded = b"frame %d" % number

    async def sent(self, count: int) -> list[tuple[int, bytes]]:
        """The next packets: their place, and what is in them."""
        packets: list[av.Packet[Any]] = [await self.track.recv() for _ in range(count)]
        return [(packet.pts // FRAME_TICKS if packet.pts is not None else -1, bytes(packet)) for packet in packets]


async def test_silence_is_sent_without_a_stop() -> None:
    run = Run()
    assert await run.sent(3) == [(0, SILENCE), (1, SILENCE), (2, SILENCE)]
    assert run.now == pytest.approx(100.04)
    assert run.events == []


async def test_speech_takes_the_places_of_silence() -> None:
    run = Run()
    await run.sent(1)
    run.say(2)
    assert await run.sent(4) == [(1, b"frame 0"), (2, b"frame 1"), (3, SILENCE), (4, SILENCE)]
    assert run.events == ["output_audio_buffer.started", "output_audio_buffer.stopped"]


async def test_after_a_stall_the_missed_places_stay_empty_and_no_word_is_lost() -> None:
    run = Run()
    run.say(4)
    await run.sent(1)
    run.stall = 0.2
    assert await run.sent(4) == [(11, b"frame 1"), (12, b"frame 2"), (13, b"frame 3"), (14, SILENCE)]
    assert run.track.skipped == 10
    assert [ticks for _, ticks in run.passed] == [FRAME_TICKS, 11 * FRAME_TICKS, *[FRAME_TICKS] * 3]


async def test_a_small_delay_is_made_up_for() -> None:
    run = Run()
    await run.sent(1)
    run.stall = 0.03
    assert [place for place, _ in await run.sent(4)] == [1, 2, 3, 4]
    assert (run.now, run.track.skipped) == (pytest.approx(100.08), 0)


async def test_a_frame_that_is_still_being_encoded_is_waited_for_within_a_bound() -> None:
    run = Run()
    run.say(2)
    run.frames[0].encoded = None
    assert [sound for _, sound in await run.sent(3)] == [SILENCE] * 3
    assert run.events == []
    run.frames[0].encoded = b"late"
    assert [sound for _, sound in await run.sent(2)] == [b"late", b"frame 1"]
    run.say(1)
    run.frames[-1].encoded = None
    assert [sound for _, sound in await run.sent(ENCODING_SLOTS + 2)] == [SILENCE] * (ENCODING_SLOTS + 2)
    assert run.events[-1] == "output_audio_buffer.stopped"


async def test_a_held_voice_is_silent_and_goes_on_where_it_was() -> None:
    run = Run()
    run.say(3)
    await run.sent(1)
    run.playout.hold()
    assert [sound for _, sound in await run.sent(2)] == [SILENCE] * 2
    run.playout.release()
    assert [sound for _, sound in await run.sent(2)] == [b"frame 1", b"frame 2"]


async def test_a_track_that_was_stopped_gives_no_more() -> None:
    run = Run()
    run.track.stop()
    with pytest.raises(MediaStreamError):
        await run.track.recv()
