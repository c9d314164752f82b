"""Write the figures of ``docs/scale.md`` anew: ``python bench/scale/render.py`` after ``python bench/scale/run.py``.

The results are kept beside the page as ``docs/scale.json``; a test computes the page from them again. Between
``<!-- name -->`` and ``<!-- end -->`` everything is written here, and nothing else is.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from scale.figures import ANSWER_S, BUSY, DELTAS, SITUATIONS, Costs, Need, need  # noqa: E402
from scale.queues import checked, queues  # noqa: E402

ROOT = HERE.parents[1]
RESULTS = ROOT / "bench" / "results" / "scale.json"
KEPT, PAGE = ROOT / "docs" / "scale.json", ROOT / "docs" / "scale.md"
BLOCK = re.compile(r"(<!-- (\w+) -->\n)(.*?)(<!-- end -->)", re.DOTALL)

BREAKS = {
    "words": "the index of words, of which every retriever holds a whole copy in its memory",
    "vectors": "the graph of vectors, which PostgreSQL searches well only while it is in its memory",
    "postgres": "the cores of the one PostgreSQL that writes",
    "connections": "the connections of PostgreSQL",
    "admission": "the one lock under which questions are taken in",
    "valkey": "the one thread of Redis that carries the frames",
}
TAKES_OVER = {
    "words": "shards: Citus by tenant, and retrievers that hold the words of their shards alone",
    "vectors": "read replicas for searches; past one machine's memory Citus, sharded by tenant",
    "postgres": "read replicas for searches; then Citus, chats by chat id and notes by tenant",
    "connections": "PgBouncer in front of PostgreSQL",
    "admission": "a lock for each shard of chats (Citus) in place of one for all",
    "valkey": "Redis Cluster: the frames of a turn are one key already",
}


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table of Markdown."""
    lines = ["| " + " | ".join(row) + " |" for row in (head, *rows)]
    return "\n".join((lines[0], "|" + "---|" * len(head), *lines[1:]))


def number(value: float) -> str:
    """A figure as it is read: three digits that count, thousands apart."""
    if value == 0:
        return "0"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def measured(told: Mapping[str, Any]) -> str:
    """One of each."""
    machine, costs = told["machine"], Costs.of(told)
    agent, local, retriever = told["agent"]["extractive"], told["retriever_local"], told["retriever"]
    gateway, partition = told["gateway"], told["partition"]
    small, large = local["sizes_local"], retriever["sizes_1536"]
    rows = [
        ("agent", f"{number(agent['turns_per_s'])} quoted answers a second", f"{number(costs.agent_s * 1000)} ms an"
         f" answer, {number(costs.agent_postgres_s * 1000)} in PostgreSQL", f"{number(costs.agent_mb)} MB"),
        ("retriever, searching", f"{number(local['searches']['searches_per_s'])} searches a second",
         f"{number(costs.search_s * 1000)} ms a search, {number(costs.search_postgres_s * 1000)} in PostgreSQL",
         f"{number(costs.retriever_mb)} MB"),
        ("retriever, indexing", f"{number(costs.notes_per_s)} notes a second with the local model,"
         f" {number(retriever['scripted']['documents_per_s'])} with vectors that cost nothing",
         f"{number(costs.note_s * 1000)} ms a note, {number(costs.note_postgres_s * 1000)} in PostgreSQL", ""),
        ("web", f"{number(told['web']['held'])} streams of 10 deltas a second", f"{number(costs.delta_s * 1e6)} µs a"
         " delta", f"{number(costs.web_mb)} MB"),
        ("gateway, transport alone", f"{number(gateway['held'])} calls without a gap over 60 ms",
         f"{number(100 / costs.calls_per_core)} % of a core a call", f"{number(costs.gateway_mb)} MB"),
        ("partition", f"{number(costs.events_per_s)} events a second",
         f"{number(partition['one_partition']['consumer_us'])} µs an event", ""),
        ("questions taken in", f"{number(costs.admitted_per_s)} a second, by two agents",
         f"{number(told['admission']['agent_ms'])} ms each, {number(told['admission']['postgres_ms'])} in PostgreSQL",
         ""),
        ("a gigabyte", f"{number(small['passages_per_gigabyte'])} passages with the local model's vectors,"
         f" {number(large['passages_per_gigabyte'])} with 1,536 numbers each", "", ""),
    ]  # fmt: skip
    head = (
        f"Measured by `bench/scale` on {machine['cores']} cores ({machine['cpu']}), Python {machine['python']}, load"
        f" {machine['load']} at the start and {told['load_at_the_end']} at the end, {told['began']}."
    )
    if max(machine["load"], told["load_at_the_end"]) > 2 * machine["cores"]:
        head += " The machine had much else to do: the CPU can be read, the rates and ratios cannot."
    return head + "\n\n" + table(("one", "does", "CPU", "memory"), rows)


