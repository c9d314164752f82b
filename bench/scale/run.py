"""What one of everything does, what two and four of it do, and what it takes.

Each replica is a process of the product on the real PostgreSQL and Valkey that come with it, with their usual settings.
First one of each with all the CPU there is; then 1, 2 and 4 side by side in the same run, once with a share of a core
for each (``by_cpu``: two cores could not show more) and once with work that waits (``by_waiting``: a retriever or a
provider behind it that takes its time). Beside each figure stands the CPU that every process used, so that it can be
seen what the limit was. Result: ``bench/results/scale.json``; ``docs/scale.md`` is computed from it (``render.py``).
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import agents  # noqa: E402
import gateways  # noqa: E402
import partitions  # noqa: E402
import retrievers  # noqa: E402
import webs  # noqa: E402
from house import House, open_house  # noqa: E402
from machine import machine  # noqa: E402

RESULTS = HERE.parent / "results" / "scale.json"
COUNTS = (1, 2, 4)


def retrieving(house: House, quick: bool) -> tuple[dict[str, Any], Path]:
    """One retriever on generated notes, with scripted vectors (1,536 numbers) and with the local model's."""
    documents, told = 100 if quick else 600, dict[str, Any]()
    found = house.folder / "found.json"
    with house.start("retriever", embeddings="scripted") as one:
        told["empty_memory_mb"] = one[0].memory_mb
        told["scripted"] = retrievers.filled(house, one, 0, documents)
        told["searches"] = retrievers.searched(house, one, 4, 5)
        told["sizes_1536"] = retrievers.sizes(house)
        told["memory_mb"] = one[0].memory_mb
        words = house.folder / "words"
        words.mkdir()
        told["words"] = retrievers.words(words, range(documents))
        found.write_bytes(retrievers.found(one[0]))
    return told, found


def modelled(house: House, quick: bool) -> dict[str, Any]:
    """The same with the local model, on few notes: embedding is what it does with its time."""
    with house.start("retriever", embeddings="local") as one:
        told: dict[str, Any] = {"local": retrievers.filled(house, one, 0, 15 if quick else 60)}
        told["searches"] = retrievers.searched(house, one, 2, 4)
        told["sizes_local"] = retrievers.sizes(house)
        told["memory_mb"] = one[0].memory_mb
    return told


def measure(quick: bool) -> dict[str, Any]:
    """Everything, in turn."""
    seconds = 3.0 if quick else 5.0
    result: dict[str, Any] = {"machine": machine(), "began": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime())}
    began = time.monotonic()

    def note(name: str, told: object) -> None:
        result[name] = told
        print(f"  {name} ({time.monotonic() - began:.0f} s)", flush=True)

    with open_house() as house:
        unit, found = retrieving(house, quick)
        note("retriever", unit)
        question = retrievers.question(random.Random(1))
        note("agent", agents.units(house, found, question, seconds))
        note("agents_by_cpu", agents.replicas(house, found, question, COUNTS, seconds, waits=False))
        note("agents_by_waiting", agents.replicas(house, found, question, COUNTS, seconds, waits=True))
        note("agent_at_random", agents.at_random(house, found, question, 0.6, 2 * seconds))
        note("admission", agents.taken_in(house, found, question, seconds))
        note("web", webs.units(house, (100, 200) if quick else (100, 200, 400, 600, 800, 1000)))
        note("webs_by_cpu", webs.replicas(house, COUNTS, (20, 40) if quick else (20, 30, 40, 50, 60, 80, 100)))
        note("partition", partitions.units(house.redis_url))
        note("gateway", gateways.units(house, (10, 20) if quick else (10, 20, 30, 40, 50), 4.0))
    with open_house() as house:
        note("retriever_local", modelled(house, quick))
    with open_house() as house:
        note("retrievers_by_cpu", retrievers.replicas(house, COUNTS, 0, 15 if quick else 30, waits=False))
    with open_house() as house:
        note("retrievers_by_waiting", retrievers.replicas(house, COUNTS, 0, 15 if quick else 40, waits=True))
    result["seconds"] = time.monotonic() - began
    result["load_at_the_end"] = machine()["load"]
    return result


def ratios(told: dict[str, Any], figure: str) -> str:
    """How much more two and four do than one."""
    first, *more = (one[figure] for one in told["rounds"])
    if not first:
        return "none held"
    return ", ".join(f"{count} give {one / first:.2f} x" for count, one in zip(COUNTS[1:], more, strict=True))


def table(result: dict[str, Any]) -> str:
    """The figures in a few lines."""
    agent, retriever, web = result["agent"], result["retriever"], result["web"]
    local, partition, gateway = result["retriever_local"], result["partition"], result["gateway"]
    lines = [
        f"one of each ({result['machine']})",
        f"  agent       {agent['extractive']['turns_per_s']:.1f} quoted answers a second"
        f" ({agent['extractive']['agent_ms']:.0f} ms of CPU each, and {agent['extractive']['postgres_ms']:.1f} in"
        f" PostgreSQL), {agent['scripted']['turns_per_s']:.1f} scripted",
        f"  retriever   {retriever['scripted']['documents_per_s']:.1f} notes a second with vectors that cost nothing,"
        f" {local['local']['documents_per_s']:.2f} with the local model;"
        f" {retriever['searches']['searches_per_s']:.0f} searches a second",
        f"  web         {web['held']} streams of {webs.RATE} deltas a second",
        f"  gateway     {gateway['held']} calls on one core",
        f"  partition   {partition['one_partition']['events_per_s']:.0f} events a second",
        f"  gigabyte    {retriever['sizes_1536']['passages_per_gigabyte']:.0f} passages with 1,536 numbers each,"
        f" {local['sizes_local']['passages_per_gigabyte']:.0f} with the local model's",
        "more of each",
    ]
    for name, figure in (
        ("agents_by_cpu", "turns_per_s"),
        ("agents_by_waiting", "turns_per_s"),
        ("retrievers_by_cpu", "documents_per_s"),
        ("retrievers_by_waiting", "documents_per_s"),
        ("webs_by_cpu", "held"),
    ):
        told = result[name]
        bounded = "" if told["held"] else " (the kernel held no shares here)"
        lines.append(f"  {name:<22} {told['limit']}{bounded}: {ratios(told, figure)}")
    return "\n".join(lines)


def main() -> None:
    """Measure, print, and keep the figures."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--quick", action="store_true", help="fewer rounds, to see that it runs")
    options.add_argument("--into", type=Path, default=RESULTS)
    told = options.parse_args()
    result = measure(told.quick)
    told.into.parent.mkdir(exist_ok=True)
    told.into.write_text(json.dumps(result, indent=2) + "\n")
    print(table(result))
    print(f"  {result['seconds']:.0f} s, load {result['machine']['load']} to {result['load_at_the_end']}")


if __name__ == "__main__":
    main()
