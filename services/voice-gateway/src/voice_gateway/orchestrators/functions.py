"""Any plain Python function with type hints as a tool.

Its name is the tool's, the first paragraph of its docstring the description, the hints make the JSON Schema, and an
``Args:`` section or ``:param name:`` lines describe the parameters. Coroutines are awaited, the rest runs in a thread.
A parameter called ``user_id`` or ``chat_id`` is given by the gateway, and no model sees it.
"""

from __future__ import annotations

import asyncio
import importlib.util
import inspect
import re
import sys
import typing
import zlib
from collections.abc import Awaitable, Callable, Iterable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, Final, TypeVar, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model
from pydantic_core import to_jsonable_python

from contracts.vocabulary import JsonObject
from voice_gateway.live.port import ToolError, ToolSpec
from voice_gateway.orchestrators.toolbox import Caller, Tool

GIVEN: Final = frozenset({"user_id", "chat_id"})
F = TypeVar("F", bound=Callable[..., Any])
_TAGS: Final = "__talkdown_tags__"
_PARAM: Final = re.compile(r"^\s*:param\s+(?:[^:\s]+\s+)?(\w+)\s*:\s*(.+)$")
_ARG: Final = re.compile(r"^(\w+)\s*(?:\([^)]*\))?\s*:\s*(.+)$")


def tagged(*tags: str) -> Callable[[F], F]:
    """Give a function tags, by which agents choose among tools."""

    def mark(function: F) -> F:
        setattr(function, _TAGS, frozenset(tags))
        return function

    return mark


def tool_of(function: Callable[..., Any], *, name: str | None = None, tags: Iterable[str] = ()) -> Tool:
    """A function as a tool; TypeError where a hint is missing or cannot be told a model."""
    called = name or function.__name__
    said, arguments = _documented(inspect.getdoc(function) or "")
    if not said:
        raise TypeError(f"The tool `{called}` has no docstring; say in one what it does, since a model reads it.")
    wanted, given = _parameters(function, called, arguments)
    try:
        schema = wanted.model_json_schema(by_alias=True)
    except Exception as error:
        raise TypeError(f"The hints of the tool `{called}` cannot be told a model: {error}") from error
    schema.pop("title", None)
    schema.setdefault("properties", {})
    schema["additionalProperties"] = False
    marked = cast("frozenset[str]", getattr(function, _TAGS, frozenset[str]()))
    return Tool(ToolSpec(called, said, schema), _runner(function, wanted, given), marked | frozenset(tags))


def tools_in(place: str) -> list[Tool]:
    """The tools of a Python file or an importable module: each function that is defined there and has a public name."""
    module = _module(place)
    functions = [
        value
        for name, value in vars(module).items()
        if inspect.isfunction(value) and value.__module__ == module.__name__ and not name.startswith("_")
    ]
    return [tool_of(function) for function in functions]


def _module(place: str) -> ModuleType:
    if not place.endswith(".py"):
        return importlib.import_module(place)
    path = Path(place).expanduser().resolve()
    name = f"talkdown_tools_{path.stem}_{zlib.crc32(str(path).encode()):08x}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None or not path.is_file():
        raise FileNotFoundError(f"There is no file {place}.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except SystemExit as error:
        del sys.modules[name]
        raise ImportError("It ends the program when it is loaded; put that under `if __name__ == ...`.") from error
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _parameters(
    function: Callable[..., Any], called: str, described: dict[str, str]
) -> tuple[type[BaseModel], frozenset[str]]:
    """A model of what a model may set, and the names of what the gateway gives."""
    hints = typing.get_type_hints(function, include_extras=True)
    fields: dict[str, Any] = {}
    given: set[str] = set()
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY):
            raise TypeError(
                f"The tool `{called}` takes `{name}` in a way that a model cannot give; name its parameters."
            )
        if name in GIVEN:
            given.add(name)
            continue
        if name not in hints:
            raise TypeError(f"The parameter `{name}` of the tool `{called}` has no type hint; give it one.")
        default = ... if parameter.default is parameter.empty else parameter.default
        # By an alias, since a parameter may be called as something that a model of pydantic has: `json`, `copy`.
        told = Field(default=default, alias=name, title=name, description=described.get(name))
        fields[f"parameter_{name}"] = (hints[name], told)
    return create_model(called, __config__=ConfigDict(extra="forbid"), **fields), frozenset(given)


def _runner(
    function: Callable[..., Any], wanted: type[BaseModel], given: frozenset[str]
) -> Callable[[JsonObject, Caller], Awaitable[JsonObject]]:
    async def run(args: JsonObject, caller: Caller) -> JsonObject:
        try:
            read = wanted.model_validate(args)
        except ValidationError as error:
            raise ToolError(_wrong(error)) from None
        values: dict[str, Any] = {info.alias or "": getattr(read, name) for name, info in wanted.model_fields.items()}
        values |= {name: getattr(caller, name) for name in given}
        if inspect.iscoroutinefunction(function):
            result = await function(**values)
        else:
            result = await asyncio.to_thread(function, **values)
            if inspect.isawaitable(result):
                result = await result
        return as_result(result)

    return run


def as_result(value: object) -> JsonObject:
    """What a function gave as a JSON object; anything else is its ``result``."""
    plain: object = to_jsonable_python(value, fallback=str)
    if isinstance(plain, dict):
        return cast(JsonObject, plain)
    return {"result": plain}


def _wrong(error: ValidationError) -> str:
    faults = error.errors(include_url=False, include_context=False, include_input=False)[:3]
    said = "; ".join(f"`{'.'.join(map(str, fault['loc']))}`: {fault['msg']}" for fault in faults)
    return f"The arguments do not fit: {said}."


def _documented(docstring: str) -> tuple[str, dict[str, str]]:
    """The first paragraph of a docstring, and what it says of parameters."""
    first = " ".join(docstring.split("\n\n")[0].split())
    return first, dict(_arguments(docstring.split("\n")))


def _arguments(lines: list[str]) -> Iterator[tuple[str, str]]:
    inside, name, said = False, "", ""
    for line in lines:
        if told := _PARAM.match(line):
            yield told[1], told[2].strip()
        elif line.strip() in ("Args:", "Arguments:", "Parameters:"):
            inside = True
        elif inside and line.strip() and not line.startswith((" ", "\t")):
            inside = False
        elif inside and line.strip():
            begun = _ARG.match(line.strip())
            if begun:
                if name:
                    yield name, said
                name, said = begun[1], begun[2].strip()
            else:
                said = f"{said} {line.strip()}"
    if name:
        yield name, said
