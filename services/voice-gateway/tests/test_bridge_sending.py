"""What leaves over the bridge, and when: sound in real time, its words beside it, everything else at once."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from typing import Any

import pytest

from voice_gateway.live.events import (
    AudioDelta,
    InputTranscript,
    Interrupted,
    OutputTranscript,
    RealtimeEvent,
    ResponseEnded,
    ResponseStarted,
    SpeechDismissed,
    SpeechStarted,
    SpeechStopped,
    TurnComplete,
    TurnStarted,
)
from voice_gateway.outbox import NORMAL, TOO_SLOW
from voice_gateway.transports.bridge.sending import BYTES_A_S, MOST_WAITING_BYTES, Downstream

pytestmark = pytest.mark.behaviour("L8")

SECOND = b"\1\2" * (BYTES_A_S // 2)


@dataclass
class Line:
    """A downstream whose time passes by hand, and what has left of it."""

    now: float = 100.0
    left: list[Any] = field(default_factory=list[Any])

    def __post_init__(self) -> None:
        self.down = Downstream(4_194_304, lambda: self.now)
        self._reading = asyncio.create_task(self._read())

    async def _read(self) -> None:
        async for message in self.down:
            self.left.append(message)

    async def put(self, *events: RealtimeEvent) -> list[Any]:
        """Put them in; gives what leaves at once."""
        for event in events:
            self.down.put(event)
        return await self.taken()

    async def taken(self) -> list[Any]:
        """What has left since it was last asked for: names of events, and sound joined."""
        for _ in range(200):
            await asyncio.sleep(0)
        left: list[Any] = []
        for message in self.left:
            if isinstance(message, str):
                left.append(json.loads(message)["type"])
            elif left and isinstance(left[-1], int):
                left[-1] += len(message) * 1000 // BYTES_A_S
            else:
                left.append(len(message) * 1000 // BYTES_A_S)
        self.left.clear()
        return left

    async def passes(self, seconds: float) -> list[Any]:
        """Let time pass, in steps of 20 ms; gives what leaves in it."""
        for _ in range(round(seconds / 0.02)):
            self.now += 0.02
            self.down.look()  # the clock of the event loop is another one
            for _ in range(4):
                await asyncio.sleep(0)
        return await self.taken()

    async def end(self) -> None:
        """Close it, and wait until everything has left."""
        self.down.close(NORMAL)
        async with asyncio.timeout(5):
            await self._reading

    async def end_at_once(self) -> None:
        """Close it, and let nothing that waits leave."""
        self.down.silence()
        await self.end()


START, END = ResponseStarted(response_id="r"), ResponseEnded(response_id="r")


async def test_sound_leaves_in_real_time_a_little_ahead_and_its_words_beside_it() -> None:
    line = Line()
    first = await line.put(
        START,
        OutputTranscript(text="One."),
        AudioDelta(data=SECOND),
        OutputTranscript(text="Two."),
        AudioDelta(data=SECOND),
        END,
    )
    assert first[:2] == ["response_started", "output_transcript"]
    assert 200 <= first[2] <= 280
    assert await line.passes(0.5) == [pytest.approx(500, abs=60)]
    middle = await line.passes(0.5)
    assert middle[1] == "output_transcript"
    rest = await line.passes(1)
    assert rest[-1] == "response_ended"
    await line.end()


async def test_what_the_person_does_and_says_passes_by_the_sound_that_waits() -> None:
    line = Line()
    await line.put(START, AudioDelta(data=SECOND * 5))
    assert await line.put(InputTranscript(text="And")) == ["input_transcript"]
    await line.end_at_once()


async def test_sound_that_comes_after_a_pause_is_not_hurried() -> None:
    line = Line()
    await line.put(START, AudioDelta(data=SECOND))
    await line.passes(10)
    now = await line.put(AudioDelta(data=SECOND))
    assert now[0] <= 280
    await line.end_at_once()


async def test_an_interruption_takes_back_the_sound_and_its_words_and_nothing_else() -> None:
    line = Line()
    await line.put(START, AudioDelta(data=SECOND * 5), OutputTranscript(text="never said"), END, TurnComplete(turn=1))
    assert await line.put(Interrupted()) == ["response_ended", "turn_complete", "interrupted"]
    assert await line.passes(6) == []
    assert not line.down.speaking
    await line.end()


async def test_an_interruption_is_told_once_and_the_next_one_again() -> None:
    line = Line()
    assert await line.put(Interrupted()) == ["interrupted"]
    assert await line.put(Interrupted()) == []
    await line.put(START, AudioDelta(data=SECOND))
    assert await line.put(Interrupted(), Interrupted()) == ["interrupted"]
    line.down.hush()
    assert await line.put(Interrupted()) == ["interrupted"], "who asks for silence is told that it is there"
    assert await line.put(AudioDelta(data=SECOND), Interrupted()) == [], "what came late was not heard"
    assert await line.put(TurnStarted(turn=2), Interrupted()) == ["turn_started", "interrupted"]
    await line.end()


async def test_while_the_person_may_be_speaking_the_sound_stands_still_and_goes_on_when_it_was_nothing() -> None:
    line = Line()
    await line.put(START, AudioDelta(data=SECOND))
    assert await line.put(SpeechStarted()) == ["speech_started"]
    assert await line.passes(5) == []
    assert await line.put(SpeechStopped(), SpeechDismissed()) == [
        "speech_stopped",
        "speech_dismissed",
        pytest.approx(240, abs=60),
    ]
    await line.end_at_once()


async def test_speech_of_which_nothing_comes_holds_the_sound_for_no_more_than_a_moment() -> None:
    line = Line()
    await line.put(START, AudioDelta(data=SECOND))
    await line.put(SpeechStarted(), SpeechStopped())
    assert await line.passes(1.4) == []
    assert (await line.passes(0.2))[0] > 0
    await line.end_at_once()


async def test_what_was_heard_is_what_the_client_tells_or_else_what_is_due() -> None:
    line = Line()
    assert line.down.played_ms() is None
    await line.put(START, AudioDelta(data=SECOND * 2))
    await line.passes(1)
    assert line.down.played_ms() == pytest.approx(1000, abs=50)
    line.down.told("r", 700)
    assert line.down.played_ms() == 700
    line.down.told("r", 90_000)
    assert (line.down.played_ms() or 0) <= 1300
    line.down.told("another", 3)
    assert line.down.played_ms() == pytest.approx(1000, abs=50)
    await line.end_at_once()


async def test_a_client_that_does_not_take_what_is_due_is_closed() -> None:
    now = 100.0
    down = Downstream(BYTES_A_S, lambda: now)
    down.put(START)
    down.put(AudioDelta(data=SECOND * 30))
    assert down.close_with is None, "what is not due yet is nobody's fault"
    now += 31
    down.put(AudioDelta(data=SECOND))
    assert down.close_with == TOO_SLOW
    assert [message async for message in down] == []


async def test_words_that_are_left_unread_count_too() -> None:
    down = Downstream(1000, lambda: 0.0)
    for _ in range(9):
        down.put(InputTranscript(text="a" * 100))
    assert down.close_with == TOO_SLOW


async def test_no_more_sound_waits_than_anybody_listens_to() -> None:
    down = Downstream(MOST_WAITING_BYTES, lambda: 0.0)
    down.put(START)
    down.put(AudioDelta(data=bytes(MOST_WAITING_BYTES + 4800)))
    down.put(AudioDelta(data=SECOND))
    down.put(END)
    down.close(NORMAL)
    assert down.waiting_bytes == MOST_WAITING_BYTES
