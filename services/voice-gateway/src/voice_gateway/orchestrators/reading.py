"""A scenario's file, read: every mistake in it is a sentence with the file and the line.

YAML is taken as plain data: no anchors, no tags, no key twice.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, Final, cast

import yaml
from pydantic import ValidationError
from pydantic_core import ErrorDetails

from voice_gateway.errors import VoiceError
from voice_gateway.orchestrators.graph import Place, mistakes
from voice_gateway.orchestrators.scenario import AgentSpec, Edge, Scenario, Voices

MAX_BYTES: Final = 262_144
BESIDE_NOTES: Final = "talkdown.yaml"
"""The name of a scenario that lies in the folder of notes itself."""
SHIPPED: Final = resources.files("voice_gateway") / "scenarios"


class ScenarioError(VoiceError):
    """A scenario cannot be used. ``mistakes`` are all of them, each with the line, from 1, where it stands."""

    code = "invalid_scenario"

    def __init__(self, file: str, mistakes: list[tuple[int | None, str]]) -> None:
        self.file, self.mistakes = file, mistakes
        super().__init__("\n".join(f"{file}{f', line {line}' if line else ''}: {said}" for line, said in mistakes))


def shipped() -> tuple[str, ...]:
    """The names of the scenarios that come with the gateway."""
    return tuple(sorted(file.name.removesuffix(".yaml") for file in SHIPPED.iterdir() if file.name.endswith(".yaml")))


def load(named: str, tools: Collection[str] | None = None) -> Scenario:
    """Read the scenario of a name that is shipped, or of a file; ``tools`` are the names that its agents may use."""
    if named in shipped():
        return _read(SHIPPED / f"{named}.yaml", f"{named}.yaml", tools)
    path = Path(named).expanduser()
    if path.suffix not in (".yaml", ".yml"):
        raise ScenarioError(
            named,
            [(None, f"There is no such scenario; name a file ending in .yaml, or one of: {', '.join(shipped())}.")],
        )
    return _read(path, str(path), tools)


def _read(file: Traversable | Path, name: str, tools: Collection[str] | None) -> Scenario:
    try:
        with file.open("rb") as opened:
            raw = opened.read(MAX_BYTES + 1)
        text = raw.decode()
    except OSError as error:
        raise ScenarioError(name, [(None, f"The file cannot be read ({error.strerror}).")]) from None
    except UnicodeDecodeError:
        raise ScenarioError(name, [(None, "The file is not written in UTF-8; save it as such.")]) from None
    if len(raw) > MAX_BYTES:
        raise ScenarioError(name, [(None, f"The file has more than {MAX_BYTES} bytes; make it smaller.")])
    return read(text, name, tools)


def read(text: str, name: str, tools: Collection[str] | None = None) -> Scenario:
    """Read a scenario's text; ``name`` is what mistakes call its file."""
    document = _composed(text, name)
    try:
        scenario = Scenario.model_validate(_plain(document))
    except ValidationError as error:
        faults = [*_telling(error)]
        raise ScenarioError(name, [_said(document, fault) for fault in faults]) from None
    wrong = mistakes(scenario, tools)
    if wrong:
        raise ScenarioError(name, [(_line(document, place), said) for place, said in wrong])
    return scenario


def _telling(error: ValidationError) -> Iterator[ErrorDetails]:
    """The faults without those that only follow from others: a list is not too short for its items being wrong."""
    faults = error.errors(include_url=False, include_context=False)
    for fault in faults:
        inside = any(len(other["loc"]) > 1 and other["loc"][0] == fault["loc"][0] for other in faults)
        if not (fault["type"] == "too_short" and inside):
            yield fault


def _composed(text: str, name: str) -> yaml.MappingNode:
    try:
        for event in cast("Iterator[yaml.Event]", yaml.parse(text, Loader=yaml.SafeLoader)):
            if isinstance(event, yaml.AliasEvent):
                line = event.start_mark.line + 1
                raise ScenarioError(name, [(line, "Anchors and aliases are not used here; write it out.")])
        document = cast("yaml.Node | None", yaml.compose(text, Loader=yaml.SafeLoader))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        said = f"This is not YAML: {error.problem or error.context}."
        raise ScenarioError(name, [(mark.line + 1 if mark else None, said)]) from None
    except yaml.YAMLError:
        raise ScenarioError(name, [(None, "This is not YAML: it holds a character that may not be in it.")]) from None
    except RecursionError:
        raise ScenarioError(name, [(None, "This is nested too deeply.")]) from None
    if not isinstance(document, yaml.MappingNode):
        raise ScenarioError(name, [(1, "A scenario is a list of fields: `name`, `start`, `agents`, `handoffs`.")])
    twice = [*_twice(document)]
    if twice:
        raise ScenarioError(name, twice)
    return document


