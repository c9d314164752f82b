"""A closed circle of people: each asks, waits for the end of the answer, and asks again; over connections that stay."""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from urllib.parse import urlsplit
from uuid import uuid4

from chassis.frames import FrameHub, is_last
from chassis.redis import connect

ENOUGH = 20
PATIENCE_S = 90.0


class Line:
    """One kept HTTP connection, as plain as can be, so that what asks costs little beside what answers."""

    def __init__(self, url: str) -> None:
        where = urlsplit(url)
        self._host, self._port = where.hostname or "", where.port or 80
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def post(self, path: str, body: object) -> tuple[int, bytes]:
        """The status and the body of the answer."""
        if self._streams is None:
            self._streams = await asyncio.open_connection(self._host, self._port)
        reader, writer = self._streams
        sent = json.dumps(body).encode()
        head = f"POST {path} HTTP/1.1\r\nhost: {self._host}:{self._port}\r\ncontent-type: application/json\r\n"
        writer.write(f"{head}content-length: {len(sent)}\r\n\r\n".encode() + sent)
        answer = await reader.readuntil(b"\r\n\r\n")
        size = answer.lower().partition(b"content-length:")[2].partition(b"\r\n")[0]
        return int(answer.split(b" ", 2)[1]), await reader.readexactly(int(size))

    def close(self) -> None:
        """Hang up."""
        if self._streams is not None:
            self._streams[1].close()


async def answered(line: Line, hub: FrameHub, question: str) -> bool:
    """Ask in a chat of its own and wait for the end of the answer; false when the question was refused."""
    status, body = await line.post("/turns", {"chat_id": str(uuid4()), "question": question})
    if status != 202:
        return False
    async with hub.read(json.loads(body)["turn_id"]) as batches:
        async for batch in batches:
            if any(is_last(frame) for _, frame in batch):
                break
    return True


async def arriving(url: str, redis_url: str, question: str, rate: float, seconds: float) -> list[float]:
    """People who come at random, ``rate`` a second, ask once and leave; how long each waited, in seconds."""
    draw, took, free = random.Random(7), list[float](), list[Line]()
    redis = connect(redis_url)

    async def person(hub: FrameHub) -> None:
        began, line = time.monotonic(), free.pop() if free else Line(url)
        if await answered(line, hub, question):
            took.append(time.monotonic() - began)
        free.append(line)

    async with FrameHub(redis) as hub:
        people, until = set[asyncio.Task[None]](), time.monotonic() + seconds
        next_at = time.monotonic()
        while (next_at := next_at + draw.expovariate(rate)) < until:
            await asyncio.sleep(next_at - time.monotonic())
            people.add(asyncio.create_task(person(hub)))
        await asyncio.wait(people, timeout=60)
    for line in free:
        line.close()
    await redis.aclose()
    return took


async def accepted(urls: Sequence[str], question: str, people: int, seconds: float) -> int:
    """How many questions were taken in a while, their answers not waited for."""
    taken, until = 0, time.monotonic() + seconds

    async def person(number: int) -> None:
        nonlocal taken
        line = Line(urls[number % len(urls)])
        while time.monotonic() < until:
            status, _ = await line.post("/turns", {"chat_id": str(uuid4()), "question": question})
            taken += status == 202
        line.close()

    await asyncio.gather(*(person(number) for number in range(people)))
    return taken


class Circle:
    """``people`` that ask the agents at ``urls``; only what ends in the measured while is counted."""

    def __init__(self, urls: Sequence[str], redis_url: str, question: str, people: int) -> None:
        self._urls, self._redis_url, self._question, self._people = urls, redis_url, question, people
        self.took: list[float] = []
        self.failed = 0

    async def run(self, warm_s: float, seconds: float, begin: AbstractContextManager[None] | None = None) -> float:
        """Ask for a while; gives the seconds that were measured. ``begin`` is entered when the measuring starts."""
        redis = connect(self._redis_url)
        async with FrameHub(redis) as hub:
            people = [asyncio.create_task(self._person(hub, number)) for number in range(self._people)]
            try:
                await self._until(warm_s, self._people // 2)
                self.took.clear()
                self.failed = 0
                began = time.monotonic()
                with begin or nullcontext():
                    await self._until(seconds, ENOUGH)
                measured, took = time.monotonic() - began, list(self.took)
            finally:
                for person in people:
                    person.cancel()
                await asyncio.gather(*people, return_exceptions=True)
        await redis.aclose()
        self.took = took
        return measured

    async def _until(self, seconds: float, enough: int) -> None:
        """Wait for so long, and on a machine that has much else to do until enough answers have come."""
        began = time.monotonic()
        while (gone := time.monotonic() - began) < seconds or (len(self.took) < enough and gone < PATIENCE_S):  # noqa: ASYNC110 - people set no event
            await asyncio.sleep(0.05)

    async def _person(self, hub: FrameHub, number: int) -> None:
        line = Line(self._urls[number % len(self._urls)])
        try:
            while True:
                began = time.monotonic()
                if await answered(line, hub, self._question):
                    self.took.append(time.monotonic() - began)
                else:
                    self.failed += 1
                    await asyncio.sleep(0.1)
        finally:
            line.close()
