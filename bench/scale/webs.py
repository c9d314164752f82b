"""Open streams a web process, and what two and four of them carry.

Every stream gets its deltas at a fixed rate, spread over time as answers of many people are. So many streams are held
when the deltas are read within 250 ms of being written, 99 of 100, and so are the first ones after the request::

    producer --XADD--> Valkey <--- webs (the real service) ---> readers
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from uuid import uuid4

from house import House, Running, shares, watching
from streams.reader import Reader

PRODUCER = Path(__file__).parents[1] / "streams" / "producer.py"
RATE = 10
SECONDS = 3
OPENING_S = 2.0
"""The streams are opened one after the other over so long, as people come."""
LIMIT_MS = 250.0
SHARE = 0.1


async def _read(urls: Sequence[str], turns: Sequence[str], start: subprocess.Popen[bytes]) -> list[Reader]:
    """Open every stream, begin the steady part, and read all to the end."""
    loop = asyncio.get_running_loop()
    began, readers = loop.time(), list[Reader]()
    for number, turn in enumerate(turns):
        port = int(urls[number % len(urls)].rpartition(":")[2])
        request = f"GET /api/turns/{turn}/frames HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode()
        reader = Reader(request, loop.create_future())
        readers.append(reader)
        await loop.create_connection(lambda one=reader: one, "127.0.0.1", port)
        await asyncio.sleep(max(0.0, began + OPENING_S * (number + 1) / len(turns) - loop.time()))
    while any(one.first_after < 0 for one in readers):  # noqa: ASYNC110 - the readers are plain protocols
        await asyncio.sleep(0.01)
    assert start.stdin is not None
    start.stdin.write(b"\n")
    start.stdin.flush()
    await asyncio.wait_for(asyncio.gather(*(one.ended for one in readers)), SECONDS * 20)
    return readers


def streamed(house: House, webs: Sequence[Running], streams: int) -> dict[str, float]:
    """What so many streams see, and the CPU microseconds a delta of everything that took part."""
    turns = [str(uuid4()) for _ in range(streams)]
    command = [sys.executable, str(PRODUCER), house.redis_url, str(RATE * SECONDS), str(1000 / RATE), *turns]
    used: dict[str, float] = {}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as producer:
        try:
            assert producer.stdout is not None
            assert producer.stdout.readline() == b"ready\n"
            groups = {"web": webs, "valkey": [house.valkey], "producer": [Running(producer)]}
            with watching(used, **groups):
                readers = asyncio.run(_read([one.url for one in webs], turns, producer))
        finally:
            producer.terminate()
    ages = sorted(age for one in readers for age in one.ages)
    first = sorted(one.first_after for one in readers)
    return {
        "streams": streams,
        "age_p99_ms": ages[int(len(ages) * 0.99)] / 1e6,
        "first_p99_ms": first[int(len(first) * 0.99)] / 1e6,
        "web_us": used["web"] / len(ages) * 1e6,
        "valkey_us": used["valkey"] / len(ages) * 1e6,
        **{f"{name}_cores": used[name] / used["seconds"] for name in groups},
    }


def held(house: House, webs: Sequence[Running], counts: Sequence[int]) -> dict[str, Any]:
    """The largest of these numbers of streams that is held, and every round; it stops at the first that is not."""
    most, rounds = 0, list[dict[str, float]]()
    for streams in counts:
        rounds.append(streamed(house, webs, streams))
        if max(rounds[-1]["age_p99_ms"], rounds[-1]["first_p99_ms"]) > LIMIT_MS:
            break
        most = streams
    return {"held": most, "rounds": rounds}


def units(house: House, counts: Sequence[int]) -> dict[str, Any]:
    """One web with as much CPU as there is."""
    with house.start("web", lost_s=60) as webs:
        streamed(house, webs, 10)
        return {**held(house, webs, counts), "memory_mb": webs[0].memory_mb}


def replicas(house: House, counts: Sequence[int], each: Sequence[int]) -> dict[str, Any]:
    """1, 2, 4 webs with a share of a core each, at so many streams for each of them."""
    rounds: list[dict[str, Any]] = []
    bounded = True
    with ExitStack() as stack:
        webs: list[Running] = []
        for count in counts:
            more = stack.enter_context(house.start("web", count - len(webs), lost_s=60))
            streamed(house, more, 5 * len(more))
            webs += more
            bounded = stack.enter_context(shares(more, SHARE)) and bounded
            rounds.append({"webs": count, **held(house, webs, [streams * count for streams in each])})
    return {"limit": f"{SHARE:g} of a core each", "held": bounded, "rounds": rounds}
