"""The simulation behind docs/scale.md, held against what is known exactly."""

from __future__ import annotations

import math
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "bench"))

from scale.simulate import Stage, blocked, mean_wait, seats_for, simulate, waits_at_all


@pytest.mark.parametrize(("servers", "utilisation"), [(1, 0.6), (4, 0.8), (16, 0.9)])
def test_waits_at_one_station_are_those_of_erlang_s_formula(servers: int, utilisation: float) -> None:
    work, rate = 0.03, servers * utilisation / 0.03
    seen = simulate({"agent": servers}, [Stage("agent", work)], rate, turns=60_000)
    agent, known = seen.stations["agent"], mean_wait(servers, rate, work)
    assert agent.utilisation == pytest.approx(utilisation, rel=0.02)
    assert agent.mean == pytest.approx(known, rel=0.12)
    # P(W > t) = C exp(-(c/s - rate) t), so the 99th of a hundred waits at most this long.
    longest = math.log(waits_at_all(servers, rate * work) / 0.01) / (servers / work - rate)
    assert agent.p99 == pytest.approx(longest, rel=0.12)


def test_stations_behind_one_another_wait_as_each_would_alone() -> None:
    """Burke's theorem: what leaves M/M/c arrives at the next as if at random."""
    rate = 50.0
    seen = simulate({"agent": 2, "retriever": 1}, [Stage("agent", 0.03), Stage("retriever", 0.012)], rate, turns=60_000)
    assert seen.stations["agent"].mean == pytest.approx(mean_wait(2, rate, 0.03), rel=0.12)
    assert seen.stations["retriever"].mean == pytest.approx(mean_wait(1, rate, 0.012), rel=0.12)
    whole = sum(one.mean for one in seen.stations.values()) + 0.03 + 0.012
    assert seen.whole.mean == pytest.approx(whole, rel=0.02)


def test_known_values_of_erlang_s_tables() -> None:
    assert blocked(10, 5.0) == pytest.approx(0.0184, abs=0.0001)
    assert waits_at_all(10, 5.0) == pytest.approx(0.0361, abs=0.0001)
    assert seats_for(5.0, 0.0183) == 11
    assert seats_for(5.0, 0.0184) == 10
    assert mean_wait(1, 20.0, 0.05) == math.inf
