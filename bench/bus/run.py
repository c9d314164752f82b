"""What an event costs on the bus, beside the same work on bare redis-py and bare aiokafka, and how soon it is handled.

The same events with the same fields go to eight streams, or partitions, in batches of twenty, and are read by a group,
decoded into the same model, handled by a function that counts, and acknowledged, a read at a time. Told is the CPU of
this process per event; the ways take turns, and the ratio is that of the medians. ``as_they_come`` is a group that
waits for events while they are published; ``backlog`` is one that joins when all are there, where bare aiokafka reads
hundreds at once and handles them one after the other. The bus also keeps leases, order by key, attempts, dead letters
and traces; ``recorded`` is the bus with every span kept for export, as with a collector.

Then 500 events a second, each published by itself: from the beginning of a publish to the handler's, on the bare client
and on the bus. The last ten seconds of 35 count: a broker of Java is compiled by then, as one that stays is.

Goals: at most 1.20 times the bare client; 10 ms at the 99th percentile. Result: ``bench/results/bus.json``. Where a
Kafka cannot be started (it needs Java and Maven) its part is left out, and that is said.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import uvloop

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE.parents[1] / "tests")]

from kafka_broker import Broker  # noqa: E402
from machine import machine  # noqa: E402
from measuring import EVENTS, RATE, ROUNDS, Told, measure  # noqa: E402

from embedded.errors import EmbeddedError  # noqa: E402
from embedded.launch import start_on_free_port, stop  # noqa: E402
from embedded.valkey import Valkey  # noqa: E402

RESULTS = HERE.parent / "results" / "bus.json"
GOAL, GOAL_MS = 1.20, 10.0
SERVER = ("-Xms256m", "-Xmx512m", "-XX:+UseSerialGC")
"""As a broker runs that stays for longer than a test: compiled fully."""


@contextmanager
def servers() -> Generator[dict[str, str]]:
    """Where a Redis and, if it can be had, a Kafka of our own are."""
    with tempfile.TemporaryDirectory(prefix="talkdown-bench-") as folder:
        valkey = Valkey(Path(folder) / "valkey", durable=False)
        redis, port = start_on_free_port(valkey.launch)
        urls, running = {"redis": valkey.url(port)}, [redis]
        try:
            broker = Broker(Path(folder) / "kafka", java=SERVER)
            kafka, port = start_on_free_port(broker.launch)
            running.append(kafka)
            urls["kafka"] = broker.url(port)
        except EmbeddedError as error:
            print(f"Without Kafka: {error}", file=sys.stderr)
        try:
            yield urls
        finally:
            for process in running:
                stop(process)


def main() -> int:
    """Measure, print, write down; 1 when a goal is missed."""
    with servers() as urls:
        told: dict[str, Told] = uvloop.run(measure(urls))
    result = {
        "machine": machine(),
        "events": EVENTS,
        "rounds": ROUNDS,
        "a_second": RATE,
        "goals": {"ratio": GOAL, "p99_ms": GOAL_MS},
        **told,
    }
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(result, indent=2) + "\n")
    print(json.dumps(result, indent=2))
    return int(any(one["ratio"] > GOAL or one["latency_ms"]["p99"] > GOAL_MS for one in told.values()))


if __name__ == "__main__":
    sys.exit(main())
