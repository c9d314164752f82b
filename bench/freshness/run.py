"""How fresh the index is: a note is saved, and searched for as soon as it is said to be visible, twenty times in a row.

Prints one line a save, and p50 and p99 of what passes between the save and the moment from which a search finds it,
beside the time that the embedding of the same chunks took, which no watcher can save. That moment is the arrival of
``document.indexed``, proven by a search that begins then; if it finds nothing, it is the start of the first search that
does. Searching all the while would take the processor away from what is measured.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from redis import Redis

from chassis.bus.wire import stream_name
from contracts.events import DocumentIndexed
from embedded.product import Product, copy_of, environment_in, running

HANDBOOK = Path(__file__).parents[2] / "handbook"
BOUND_S = 30.0
NAMES = [stream_name("documents", partition) for partition in range(8)]

Fields = dict[str, str]
Read = tuple[str, list[tuple[str, Fields]]]


@dataclass(frozen=True)
class Save:
    """One save, in milliseconds: until it could be found, then the search that found it; and the embedding of it."""

    searchable: float
    search: float
    embedding: float


def save(product: Product, number: int, bus: Redis) -> Save:
    """Save a note and wait until a search finds it."""
    word = f"marmot{number:03d}"
    path = f"fresh/{word}.md"
    last = bus_ends(bus)
    began = time.perf_counter()
    product.save(path, f"# Visit {number}\n\nThe {word} sleeps under the workshop's third bench.\n")
    event = indexed(bus, last, path)
    searchable = time.perf_counter()
    while not product.finds(word, path):
        searchable = time.perf_counter()
        assert searchable - began < BOUND_S, f"{path} was never found"
    found = time.perf_counter()
    return Save((searchable - began) * 1000, (found - searchable) * 1000, event.embedding_ms)


def bus_ends(bus: Redis) -> dict[str, str]:
    """The last entry of each partition of the documents' stream."""
    last = {name: cast("list[tuple[str, Fields]]", bus.xrevrange(name, count=1)) for name in NAMES}
    return {name: found[0][0] for name, found in last.items() if found}


def indexed(bus: Redis, after: dict[str, str], path: str) -> DocumentIndexed:
    """The event that says that a document became visible, as soon as it is published."""
    places = {name: after.get(name, "0-0") for name in NAMES}
    last = time.perf_counter() + BOUND_S
    while time.perf_counter() < last:
        read = cast("list[Read]", bus.xread(cast("Any", places), block=1000) or [])
        for name, found in read:
            for entry, fields in found:
                places[name] = entry
                if fields["type"] == "document.indexed.v1" and fields["key"] == path:
                    return DocumentIndexed.model_validate_json(fields["data"])
    raise AssertionError(f"{path} was never indexed")


def percentile(values: list[float], per_cent: float) -> float:
    """A percentile by nearest rank."""
    return sorted(values)[min(len(values) - 1, int(len(values) * per_cent / 100))]


def main() -> None:
    """Save again and again."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--saves", type=int, default=20)
    count = options.parse_args().saves
    with tempfile.TemporaryDirectory(prefix="talkdown-freshness-") as place:
        folder = copy_of(HANDBOOK, Path(place) / "handbook")
        with running(folder, Path(place) / "run", environment_in(Path(place))) as product:
            product.until(lambda: product.manifest().state == "current")
            saves: list[Save] = []
            with Redis.from_url(product.redis_url, decode_responses=True) as bus:
                for number in range(count):
                    saves.append(save(product, number, bus))
                    print(
                        f"save {number + 1:3}: searchable after {saves[-1].searchable:6.1f} ms, of them embedding"
                        f" {saves[-1].embedding:6.1f} ms; the search took {saves[-1].search:6.1f} ms",
                        flush=True,
                    )
    for name, values in (
        ("save to searchable", [one.searchable for one in saves]),
        ("embedding", [one.embedding for one in saves]),
        ("beyond the embedding", [one.searchable - one.embedding for one in saves]),
        ("the search itself", [one.search for one in saves]),
    ):
        print(f"{name:22} p50 {statistics.median(values):6.1f} ms   p99 {percentile(values, 99):6.1f} ms")


if __name__ == "__main__":
    main()
