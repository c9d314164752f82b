"""A scenario's file, read: every mistake in it is a sentence with the file and the line.

YAML is taken as plain data: no anchors, no tags, no merges, no key twice, nothing nested without end.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Hashable, Iterator
from functools import lru_cache
from importlib import resources
from importlib.resources.abc import Traversable
from itertools import islice
from pathlib import Path
from typing import Any, Final, cast

import yaml
from pydantic import ValidationError
from pydantic_core import ErrorDetails
from yaml.constructor import SafeConstructor

from voice_gateway.errors import VoiceError
from voice_gateway.orchestrators.graph import Place, mistakes
from voice_gateway.orchestrators.scenario import AgentSpec, Edge, Scenario, Voices
from voice_gateway.orchestrators.wording import what_it_is

MAX_BYTES: Final = 262_144
MAX_DEPTH: Final = 20
"""Levels of lists and fields; a scenario needs six."""
TOO_DEEP: Final = f"This is nested deeper than {MAX_DEPTH} levels; make it flatter."
MAX_TOLD: Final = 20
"""Mistakes of one file that are told at once."""
MAX_VALUE: Final = 64
"""Characters of a number, a date or a truth value."""
BESIDE_NOTES: Final = "talkdown.yaml"
"""The name of a scenario that lies in the folder of notes itself."""
TEXT: Final = "tag:yaml.org,2002:str"
MERGE: Final = "tag:yaml.org,2002:merge"
_LOADER: Final[type[yaml.CSafeLoader | yaml.SafeLoader]] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""The one in C where PyYAML was built with it: it is ten times as fast, and what this finds is the same."""
_UNSTORABLE: Final = re.compile("[\0\ud800-\udfff]")
SHIPPED: Final = resources.files("voice_gateway") / "scenarios"


Said = tuple[int | None, str]
"""A mistake: its line, from 1, and the sentence."""


class ScenarioError(VoiceError):
    """A scenario cannot be used. ``mistakes`` are the first of them, each with the line where it stands."""

    code = "invalid_scenario"

    def __init__(self, file: str, mistakes: list[Said]) -> None:
        self.file, self.mistakes = file, mistakes
        super().__init__(self._told(file))

    @property
    def outside(self) -> str:
        """The message for who opens a session: without the folder that the file lies in."""
        return self._told(Path(self.file).name)

    def _told(self, file: str) -> str:
        return "\n".join(f"{file}{f', line {line}' if line else ''}: {said}" for line, said in self.mistakes)


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


def line_of(named: str, place: Place) -> int | None:
    """The line of a place in a scenario that :func:`load` reads."""
    try:
        text = _text(SHIPPED / f"{named}.yaml" if named in shipped() else Path(named).expanduser(), named)
        return _line(_composed(text), place)
    except (ScenarioError, _Unreadable):
        return None


def _read(file: Traversable | Path, name: str, tools: Collection[str] | None) -> Scenario:
    return read(_text(file, name), name, tools)


def _text(file: Traversable | Path, name: str) -> str:
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
    return text


def read(text: str, name: str, tools: Collection[str] | None = None) -> Scenario:
    """Read a scenario's text; ``name`` is what mistakes call its file."""
    fixed = tools if isinstance(cast(object, tools), Hashable) else frozenset(cast("Collection[str]", tools))
    outcome = _outcome(text, fixed)
    if isinstance(outcome, Scenario):
        return outcome
    raise ScenarioError(name, list(outcome))


@lru_cache(maxsize=8)
def _outcome(text: str, tools: Collection[str] | None) -> Scenario | tuple[Said, ...]:
    """The scenario, or its mistakes; every opening asks, and the text has changed since in hardly any of them."""
    try:
        document = _composed(text)
    except _Unreadable as unreadable:
        return (unreadable.said,)
    if wrong := [*islice(_unusable(document), MAX_TOLD)]:
        return tuple(wrong)
    try:
        scenario = Scenario.model_validate(_plain(document))
    except ValidationError as error:
        return tuple(_said(document, fault) for fault in islice(_telling(error), MAX_TOLD))
    found = islice(mistakes(scenario, tools), MAX_TOLD)
    return tuple((_line(document, place), said) for place, said in found) or scenario


def _telling(error: ValidationError) -> Iterator[ErrorDetails]:
    """The faults without those that only follow from others: a list is not too short for its items being wrong."""
    faults = [fault for fault in error.errors(include_url=False) if not _other_kind(fault)]
    wrong_inside = {fault["loc"][0] for fault in faults if len(fault["loc"]) > 1}
    for fault in faults:
        if not (fault["type"] == "too_short" and fault["loc"][0] in wrong_inside):
            fault["loc"] = tuple(step for step in fault["loc"] if step not in _KINDS_OF_VOICE)
            yield fault


