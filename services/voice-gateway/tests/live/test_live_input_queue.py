"""The input of a live session: from any thread, never blocking, closed for certain (L2)."""

from __future__ import annotations

import asyncio
import logging
import time
from threading import Barrier, Thread

import pytest

from voice_gateway.live.input_queue import Activity, Audio, Frame, Image, InputQueue, Silence, Text


async def taken(queue: InputQueue) -> list[Frame]:
    """Everything until the end."""
    return [frame async for frame in queue]


@pytest.mark.behaviour("L2")
async def test_frames_come_out_in_the_order_they_went_in() -> None:
    queue = InputQueue()
    assert queue.send_audio(b"\0\0", 24_000)
    assert queue.send_text("Hello")
    assert queue.send_image(b"jpeg")
    assert queue.send_activity("start")
    queue.close()
    assert await taken(queue) == [Audio(b"\0\0", 24_000), Text("Hello"), Image(b"jpeg"), Activity("start")]


@pytest.mark.behaviour("L2")
async def test_many_threads_send_without_losing_or_mixing_a_frame() -> None:
    queue, threads, each = InputQueue(max_frames=10_000), 8, 500
    together = Barrier(threads)

    def produce(producer: int) -> None:
        together.wait()
        for number in range(each):
            assert queue.send_text(f"{producer}:{number}")

    async def consume() -> list[str]:
        return [frame.text async for frame in queue if isinstance(frame, Text)]

    consuming = asyncio.create_task(consume())
    running = [Thread(target=produce, args=(producer,)) for producer in range(threads)]
    for thread in running:
        thread.start()
    await asyncio.to_thread(lambda: [thread.join() for thread in running])
    queue.close()
    got = [text.split(":") for text in await consuming]
    for producer in range(threads):
        assert [int(number) for of, number in got if int(of) == producer] == list(range(each))


@pytest.mark.behaviour("L2")
def test_a_full_queue_drops_what_arrives_and_warns_now_and_then(caplog: pytest.LogCaptureFixture) -> None:
    clock = [0.0]
    queue = InputQueue(max_frames=2, now=lambda: clock[0])
    with caplog.at_level(logging.WARNING):
        assert [queue.send_text(text) for text in "abcde"] == [True, True, False, False, False]
        assert len(caplog.records) == 1, "a warning a frame would be a flood"
        clock[0] = 6.0
        assert not queue.send_text("f")
    assert [getattr(record, "dropped", None) for record in caplog.records] == [1, 3]
    queue.close()
    assert asyncio.run(taken(queue)) == [Text("a"), Text("b")], "the newcomer goes, not the one that waits"


@pytest.mark.behaviour("L2")
def test_a_queue_is_full_of_bytes_too() -> None:
    queue = InputQueue(max_bytes=10)
    assert queue.send_image(b"12345678")
    assert not queue.send_image(b"123")
    assert queue.send_image(b"12")


@pytest.mark.behaviour("L2")
def test_sending_never_blocks_though_nobody_takes() -> None:
    queue = InputQueue(max_frames=100)
    sent = Thread(target=lambda: [queue.send_audio(bytes(960)) for _ in range(20_000)])
    sent.start()
    sent.join(30)
    assert not sent.is_alive()


@pytest.mark.behaviour("L2")
async def test_closing_is_not_lost_on_a_full_queue_and_happens_once() -> None:
    queue = InputQueue(max_frames=1)
    queue.send_text("last")
    assert not queue.send_text("too much")
    queue.close()
    queue.close()
    assert queue.closed
    assert not queue.send_text("after the end")
    assert await asyncio.wait_for(taken(queue), 5) == [Text("last")]
    assert await asyncio.wait_for(taken(queue), 5) == [], "the end stays the end"


@pytest.mark.behaviour("L2")
async def test_closing_from_another_thread_wakes_whoever_waits() -> None:
    queue = InputQueue()
    waiting = asyncio.create_task(taken(queue))
    await asyncio.sleep(0)
    Thread(target=queue.close).start()
    assert await asyncio.wait_for(waiting, 5) == []


@pytest.mark.behaviour("L2")
async def test_a_frame_is_not_lost_with_a_consumer_that_is_cancelled() -> None:
    queue = InputQueue()
    waiting = asyncio.create_task(anext(queue))
    await asyncio.sleep(0)
    waiting.cancel()
    queue.send_text("kept")
    await asyncio.wait({waiting})
    assert await asyncio.wait_for(anext(queue), 5) == Text("kept")


@pytest.mark.behaviour("L2")
def test_a_producer_outlives_the_loop() -> None:
    queue = InputQueue()

    async def begin() -> None:
        waiting = asyncio.create_task(anext(queue))
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.wait({waiting})

    asyncio.run(begin())
    assert queue.send_text("nobody hears")


@pytest.mark.behaviour("L2")
async def test_waiting_costs_nothing() -> None:
    """No polling: a consumer that waits does not run."""
    queue = InputQueue()
    waiting = asyncio.create_task(taken(queue))
    await asyncio.sleep(0)
    before = time.process_time()
    await asyncio.sleep(0.3)
    assert time.process_time() - before < 0.15
    queue.close()
    await waiting


@pytest.mark.parametrize(("pcm", "rate"), [(b"\0", 16_000), (b"\0\0", 0)])
def test_sound_that_is_none_is_refused(pcm: bytes, rate: int) -> None:
    with pytest.raises(ValueError, match="16 bits"):
        InputQueue().send_audio(pcm, rate)


@pytest.mark.behaviour("L2")
async def test_silence_stands_behind_what_was_asked_and_nowhere_else() -> None:
    queue = InputQueue(max_frames=2)
    queue.silence_asked()
    queue.send_audio(b"\0\0")
    queue.silence_asked()
    queue.send_text("Hello")
    for _ in range(3):
        queue.silence_asked()
    queue.close()
    assert await taken(queue) == [Audio(b"\0\0"), Text("Hello"), Silence()], "a full queue takes it too, and once"


@pytest.mark.behaviour("L2", "L9")
async def test_a_mark_is_taken_however_full_of_sound_it_is_and_marks_have_a_bound_of_their_own() -> None:
    queue = InputQueue(max_frames=3, max_bytes=6)
    assert queue.send_activity("start")
    assert [queue.send_audio(bytes(2)) for _ in range(4)] == [True, True, True, False]
    assert [queue.send_activity("end") for _ in range(3)] == [True, True, False]
    assert isinstance(await anext(queue), Activity)
    assert queue.send_activity("end"), "one was taken out"
    queue.close()
    rest = await taken(queue)
    assert rest == [Audio(bytes(2))] * 3 + [Activity("end")] * 3
