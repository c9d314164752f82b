"""A discrete-event simulation of people, queues and servers, and the formulas that it is held against.

A turn goes through stations, one after the other; a station has so many servers (cores, or seats of calls) and one
queue, first come, first served. Work is drawn with an exponential distribution, arrivals come at random (Poisson), as
those of many people who know nothing of each other. Events are taken in order of time from a heap::

    arrival --> web --> agent --> retriever --> PostgreSQL --> agent --> web --> gone
                 each: wait for the first free server, be served, go on

With random arrivals and exponential work one station is M/M/c, whose waits are known exactly (Erlang, 1917): tests hold
the simulation against :func:`mean_wait`.
"""

from __future__ import annotations

import heapq
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count


@dataclass(frozen=True)
class Stage:
    """Work of ``mean_s`` seconds at a station."""

    station: str
    mean_s: float


@dataclass(frozen=True)
class Waits:
    """How busy a station was, from 0 to 1, and how long one waited there, in seconds."""

    utilisation: float
    mean: float
    p50: float
    p95: float
    p99: float


@dataclass(frozen=True)
class Report:
    """What was seen: each station, and the whole way from the arrival to the end, in seconds."""

    stations: Mapping[str, Waits]
    whole: Waits


def simulate(
    servers: Mapping[str, int], route: Sequence[Stage], rate: float, *, turns: int = 40_000, seed: int = 1
) -> Report:
    """Send ``turns`` along ``route``, ``rate`` a second on average; the first tenth is not counted."""
    draw = random.Random(seed)
    free = {name: [0.0] * number for name, number in servers.items()}
    waits: dict[str, list[float]] = {name: [] for name in servers}
    worked = dict.fromkeys(servers, 0.0)
    whole: list[float] = []
    order, begin, last = count(), turns // 10 / rate, draw.expovariate(rate)
    events = [(last, next(order), last, 0)]  # when, order, when it arrived, its next stage
    while events:
        now, _, arrived, step = heapq.heappop(events)
        if step == 0 and (turns := turns - 1) > 0:
            last += draw.expovariate(rate)
            heapq.heappush(events, (last, next(order), last, 0))
        if step == len(route):
            if arrived >= begin:
                whole.append(now - arrived)
            continue
        stage = route[step]
        work = draw.expovariate(1 / stage.mean_s) if stage.mean_s else 0.0
        starts = max(now, free[stage.station][0])
        heapq.heapreplace(free[stage.station], starts + work)
        if arrived >= begin:
            waits[stage.station].append(starts - now)
            worked[stage.station] += work
        heapq.heappush(events, (starts + work, next(order), arrived, step + 1))
    while_s = last - begin
    return Report(
        {name: _waits(waits[name], worked[name] / while_s / number) for name, number in servers.items()},
        _waits(whole, 0.0),
    )


def _waits(seen: list[float], utilisation: float) -> Waits:
    if not seen:
        return Waits(utilisation, 0.0, 0.0, 0.0, 0.0)
    seen = sorted(seen)
    p50, p95, p99 = (seen[int(len(seen) * part)] for part in (0.5, 0.95, 0.99))
    return Waits(utilisation, sum(seen) / len(seen), p50, p95, p99)


def blocked(servers: int, offered: float) -> float:
    """Erlang B: the part of calls that find no free seat, where none waits. ``offered`` is rate times duration."""
    part = 1.0
    for number in range(1, servers + 1):
        part = offered * part / (number + offered * part)
    return part


def waits_at_all(servers: int, offered: float) -> float:
    """Erlang C: the part of turns that wait, where all do; 1 when more is offered than can be served."""
    if offered >= servers:
        return 1.0
    lost = blocked(servers, offered)
    return lost / (1 - offered / servers * (1 - lost))


def mean_wait(servers: int, rate: float, mean_s: float) -> float:
    """The mean wait in M/M/c, in seconds."""
    offered = rate * mean_s
    return float("inf") if offered >= servers else waits_at_all(servers, offered) * mean_s / (servers - offered)


def seats_for(offered: float, lost: float) -> int:
    """The fewest seats at which at most this part of calls is turned away."""
    part, seats = 1.0, 0
    while part > lost:
        seats += 1
        part = offered * part / (seats + offered * part)
    return seats
