"""The frames of many turns over one connection: whole, in order, from any cursor, for slow readers too (T8)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any
from uuid import UUID, uuid4

import pytest
from redis.asyncio import Redis

from chassis import hub as hub_module
from chassis.frames import FrameHub, FramesLost, FrameWriter, is_last, line
from chassis.redis import ask, connect
from contracts.frames import (
    FRAMES_LIFETIME_S,
    Accepted,
    Delta,
    Done,
    Error,
    Frame,
    Status,
    frame_adapter,
    frames_key,
)

pytestmark = pytest.mark.behaviour("T8")


@pytest.fixture
async def redis(valkey_url: str) -> AsyncIterator[Redis]:
    client = connect(valkey_url)
    yield client
    await client.aclose()


@pytest.fixture
async def hub(redis: Redis) -> AsyncIterator[FrameHub]:
    async with FrameHub(redis) as hub:
        yield hub


@pytest.fixture
def writer(redis: Redis) -> FrameWriter:
    return FrameWriter(redis)


async def eventually(holds: Callable[[], Any] | Callable[[], Awaitable[Any]], within_s: float = 60.0) -> None:
    async with asyncio.timeout(within_s):
        while True:
            answer = holds()
            if asyncio.iscoroutine(answer):
                answer = await answer
            if answer:
                return
            await asyncio.sleep(0.005)


async def whole(hub: FrameHub, turn: UUID, after: str = "0-0") -> list[tuple[str, Frame]]:
    frames: list[tuple[str, Frame]] = []
    async with asyncio.timeout(20), hub.read(turn, after) as reader:
        async for batch in reader:
            for cursor, frame in batch:
                frames.append((cursor.decode(), frame_adapter.validate_json(frame)))
                if is_last(frame):
                    return frames
    return frames


def answer(words: int) -> list[Frame]:
    deltas = [Delta(text=f"{number} ") for number in range(words)]
    done = Done(answer="".join(delta.text for delta in deltas), sources=())
    return [Accepted(turn_id=uuid4(), trace_id="0" * 31 + "1"), Status(stage="answering"), *deltas, done]


async def test_a_reader_gets_what_was_written_before_it_came_and_after(writer: FrameWriter, hub: FrameHub) -> None:
    turn, frames = uuid4(), answer(10)
    cursors = await writer.append(turn, *frames[:4])
    reading = asyncio.create_task(whole(hub, turn))
    for frame in frames[4:]:
        cursors += await writer.append(turn, frame)
    assert await reading == list(zip(cursors, frames, strict=True))
    assert hub.turns == 0


async def test_a_reader_that_comes_back_gets_the_rest(writer: FrameWriter, hub: FrameHub) -> None:
    turn, frames = uuid4(), answer(10)
    cursors = await writer.append(turn, *frames)
    for seen in (0, 3, 11):
        assert [frame for _, frame in await whole(hub, turn, cursors[seen])] == frames[seen + 1 :]


async def test_many_readers_of_many_turns_each_get_their_own_over_one_connection(
    writer: FrameWriter, hub: FrameHub, redis: Redis
) -> None:
    turns = [uuid4() for _ in range(20)]
    written = {turn: answer(30) for turn in turns}
    readings = [asyncio.create_task(whole(hub, turn)) for turn in turns for _ in range(3)]
    await eventually(lambda: hub.turns == 20)
    for number in range(33):
        for turn in turns:
            await writer.append(turn, written[turn][number])
            if number == 10:
                readings.append(asyncio.create_task(whole(hub, turn)))
    blocked = [row for row in await redis.client_list() if "b" in row["flags"]]
    got = await asyncio.gather(*readings)
    for position, frames in enumerate(got):
        turn = turns[position // 3] if position < 60 else turns[position - 60]
        assert [frame for _, frame in frames] == written[turn]
    assert len(blocked) <= 1
    assert hub.turns == 0


async def test_a_turn_that_is_added_wakes_a_read_that_waits_for_others(writer: FrameWriter, hub: FrameHub) -> None:
    quiet = asyncio.create_task(whole(hub, uuid4()))
    await eventually(lambda: hub.turns == 1)
    for _ in range(20):
        turn = uuid4()
        await writer.append(turn, *answer(1))
        async with asyncio.timeout(hub_module.BLOCK_MS / 1000 / 2):
            assert len(await whole(hub, turn)) == 4
    quiet.cancel()
    await asyncio.gather(quiet, return_exceptions=True)
    assert hub.turns == 0


async def test_nothing_is_kept_for_a_slow_reader_and_it_still_gets_everything(
    writer: FrameWriter, hub: FrameHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub_module, "MAX_AHEAD", 3)
    monkeypatch.setattr(hub_module, "PACE_S", 0.0)
    monkeypatch.setattr(hub_module, "MAX_BATCH", 5)
    turn, frames = uuid4(), answer(200)
    async with hub.read(turn) as slow:
        await writer.append(turn, frames[0])
        seen = [frame_adapter.validate_json(frame) for _, frame in await anext(slow)]
        reading = asyncio.create_task(whole(hub, turn))
        for frame in frames[1:]:
            await writer.append(turn, frame)
        assert [frame for _, frame in await reading] == frames
        assert slow.waiting <= 3
        async for batch in slow:
            seen += [frame_adapter.validate_json(frame) for _, frame in batch]
            if is_last(batch[-1][1]):
                break
    assert seen == frames


async def test_a_reader_that_goes_away_leaves_nothing(writer: FrameWriter, hub: FrameHub) -> None:
    reading = asyncio.create_task(whole(hub, uuid4()))
    await eventually(lambda: hub.turns == 1)
    reading.cancel()
    await asyncio.gather(reading, return_exceptions=True)
    assert hub.turns == 0


async def test_a_quiet_turn_gives_its_reader_an_empty_batch_now_and_then(hub: FrameHub) -> None:
    async with hub.read(uuid4(), idle_s=0.05) as reader:
        assert await anext(reader) == []
        assert await anext(reader) == []


async def test_frames_expire_an_hour_after_the_end(writer: FrameWriter, redis: Redis) -> None:
    turn, frames = uuid4(), answer(1)
    key = frames_key(turn)
    await writer.append(turn, *frames[:-1])
    assert await redis.ttl(key) > FRAMES_LIFETIME_S  # a turn whose end is never written goes too, later
    await writer.append(turn, Error(code="deadline", message="The answer took longer than 30 seconds."))
    assert FRAMES_LIFETIME_S - 60 < await redis.ttl(key) <= FRAMES_LIFETIME_S
    assert b"cursor" not in (await ask(redis, "XRANGE", key, "-", "+"))[0][1][b"frame"]
    await writer.forget(turn)
    assert await redis.exists(key) == 0


def test_a_line_carries_its_cursor() -> None:
    frame = frame_adapter.validate_json(line(b"17-2", b'{"type":"delta","text":"\xc3\xa9"}'))
    assert frame == Delta(cursor="17-2", text="é")


async def test_a_hub_whose_connection_is_cut_goes_on_where_it_was(
    writer: FrameWriter, hub: FrameHub, redis: Redis
) -> None:
    turn, frames = uuid4(), answer(40)
    reading = asyncio.create_task(whole(hub, turn))
    for number, frame in enumerate(frames):
        await writer.append(turn, frame)
        if number in (5, 20):
            await redis.execute_command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
    assert [frame for _, frame in await reading] == frames


async def test_readers_are_told_when_redis_stays_away(unused_tcp_port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub_module, "PATIENCE_S", 0.1)
    client = connect(f"redis://127.0.0.1:{unused_tcp_port}/0")
    async with FrameHub(client) as hub:
        with pytest.raises(FramesLost, match="Redis does not answer"):
            await whole(hub, uuid4())
        assert hub.turns == 0
    await client.aclose()