_KINDS_OF_VOICE: Final = frozenset({"constrained-str", Voices.__name__})


def _other_kind(fault: ErrorDetails) -> bool:
    """Whether this says of a voice only that it is not written in the other of the two ways."""
    if Voices.__name__ in fault["loc"]:
        return fault["type"] == "model_type"
    return "constrained-str" in fault["loc"] and isinstance(fault["input"], dict)


class _Unreadable(Exception):
    """The text is no plain YAML; what follows is not looked at."""

    def __init__(self, line: int | None, said: str) -> None:
        super().__init__(said)
        self.said: Said = (line, said)


def _composed(text: str) -> yaml.MappingNode:
    try:
        return _checked(text)
    except yaml.MarkedYAMLError as error:
        mark, problem = error.problem_mark or error.context_mark, error.problem or error.context
        said = TOO_DEEP if problem == "exceeded maximum nesting depth" else f"This is not YAML: {problem}."
        if str(problem).startswith("mapping values are not allowed"):
            said = "This is not YAML: in a text, `: ` begins a field; put the text in quotes."
        raise _Unreadable(mark.line + 1 if mark else None, said) from None
    except yaml.YAMLError:
        raise _Unreadable(None, "This is not YAML: it holds a character that may not be in it.") from None


def _checked(text: str) -> yaml.MappingNode:
    """The nodes; what is not plain data is refused while it is read, before anything is built of it."""
    depth = 0
    for event in cast("Iterator[yaml.Event]", yaml.parse(text, Loader=_LOADER)):
        line = event.start_mark.line + 1
        if isinstance(event, yaml.NodeEvent) and event.anchor is not None:
            raise _Unreadable(line, "Anchors and aliases are not used here; write it out.")
        if isinstance(event, (yaml.ScalarEvent, yaml.CollectionStartEvent)) and event.tag is not None:
            tag = str(event.tag).replace("tag:yaml.org,2002:", "!!", 1)[:60]
            raise _Unreadable(line, f"Tags (`{tag}`) are not used here; leave it out.")
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > MAX_DEPTH:
            raise _Unreadable(line, TOO_DEEP)
    document = cast("yaml.Node | None", yaml.compose(text, Loader=_LOADER))
    if not isinstance(document, yaml.MappingNode):
        raise _Unreadable(1, "A scenario is a list of fields: `name`, `start`, `agents`, `handoffs`.")
    return document


def _unusable(node: yaml.Node) -> Iterator[Said]:
    """What is YAML and yet nothing that a scenario may hold, each with its line."""
    match node:
        case yaml.MappingNode():
            seen: set[str] = set()
            for key, value in cast("list[tuple[yaml.Node, yaml.Node]]", node.value):
                yield from _unusable_name(key, seen)
                yield from _unusable(value)
        case yaml.SequenceNode():
            for value in cast("list[yaml.Node]", node.value):
                yield from _unusable(value)
        case yaml.ScalarNode():
            said, line = str(node.value), node.start_mark.line + 1
            if _UNSTORABLE.search(said):
                yield line, "This text holds NUL, or half a character; leave that out."
            elif node.tag != TEXT and (len(said) > MAX_VALUE or not _constructs(node)):
                yield line, f"`{said[:60]}` cannot stand here as it is; put it in quotes."
        case _:
            pass


def _unusable_name(key: yaml.Node, seen: set[str]) -> Iterator[Said]:
    line = key.start_mark.line + 1
    said = str(key.value) if isinstance(key, yaml.ScalarNode) else ""
    if not said or _UNSTORABLE.search(said):
        yield line, "The name of a field is one word; write one."
    elif key.tag == MERGE:
        yield line, "A merge (`<<`) is not used here; write the fields out."
    elif said in seen:
        yield line, f"The field `{said[:60]}` stands twice here; keep one of them."
    seen.add(said)


def _constructs(node: yaml.ScalarNode) -> bool:
    try:
        _constructed(node)
    except (yaml.YAMLError, ValueError, TypeError, OverflowError):
        return False
    return True


def _constructed(node: yaml.ScalarNode) -> object:
    return node.value if node.tag == TEXT else cast(Any, SafeConstructor()).construct_document(node)


def _plain(node: yaml.Node) -> object:
    """The values of a document in which nothing is unusable."""
    match node:
        case yaml.MappingNode():
            pairs = cast("list[tuple[yaml.Node, yaml.Node]]", node.value)
            return {str(key.value): _plain(value) for key, value in pairs}
        case yaml.SequenceNode():
            return [_plain(value) for value in cast("list[yaml.Node]", node.value)]
        case _:
            return _constructed(cast(yaml.ScalarNode, node))


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
            return line, f"`{field}` of {_lower(whose)} {what_it_is(fault)}."


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