def replicas(told: Mapping[str, Any]) -> str:
    """Two and four of each."""
    rows: list[tuple[str, ...]] = []
    for name, figure, unit, used in (
        ("agents_by_cpu", "turns_per_s", "turns a second", ("agent", "postgres", "valkey")),
        ("agents_by_waiting", "turns_per_s", "turns a second", ("agent", "postgres", "valkey")),
        ("retrievers_by_cpu", "documents_per_s", "notes a second", ("retriever", "postgres", "valkey")),
        ("retrievers_by_waiting", "documents_per_s", "notes a second", ("retriever", "postgres", "valkey")),
        ("webs_by_cpu", "held", "streams", ()),
    ):
        one = told[name]
        counts = [each[figure] for each in one["rounds"]]
        ratios = [f"{each / counts[0]:.2f}" if counts[0] else "" for each in counts[1:]]
        last = one["rounds"][-1]
        cores = ", ".join(f"{part} {number(last[f'{part}_cores'])}" for part in used)
        limit = one["limit"] + ("" if one["held"] else " (not held by this kernel)")
        rows.append((name.split("_")[0], limit, " → ".join(map(number, counts)) + f" {unit}", *ratios, cores))
    return table(("replicas", "each limited to", "1 → 2 → 4", "2 : 1", "4 : 1", "cores used by four"), rows)


def needs(told: Mapping[str, Any]) -> str:
    """What the situations take."""
    costs = Costs.of(told)
    each = [need(one, costs) for one in SITUATIONS]
    lines: list[tuple[str, Callable[[Need], str]]] = [
        ("people", lambda one: number(one.situation.people)),
        ("notes", lambda one: number(one.situation.notes)),
        ("questions, a person and hour at the peak", lambda one: number(one.situation.questions)),
        ("saves, a person and hour", lambda one: number(one.situation.saves)),
        ("in a call at the peak", lambda one: number(one.calls)),
        ("**questions a second**", lambda one: number(one.per_s)),
        ("**passages**", lambda one: number(one.passages)),
        ("agents", lambda one: number(one.agents)),
        ("retrievers", lambda one: number(one.retrievers)),
        ("webs", lambda one: number(one.webs)),
        ("gateways, of one core, transport alone", lambda one: number(one.gateways)),
        ("cores of PostgreSQL", lambda one: number(one.postgres_cores)),
        ("cores of Redis", lambda one: number(one.valkey_cores)),
        ("connections to PostgreSQL", lambda one: number(one.connections)),
        ("partitions", lambda one: number(one.partitions)),
        ("disk of PostgreSQL, GB", lambda one: number(one.disk_gb)),
        ("graph of vectors in its memory, GB", lambda one: number(one.vectors_gb)),
        ("index of all words, in each retriever's memory, GB", lambda one: number(one.words_gb)),
        ("hours of the first filling, local model", lambda one: number(one.filling_h)),
        ("**memory in all, GB** (words divided where a retriever cannot hold them)", lambda one: number(one.memory_gb)),
        ("**machines of 16 cores and 64 GB**", lambda one: number(one.machines)),
    ]
    head = ("", *(one.name for one in SITUATIONS))
    inputs = (
        f"Inputs, beside those in the table: planned for {BUSY:.0%} of a core; {DELTAS} deltas an answer, read over"
        f" {ANSWER_S:g} s; one call in a thousand may find no room."
    )
    return inputs + "\n\n" + table(head, [(name, *(line(one) for one in each)) for name, line in lines])


def breaks(told: Mapping[str, Any]) -> str:
    """What breaks first in each."""
    costs, lines = Costs.of(told), list[str]()
    for situation in SITUATIONS:
        loads = need(situation, costs).loads(costs)
        (first, full), *others = loads
        state = f"at {number(full)} times what one carries" if full > 1 else f"at {full:.0%} of what one carries"
        further = [f"{BREAKS[name]} ({number(load)} times)" for name, load in others if load > 1]
        after = f" Beyond it are also {'; '.join(further)}." if further else ""
        verb = "breaks" if full > 1 else "is nearest to breaking"
        lines.append(
            f"- **{situation.name[0].upper()}{situation.name[1:]}.** First {verb} {BREAKS[first]}: {state}."
            f" What takes over: {TAKES_OVER[first]}.{after}"
        )
    return "\n".join(lines)


def simulated(told: Mapping[str, Any]) -> str:
    """How queues behave at ten and a hundred times this machine."""
    head = ("", "arrivals a second", "station", "servers", "busy", "wait p50, ms", "p95", "p99")
    return table(head, [tuple(map(str, row)) for row in queues(Costs.of(told))])


BLOCKS: dict[str, Callable[[Mapping[str, Any]], str]] = {
    "measured": measured,
    "replicas": replicas,
    "needs": needs,
    "breaks": breaks,
    "queues": simulated,
    "checked": checked,
}


def rendered(page: str, told: Mapping[str, Any]) -> str:
    """The page with every block written anew."""
    return BLOCK.sub(lambda found: f"{found[1]}{BLOCKS[found[2]](told)}\n{found[4]}", page)


def main() -> None:
    """Keep the newest results, if there are any, and write the page from what is kept."""
    if RESULTS.exists():
        KEPT.write_text(RESULTS.read_text())
    told = json.loads(KEPT.read_text())
    PAGE.write_text(rendered(PAGE.read_text(), told))
    print(f"{PAGE.relative_to(ROOT)} holds the figures of {told['began']}")


if __name__ == "__main__":
    main()
