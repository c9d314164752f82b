"""The queues of this machine, of ten and a hundred of it, simulated with the measured costs; and one measured point."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from scale.figures import BUSY, DELTAS, Costs
from scale.simulate import Report, Stage, simulate

CORES = 2
"""Of this machine."""
MODEL_S = 2.0
"""A model that writes an answer, behind an inference server with as many places as are planned for."""
TURNS = 10_000
SERVER_CORES = 32
"""Of the largest PostgreSQL that is planned for; past it there is no larger one, and it is left at that."""


def route(costs: Costs, model_s: float = 0.0) -> list[Stage]:
    """The way of a turn: what each station works for it, in seconds of CPU."""
    return [
        Stage("web", costs.delta_s * DELTAS / 4),
        Stage("PostgreSQL", costs.agent_postgres_s / 2),
        Stage("agent", costs.agent_s / 2),
        Stage("retriever", costs.search_s),
        Stage("PostgreSQL", costs.search_postgres_s),
        *([Stage("models", model_s)] if model_s else []),
        Stage("agent", costs.agent_s / 2),
        Stage("PostgreSQL", costs.agent_postgres_s / 2),
        Stage("Redis", costs.agent_valkey_s + DELTAS * costs.delta_valkey_s),
        Stage("web", costs.delta_s * DELTAS * 3 / 4),
    ]


def work(stages: list[Stage]) -> dict[str, float]:
    """The seconds of each station in one turn."""
    total: dict[str, float] = {}
    for stage in stages:
        total[stage.station] = total.get(stage.station, 0.0) + stage.mean_s
    return total


def grown(stages: list[Stage], rate: float, *, fixed: Mapping[str, int]) -> dict[str, int]:
    """As many servers of each as are planned for; what is ``fixed`` stays as it is."""
    return {
        name: min(fixed.get(name, 1 << 30), max(1, math.ceil(rate * seconds / BUSY)))
        for name, seconds in work(stages).items()
    }


def base_rate(costs: Costs) -> float:
    """The questions a second that keep this machine's cores busy as planned."""
    return CORES * BUSY / sum(work(route(costs)).values())


def queues(costs: Costs) -> Iterator[tuple[str, ...]]:
    """Rows: this machine, ten and a hundred times its arrivals, grown in step; then with one PostgreSQL that is not."""
    stages = route(costs, MODEL_S)
    rate = base_rate(costs)
    for times in (1, 10, 100):
        servers = grown(stages, rate * times, fixed={"Redis": 1, "PostgreSQL": SERVER_CORES})
        yield from _rows(f"{times} ×" if times > 1 else "this machine", rate * times, servers, stages)
    servers = grown(stages, rate * 10, fixed={"PostgreSQL": 1, "Redis": 1})
    yield from _rows("10 ×, PostgreSQL left on one core", rate * 10, servers, stages)


def _rows(name: str, rate: float, servers: dict[str, int], stages: list[Stage]) -> Iterator[tuple[str, ...]]:
    seen = simulate(servers, stages, rate, turns=TURNS)
    full = {station for station, seconds in work(stages).items() if rate * seconds >= servers[station]}
    for number, (station, waits) in enumerate(seen.stations.items()):
        told = (name, f"{rate:,.1f}") if number == 0 else ("", "")
        figures = (f"{value * 1000:,.0f}" for value in (waits.p50, waits.p95, waits.p99))
        grows = ("grows without end", "", "") if station in full else tuple(figures)
        yield (*told, station, str(servers[station]), f"{min(waits.utilisation, 1):.0%}", *grows)
    whole = _without_work(seen, stages)
    yield ("", "", "**all waits of a turn**", "", "", "" if full else f"{whole * 1000:,.0f} on average", "", "")


def _without_work(seen: Report, stages: list[Stage]) -> float:
    return max(0.0, seen.whole.mean - sum(stage.mean_s for stage in stages))


def checked(told: Mapping[str, Any]) -> str:
    """The one measured point beside what the simulation says of it."""
    point = told["agent_at_random"]
    work_s, rate = point["agent_ms"] / 1000, point["rate"]
    seen = simulate({"agent": 1}, [Stage("agent", work_s)], rate, turns=TURNS)
    elsewhere = max(0.0, point["alone_ms"] / 1000 - work_s)
    said = (seen.whole.mean + elsewhere) * 1000
    off = (said - point["mean_ms"]) / point["mean_ms"]
    return (
        f"{rate:.1f} people a second, at random, ask one agent whose core is {seen.stations['agent'].utilisation:.0%}"
        f" busy with them ({point['turns']} turns of {point['agent_ms']:.1f} ms). Measured: an answer after"
        f" {point['mean_ms']:.0f} ms on average (p95 {point['p95_ms']:.0f}); simulated: {said:.0f} ms"
        f" (p95 {(seen.whole.p95 + elsewhere) * 1000:.0f}), {abs(off):.0%} too {'long' if off > 0 else 'short'}."
    )
