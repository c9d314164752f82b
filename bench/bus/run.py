"""What an event costs on the bus, beside the same work on bare redis-py, in one process and one run.

The same events with the same fields go to eight streams in pipelines of twenty, and are read by a consumer group,
decoded into the same model, handled by a function that counts, and acknowledged. Told is the CPU of this process per
event; the ways take turns, and the ratio is that of the medians. The bus also keeps leases, order by key, attempts,
dead letters and traces; ``recorded`` is the bus with every span kept for export, as with a collector.

Goal: at most 1.20 times bare redis-py. Result: ``bench/results/bus.json``.
"""

from __future__ import annotations

import asyncio
import gc
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from uuid import uuid4

import uvloop
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from redis.asyncio import Redis

from chassis import telemetry
from chassis.bus import Bus, open_bus
from chassis.settings import ServiceSettings
from contracts.events import TurnRequested
from embedded.launch import start_on_free_port, stop
from embedded.valkey import Valkey

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from bare import PARTITIONS, STREAMS, consume, publish  # noqa: E402
from machine import machine  # noqa: E402

RESULTS = HERE.parent / "results" / "bus.json"
EVENTS, BATCH, ROUNDS, LATENCIES = 4000, 20, 7, 300
GOAL = 1.20

Batches = Sequence[Sequence[TurnRequested]]


class Nowhere(SpanExporter):
    """Takes spans and drops them."""

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Drop a batch."""
        return SpanExportResult.SUCCESS


def batches() -> Batches:
    """Events of as many chats, in the batches that they are published in."""
    return [[TurnRequested(turn_id=uuid4(), chat_id=uuid4()) for _ in range(BATCH)] for _ in range(EVENTS // BATCH)]


async def cpu_us(work: Callable[[], Awaitable[object]]) -> float:
    """Microseconds of CPU an event that a piece of work costs this process."""
    gc.collect()
    begun = time.process_time()
    await work()
    return (time.process_time() - begun) / EVENTS * 1e6


async def bare_round(url: str, work: Batches) -> tuple[float, float]:
    """Publish and consume on bare redis-py."""
    redis = Redis.from_url(url)
    await redis.flushdb()
    for name in STREAMS:
        await redis.xgroup_create(name, "bench", id="0", mkstream=True)
    seen = 0

    async def handle(event: TurnRequested) -> None:
        nonlocal seen
        seen += 1

    async def send() -> None:
        for events in work:
            await publish(redis, events)

    sent = await cpu_us(send)
    handled = await cpu_us(lambda: consume(redis, "bench", 32 // PARTITIONS, handle, EVENTS))
    assert seen == EVENTS
    await redis.aclose()
    return sent, handled


async def bus_round(url: str, work: Batches) -> tuple[float, float]:
    """Publish and consume on the bus; counted until everything is acknowledged."""
    redis = Redis.from_url(url)
    await redis.flushdb()
    seen, all_seen = 0, asyncio.Event()

    async def handle(event: TurnRequested) -> None:
        nonlocal seen
        seen += 1
        if seen == EVENTS:
            all_seen.set()

    async def take(bus: Bus) -> None:
        all_seen.clear()
        consuming = asyncio.create_task(bus.consume("turns", "bench", {TurnRequested: handle}))
        await all_seen.wait()
        consuming.cancel()
        await asyncio.gather(consuming, return_exceptions=True)

    async with open_bus(url, service="bench") as bus:

        async def send() -> None:
            for events in work:
                await bus.publish(*events)

        sent = await cpu_us(send)
        handled = await cpu_us(lambda: take(bus))
    groups = [await redis.xpending(f"talkdown.turns.{partition}", "bench") for partition in range(PARTITIONS)]
    assert sum(int(group["pending"]) for group in groups) == 0
    await redis.aclose()
    return sent, handled


async def latency_ms(url: str) -> list[float]:
    """From the beginning of a publish to the handler's, one event at a time, in milliseconds."""
    taken: list[float] = []
    begun, handled = 0.0, asyncio.Event()

    async def handle(event: TurnRequested) -> None:
        taken.append((time.perf_counter() - begun) * 1000)
        handled.set()

    async with open_bus(url, service="bench") as bus:
        consuming = asyncio.create_task(bus.consume("turns", "latency", {TurnRequested: handle}))
        for _ in range(LATENCIES):
            handled.clear()
            begun = time.perf_counter()
            await bus.publish(TurnRequested(turn_id=uuid4(), chat_id=uuid4()))
            await handled.wait()
        consuming.cancel()
        await asyncio.gather(consuming, return_exceptions=True)
    return sorted(taken[20:])


def _record(recording: bool) -> None:
    telemetry.finish()
    settings = ServiceSettings(log_level="error")
    telemetry.setup("bench", settings, *([BatchSpanProcessor(Nowhere())] if recording else []))


async def measure(url: str) -> dict[str, object]:
    """All rounds, as the result that is written down."""
    rounds: dict[str, list[tuple[float, float]]] = {"bare": [], "bus": [], "recorded": []}
    for number in range(ROUNDS + 1):
        work = batches()
        for way in rounds:
            _record(way == "recorded")
            costs = await (bare_round(url, work) if way == "bare" else bus_round(url, work))
            if number > 0:  # the first warms up
                rounds[way].append(costs)
    _record(False)
    taken = await latency_ms(url)
    costs = {
        way: {
            "publish_us": round(statistics.median(sent for sent, _ in told), 1),
            "consume_us": round(statistics.median(handled for _, handled in told), 1),
            "total_us": round(statistics.median(sent + handled for sent, handled in told), 1),
        }
        for way, told in rounds.items()
    }
    bare = costs["bare"]["total_us"]
    return {
        "machine": machine(),
        "events": EVENTS,
        "rounds": ROUNDS,
        "cpu_per_event": costs,
        "ratio": round(costs["bus"]["total_us"] / bare, 3),
        "ratio_recorded": round(costs["recorded"]["total_us"] / bare, 3),
        "goal": GOAL,
        "latency_ms": {"p50": round(taken[len(taken) // 2], 2), "p99": round(taken[int(len(taken) * 0.99)], 2)},
    }


def main() -> int:
    """Measure on a server of our own, print, write down; 1 when the goal is missed."""
    with tempfile.TemporaryDirectory(prefix="talkdown-bench-") as folder:
        process, port = start_on_free_port((server := Valkey(Path(folder), durable=False)).launch)
        try:
            told = uvloop.run(measure(server.url(port)))
        finally:
            stop(process)
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(told, indent=2) + "\n")
    print(json.dumps(told, indent=2))
    ratio = told["ratio"]
    assert isinstance(ratio, float)
    return 0 if ratio <= GOAL else 1


if __name__ == "__main__":
    sys.exit(main())