def _twice(node: yaml.Node) -> Iterator[tuple[int | None, str]]:
    """Fields that stand twice in one place."""
    if isinstance(node, yaml.MappingNode):
        seen: set[str] = set()
        for key, value in cast("list[tuple[yaml.Node, yaml.Node]]", node.value):
            said = str(key.value)
            if said in seen:
                yield key.start_mark.line + 1, f"The field `{said}` stands twice here; keep one of them."
            seen.add(said)
            yield from _twice(value)
    elif isinstance(node, yaml.SequenceNode):
        for value in cast("list[yaml.Node]", node.value):
            yield from _twice(value)


def _plain(document: yaml.MappingNode) -> Any:
    loader = yaml.SafeLoader("")
    try:
        return cast(Any, loader).construct_document(document)
    except (yaml.YAMLError, ValueError, TypeError, OverflowError):
        return {}
    finally:
        loader.dispose()  # pyright: ignore[reportUnknownMemberType]


def _line(node: yaml.Node, place: Place) -> int:
    """The line of a place; of the nearest thing around it where it is not there."""
    line = node.start_mark.line + 1
    for step in place:
        found: yaml.Node | None = None
        if isinstance(node, yaml.MappingNode):
            for key, value in cast("list[tuple[yaml.Node, yaml.Node]]", node.value):
                if key.value == step:
                    line, found = key.start_mark.line + 1, value
        elif isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
            found = cast("list[yaml.Node]", node.value)[step]
            line = found.start_mark.line + 1
        if found is None:
            return line
        node = found
    return line


_MODELS: Final = {"agents": AgentSpec, "handoffs": Edge}


def _said(document: yaml.Node, fault: ErrorDetails) -> tuple[int | None, str]:
    """One mistake that the models found, in words."""
    place: Place = fault["loc"]
    model = _MODELS.get(str(place[0]), Scenario) if len(place) > 2 else Scenario
    fields = {info.alias or name: info.description for name, info in model.model_fields.items()}
    field = str(place[-1]) if place else ""
    whose = _whose(document, place[:-1])
    line = _line(document, place)
    match fault["type"]:
        case "missing":
            meaning = fields.get(field)
            return line, f"{whose} has no `{field}`{f': {meaning}' if meaning else ''}."
        case "extra_forbidden":
            known = Voices.model_fields if "voice" in place else fields
            return line, f"{whose} has a field `{field}` that is not known; known are: {', '.join(known)}."
        case "string_pattern_mismatch" if field in ("name", "from", "to", "start"):
            return line, (
                f"`{str(fault['input'])[:60]}` is no name: it is a lower-case word of at most 40 letters, digits,"
                " `-` and `_`."
            )
        case _:
            return line, f"`{field}` of {_lower(whose)} cannot be this: {fault['msg'][:200]}."


def _whose(document: yaml.Node, place: Place) -> str:
    match place:
        case ("agents", int(index), *_):
            name = _value(document, ("agents", index, "name"))
            return f"The agent `{name}`" if name else f"Agent {index + 1}"
        case ("handoffs", int(index), *_):
            return f"Handoff {index + 1}"
        case _:
            return "The scenario"


def _value(node: yaml.Node, place: Place) -> str | None:
    for step in place:
        found: yaml.Node | None = None
        if isinstance(node, yaml.MappingNode):
            pairs = cast("list[tuple[yaml.Node, yaml.Node]]", node.value)
            found = next((value for key, value in pairs if key.value == step), None)
        elif isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
            found = cast("list[yaml.Node]", node.value)[step]
        if found is None:
            return None
        node = found
    return str(node.value) if isinstance(node, yaml.ScalarNode) else None


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]
