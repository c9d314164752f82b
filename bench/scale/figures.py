"""What a situation takes, computed from the measured costs of one of everything; every assumption is an input here."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from scale.simulate import seats_for

BUSY = 0.6
"""The part of a core, or of one of a kind, that is planned for: past it waits grow fast."""
LOST_CALLS = 0.001
"""The part of calls that may find no gateway with room."""
DELTAS = 60
"""Deltas of an answer, a few words each."""
ANSWER_S = 3.0
"""How long an answer is read as it comes, with a model that writes it."""
AGENT_CONNECTIONS, RETRIEVER_CONNECTIONS = 10, 16
MACHINE_CORES, MACHINE_GB = 16, 64
POSTGRES_CORES, POSTGRES_GB, POSTGRES_CONNECTIONS = 32, 128, 500
RETRIEVER_GB, COPIES = 8, 2


@dataclass(frozen=True)
class Situation:
    """How many people, how many notes, and what each person does in an hour at the peak."""

    name: str
    people: int
    notes: int
    questions: float
    saves: float
    in_calls: float
    """The part of the people who are in a call at the same moment."""


SITUATIONS = (
    Situation("one person", 1, 10_000, questions=30, saves=20, in_calls=1),
    Situation("a company", 10_000, 500_000, questions=2, saves=0.5, in_calls=0.01),
    Situation("an internet service", 10_000_000, 1_000_000_000, questions=0.5, saves=0.1, in_calls=0.002),
)


@dataclass(frozen=True)
class Costs:
    """What one of everything costs: seconds of CPU, bytes, and what one process holds."""

    agent_s: float
    agent_postgres_s: float
    agent_valkey_s: float
    search_s: float
    search_postgres_s: float
    note_s: float
    note_postgres_s: float
    delta_s: float
    delta_valkey_s: float
    passages_per_note: float
    disk_bytes: float
    vector_bytes: float
    words_bytes: float
    """Of a passage, in the memory of every retriever: its index of words."""
    agent_mb: float
    retriever_mb: float
    web_mb: float
    gateway_mb: float
    calls_per_core: float
    admitted_per_s: float
    events_per_s: float
    notes_per_s: float

    @classmethod
    def of(cls, told: Mapping[str, Any]) -> Costs:
        """Read off the results of ``run.py``."""
        agent, retriever, local = told["agent"]["extractive"], told["retriever"], told["retriever_local"]
        small = local["sizes_local"]
        web, calls = told["web"]["rounds"], told["gateway"]
        streamed = web[max(0, len(web) - 2)]
        return cls(
            agent_s=agent["agent_ms"] / 1000,
            agent_postgres_s=agent["postgres_ms"] / 1000,
            agent_valkey_s=agent["valkey_ms"] / 1000,
            search_s=local["searches"]["retriever_ms"] / 1000,
            search_postgres_s=local["searches"]["postgres_ms"] / 1000,
            note_s=local["local"]["retriever_ms"] / 1000,
            note_postgres_s=local["local"]["postgres_ms"] / 1000,
            delta_s=streamed["web_us"] / 1e6,
            delta_valkey_s=streamed["valkey_us"] / 1e6,
            passages_per_note=small["passages"] / local["local"]["documents"],
            disk_bytes=small["bytes_per_thousand"] / 1000,
            vector_bytes=small["searched_vectors_per_thousand"] / 1000,
            words_bytes=retriever["words"]["bytes_per_passage"],
            agent_mb=agent["memory_mb"],
            retriever_mb=local["memory_mb"],
            web_mb=told["web"]["memory_mb"],
            gateway_mb=calls["memory_at_most_mb"],
            calls_per_core=1 / calls["rounds"][max(0, len(calls["rounds"]) - 2)]["cores_per_call"],
            admitted_per_s=told["admission"]["accepted_per_s"],
            events_per_s=told["partition"]["one_partition"]["events_per_s"],
            notes_per_s=local["local"]["documents_per_s"],
        )


@dataclass(frozen=True)
class Need:
    """What a situation takes."""

    situation: Situation
    per_s: float
    saves_per_s: float
    calls: float
    passages: float
    agents: int
    retrievers: int
    webs: int
    gateways: int
    postgres_cores: float
    valkey_cores: float
    connections: int
    partitions: int
    disk_gb: float
    vectors_gb: float
    words_gb: float
    memory_gb: float
    filling_h: float
    machines: int

    def loads(self, costs: Costs) -> list[tuple[str, float]]:
        """How full each thing would be of which there is one, or one copy in each process; the fullest first."""
        found = {
            "words": self.words_gb / RETRIEVER_GB,
            "vectors": self.vectors_gb / POSTGRES_GB,
            "postgres": self.postgres_cores / (POSTGRES_CORES * BUSY),
            "connections": self.connections / POSTGRES_CONNECTIONS,
            "admission": self.per_s / (costs.admitted_per_s * BUSY),
            "valkey": self.valkey_cores / BUSY,
        }
        return sorted(found.items(), key=lambda one: -one[1])


def need(situation: Situation, costs: Costs) -> Need:
    """Compute it."""
    per_s = situation.people * situation.questions / 3600
    saves = situation.people * situation.saves / 3600
    calls = situation.people * situation.in_calls
    passages = situation.notes * costs.passages_per_note
    words_gb = passages * costs.words_bytes / 1e9
    agents = _processes(per_s * costs.agent_s)
    retrievers = _processes(per_s * costs.search_s + saves * costs.note_s)
    webs = _processes(per_s * DELTAS * costs.delta_s)
    gateways = math.ceil(seats_for(calls, LOST_CALLS) / (costs.calls_per_core * BUSY)) if calls > 1 else 1
    postgres = per_s * (costs.agent_postgres_s + costs.search_postgres_s) + saves * costs.note_postgres_s
    valkey = per_s * (costs.agent_valkey_s + DELTAS * costs.delta_valkey_s)
    # What no retriever can hold is divided among them, with two copies of each part.
    words_in_all_gb = retrievers * words_gb if words_gb <= RETRIEVER_GB else COPIES * words_gb
    memory_mb = (
        agents * costs.agent_mb
        + retrievers * costs.retriever_mb
        + words_in_all_gb * 1000
        + webs * costs.web_mb
        + gateways * costs.gateway_mb
    )
    cores = agents + retrievers + webs + gateways + (postgres + valkey) / BUSY
    memory_gb = memory_mb / 1000 + passages * costs.vector_bytes / 1e9
    return Need(
        situation=situation,
        per_s=per_s,
        saves_per_s=saves,
        calls=calls,
        passages=passages,
        agents=agents,
        retrievers=retrievers,
        webs=webs,
        gateways=gateways,
        postgres_cores=postgres,
        valkey_cores=valkey,
        connections=agents * AGENT_CONNECTIONS + retrievers * RETRIEVER_CONNECTIONS,
        partitions=max(8, 2 ** math.ceil(math.log2(max(1, retrievers, saves / costs.events_per_s)))),
        disk_gb=passages * costs.disk_bytes / 1e9,
        vectors_gb=passages * costs.vector_bytes / 1e9,
        words_gb=words_gb,
        memory_gb=memory_gb,
        filling_h=situation.notes / costs.notes_per_s / retrievers / 3600,
        machines=max(math.ceil(cores / MACHINE_CORES), math.ceil(memory_gb / MACHINE_GB))
        if situation.people > 1
        else 1,
    )


def _processes(cores: float) -> int:
    return max(1, math.ceil(cores / BUSY))
