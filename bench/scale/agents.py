"""Turns a second an agent, where its CPU went, and what two and four agents do.

::

    a closed circle of people --POST /turns--> agents --POST /search--> a stub that answers at once, or after 300 ms
                              <--frames------- Valkey
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from asking import Circle, accepted, arriving
from house import House, Running, helper, shares, watching

STUB = Path(__file__).with_name("stub.py")
ROOM = {"active_chats": 100_000, "deadline_s": 120}
"""More than a hundred people ask here, which an agent refuses by default."""
SHARE = 0.2
WAIT_MS = 300
PLACES = 4
"""Turns at once of an agent whose limit is to be its places, not its CPU."""


def asked(
    house: House, agents: Sequence[Running], stub: Running, question: str, people: int, seconds: float
) -> dict[str, float]:
    """What so many people see, and the CPU milliseconds a turn of everything that took part."""
    used: dict[str, float] = {}
    groups = {"agent": agents, "postgres": [house.postgres], "valkey": [house.valkey], "stub": [stub]}
    circle = Circle([one.url for one in agents], house.redis_url, question, people)
    took_s = asyncio.run(circle.run(1.5, seconds, watching(used, **groups)))
    took = sorted(circle.took)
    if not took:
        raise RuntimeError("no turn ended")
    return {
        "turns_per_s": len(took) / took_s,
        "p50_ms": took[len(took) // 2] * 1000,
        "p95_ms": took[int(len(took) * 0.95)] * 1000,
        "refused": circle.failed,
        **{f"{name}_ms": used[name] / len(took) * 1000 for name in groups},
        **{f"{name}_cores": used[name] / used["seconds"] for name in groups},
    }


def units(house: House, found: Path, question: str, seconds: float) -> dict[str, Any]:
    """One agent with as much CPU as there is, for each kind of answer that needs no model of a provider."""
    told: dict[str, Any] = {}
    with helper(STUB, found, 0) as stub:
        for answers in ("extractive", "scripted"):
            with house.start("agent", mode="local", answers=answers, retriever_url=stub.url, **ROOM) as agents:
                told[answers] = asked(house, agents, stub, question, 24, seconds)
                told[answers]["memory_mb"] = agents[0].memory_mb
    return told


def at_random(house: House, found: Path, question: str, part: float, seconds: float) -> dict[str, float]:
    """One agent to which people come at random, so often that its core is busy for that part: the simulation's test."""
    used: dict[str, float] = {}
    with (
        helper(STUB, found, 0) as stub,
        house.start("agent", mode="local", answers="extractive", retriever_url=stub.url, **ROOM) as agents,
    ):
        full = asked(house, agents, stub, question, 24, 2.0)
        rate = part * 1000 / full["agent_ms"]
        with watching(used, agent=agents):
            took = sorted(asyncio.run(arriving(agents[0].url, house.redis_url, question, rate, seconds)))
        alone = asked(house, agents, stub, question, 1, 2.0)
    return {
        "rate": rate,
        "turns": len(took),
        "agent_ms": used["agent"] / len(took) * 1000,
        "agent_cores": used["agent"] / used["seconds"],
        "alone_ms": alone["p50_ms"],
        "mean_ms": sum(took) / len(took) * 1000,
        "p50_ms": took[len(took) // 2] * 1000,
        "p95_ms": took[int(len(took) * 0.95)] * 1000,
    }


def taken_in(house: House, found: Path, question: str, seconds: float) -> dict[str, float]:
    """Questions a second that two agents take in, each under the one lock that holds the limits; few are answered."""
    used: dict[str, float] = {}
    room = {**ROOM, "turns_at_once": 1}
    with (
        helper(STUB, found, 5000) as stub,
        house.start("agent", 2, mode="local", answers="extractive", retriever_url=stub.url, **room) as agents,
        watching(used, agent=agents, postgres=[house.postgres]),
    ):
        taken = asyncio.run(accepted([one.url for one in agents], question, 16, seconds))
    return {
        "accepted_per_s": taken / seconds,
        "agent_ms": used["agent"] / taken * 1000,
        "postgres_ms": used["postgres"] / taken * 1000,
    }


def replicas(
    house: House, found: Path, question: str, counts: Sequence[int], seconds: float, *, waits: bool
) -> dict[str, Any]:
    """The same for 1, 2, 4 agents: each with a share of a core, or each with few places and a slow retriever behind."""
    rounds: list[dict[str, Any]] = []
    held = True
    with helper(STUB, found, WAIT_MS if waits else 0) as stub, ExitStack() as stack:
        agents: list[Running] = []
        settings: dict[str, object] = {"turns_at_once": PLACES} if waits else {}
        for count in counts:
            more = stack.enter_context(
                house.start(
                    "agent",
                    count - len(agents),
                    mode="local",
                    answers="extractive",
                    retriever_url=stub.url,
                    **ROOM,
                    **settings,
                )
            )
            asked(house, more, stub, question, len(more), 1.0)
            agents += more
            if not waits:
                held = stack.enter_context(shares(more, SHARE)) and held
            people = count * (PLACES * 2 if waits else 12)
            rounds.append({"agents": count, **asked(house, agents, stub, question, people, seconds)})
    return {
        "limit": f"{PLACES} turns at once, {WAIT_MS} ms each" if waits else f"{SHARE:g} of a core each",
        "held": held,
        "rounds": rounds,
    }
