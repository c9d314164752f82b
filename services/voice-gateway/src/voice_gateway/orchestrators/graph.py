"""Mistakes of a scenario that only the whole shows: names, edges, loops, tools, fields.

Each is a place in the file, as keys and indices, and a sentence that says what to do.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from itertools import chain

from voice_gateway.orchestrators.placeholders import placeholders
from voice_gateway.orchestrators.scenario import GIVEN_FIELDS, Scenario

MAX_LISTED = 50
"""Names that one sentence tells."""
Place = tuple[str | int, ...]
Mistake = tuple[Place, str]


def mistakes(scenario: Scenario, tools: Collection[str] | None) -> Iterator[Mistake]:
    """One by one; ``tools`` are the names that agents may use, None where that is not known."""
    found = False
    used = () if tools is None else _tools(scenario, tools)
    for mistake in chain(_names(scenario), _edges(scenario), _phrases(scenario), _fields(scenario), used):
        found = True
        yield mistake
    if not found:
        yield from _loops(scenario)


def _names(scenario: Scenario) -> Iterator[Mistake]:
    seen: set[str] = set()
    for place, agent in enumerate(scenario.agents):
        if agent.name in seen:
            yield ("agents", place, "name"), f"Two agents are called `{agent.name}`; give one of them another name."
        seen.add(agent.name)
    if scenario.start not in seen:
        yield ("start",), f"The start agent `{scenario.start}` is not among the agents: {_list(seen)}."


def _edges(scenario: Scenario) -> Iterator[Mistake]:
    names = {agent.name for agent in scenario.agents}
    seen: set[tuple[str, str]] = set()
    for place, edge in enumerate(scenario.handoffs):
        for key, name in (("from", edge.source), ("to", edge.target)):
            if name not in names:
                way = "leads to" if key == "to" else "comes from"
                yield (
                    ("handoffs", place, key),
                    (f"This handoff {way} `{name}`, and there is no such agent; there are: {_list(names)}."),
                )
        if edge.source == edge.target:
            yield ("handoffs", place, "to"), f"`{edge.source}` cannot hand over to itself; name another agent."
        if (edge.source, edge.target) in seen:
            yield (
                ("handoffs", place),
                (f"There are two handoffs from `{edge.source}` to `{edge.target}`; put them into one."),
            )
        seen.add((edge.source, edge.target))


def _phrases(scenario: Scenario) -> Iterator[Mistake]:
    leads: dict[tuple[str, str], str] = {}
    for place, edge in enumerate(scenario.handoffs):
        for index, phrase in enumerate(edge.phrases):
            said = " ".join(phrase.casefold().split())
            if not any(character.isalnum() for character in said):
                yield ("handoffs", place, "phrases", index), f"The phrase `{phrase}` has no word in it; write one."
            other = leads.setdefault((edge.source, said), edge.target)
            if other != edge.target:
                yield (
                    ("handoffs", place, "phrases", index),
                    (
                        f"The phrase `{phrase}` leads from `{edge.source}` to both `{other}` and `{edge.target}`;"
                        " leave it with one of them."
                    ),
                )


def _fields(scenario: Scenario) -> Iterator[Mistake]:
    known = GIVEN_FIELDS | scenario.fields.keys()
    for place, agent in enumerate(scenario.agents):
        for key in ("instructions", "greeting", "return_greeting"):
            for name in placeholders(getattr(agent, key) or ""):
                if name not in known:
                    yield (
                        ("agents", place, key),
                        (
                            f"`{{{name}}}` in the {key} of `{agent.name}` is no field; put it under `fields` with what"
                            f" it usually says, or use one of: {_list(known)}."
                        ),
                    )


def _tools(scenario: Scenario, tools: Collection[str]) -> Iterator[Mistake]:
    for place, agent in enumerate(scenario.agents):
        for index, tool in enumerate(agent.tools):
            if tool not in tools:
                yield (
                    ("agents", place, "tools", index),
                    (
                        f"`{agent.name}` wants the tool `{tool}`, and there is none of this name; there are:"
                        f" {_list(tools)}. TALKDOWN_TOOLS names files of tools, and TALKDOWN_MCP one of servers."
                    ),
                )


def _loops(scenario: Scenario) -> Iterator[Mistake]:
    """Loops that a conversation gets into and never out of: no way leads on, or back to the start agent."""
    told: set[str] = set()
    ways = _ways(scenario)
    reached = {name: _reached(ways, name) for name in ways}
    for place, edge in enumerate(scenario.handoffs):
        loop = reached[edge.target]
        if edge.source in loop or scenario.start in loop or edge.target in told:
            continue
        members = {name for name in loop if name in reached[name]}
        if members and loop == members and all(reached[name] == members for name in members):
            told |= members
            names = " and ".join(f"`{name}`" for name in sorted(members))
            yield (
                ("handoffs", place),
                (
                    f"This handoff leads into a loop without exit: {names} hand over to each other and to nobody else."
                    f" Add a handoff from one of them to `{scenario.start}`, or to an agent outside of the loop."
                ),
            )


def met(scenario: Scenario) -> set[str]:
    """The agents whom a conversation may get to from its start."""
    return {scenario.start, *_reached(_ways(scenario), scenario.start)}


def _ways(scenario: Scenario) -> dict[str, set[str]]:
    return {agent.name: {edge.target for edge in scenario.edges(agent.name)} for agent in scenario.agents}


def _reached(ways: Mapping[str, set[str]], name: str) -> set[str]:
    """The agents that an agent's handoffs lead to, near or far; itself only where they lead back."""
    reached: set[str] = set()
    waiting = [name]
    while waiting:
        further = ways[waiting.pop()] - reached
        reached |= further
        waiting += further
    return reached


def _list(names: Collection[str]) -> str:
    there = sorted(names)
    more = f", and {len(there) - MAX_LISTED:,} more" if len(there) > MAX_LISTED else ""
    return ", ".join(there[:MAX_LISTED]) + more
