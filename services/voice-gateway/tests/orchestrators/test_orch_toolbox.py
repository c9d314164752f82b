"""Tools: any function with type hints, those of one agent, and their failures as data (O5)."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal
from uuid import UUID

import pytest
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from orch_fakes import CHAT, call, echo
from pydantic import BaseModel, Field

from chassis import telemetry
from chassis.settings import ServiceSettings
from voice_gateway.live.port import ToolError
from voice_gateway.orchestrators.functions import tagged, tool_of, tools_in
from voice_gateway.orchestrators.toolbox import MAX_RESULT, Caller, Tools

MARA = Caller(CHAT, "mara", "safety", ("safety",))


class Place(BaseModel):
    """Where."""

    house: Literal["fern", "dry"]
    bench: int = Field(default=1, ge=1)


@dataclass
class Reading:
    """A measured value."""

    bar: float
    at: Place


async def pressure(place: Place, gauges: Annotated[list[str], Field(max_length=3)], user_id: str) -> Reading:
    """Read the pressure of a water line.

    Whatever stands here is for people.

    Args:
        place: where the line
            begins
        gauges: which of them
    """
    assert user_id == "mara"
    return Reading(2.4, place)


def plain(count: int = 2, json: str = "x") -> str:
    """Count.

    :param count: how far
    :param str json: what to repeat
    """
    return f"{threading.current_thread() is threading.main_thread()} {json * count}"


def without_hints(count) -> int:  # pyright: ignore
    """Count."""
    return count  # pyright: ignore[reportUnknownVariableType]


def undocumented(count: int) -> int:
    return count


def spread(*counts: int) -> int:
    """Count."""
    return sum(counts)


@tagged("water", "safety")
def close_valve(chat_id: UUID) -> None:
    """Close the valve."""


def test_a_functions_hints_and_docstring_tell_a_model_what_it_takes() -> None:
    spec = tool_of(pressure).spec
    assert (spec.name, spec.description) == ("pressure", "Read the pressure of a water line.")
    assert spec.parameters["required"] == ["place", "gauges"]
    assert set(spec.parameters["properties"]) == {"place", "gauges"}
    assert spec.parameters["properties"]["place"]["description"] == "where the line begins"
    assert spec.parameters["properties"]["gauges"]["maxItems"] == 3
    assert spec.parameters["additionalProperties"] is False
    repeated = tool_of(plain).spec.parameters["properties"]
    assert repeated["count"]["default"] == 2
    assert repeated["json"]["description"] == "what to repeat"


async def test_coroutines_are_awaited_and_plain_functions_run_in_a_thread() -> None:
    result = await tool_of(pressure).run({"place": {"house": "fern"}, "gauges": ["a"]}, MARA)
    assert result == {"bar": 2.4, "at": {"house": "fern", "bench": 1}}
    assert await tool_of(plain).run({"json": "ab"}, MARA) == {"result": "False abab"}
    assert await tool_of(close_valve).run({}, MARA) == {"result": None}


@pytest.mark.parametrize(
    "args",
    [
        {},
        {"place": {"house": "wet"}, "gauges": []},
        {"place": {"house": "fern"}, "gauges": ["a"] * 4},
        {"place": {"house": "fern"}, "gauges": [], "more": 1},
        {"place": {"house": "fern"}, "gauges": [], "user_id": "tomasz"},
    ],
)
async def test_arguments_that_do_not_fit_are_told_to_the_model(args: dict[str, Any]) -> None:
    with pytest.raises(ToolError, match="The arguments do not fit"):
        await tool_of(pressure).run(args, MARA)


WRONG: list[tuple[Any, str]] = [
    (without_hints, "`count` of the tool `without_hints` has no type hint"),
    (undocumented, "`undocumented` has no docstring"),
    (spread, "takes `counts` in a way that a model cannot give"),
]


@pytest.mark.parametrize(("function", "says"), WRONG)
def test_a_function_that_a_model_cannot_call_is_refused(function: Any, says: str) -> None:
    with pytest.raises(TypeError, match=says):
        tool_of(function)


def test_every_public_function_of_a_file_is_a_tool(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(
        "from os.path import join\n"
        "def tide(day: str) -> str:\n    'When the causeway is dry.'\n    return day\n"
        "def _hidden(day: str) -> str:\n    'No.'\n    return day\n"
    )
    assert [tool.name for tool in tools_in(str(file))] == ["tide"]
    with pytest.raises(FileNotFoundError):
        tools_in(str(tmp_path / "none.py"))


def test_names_are_those_that_models_can_call_and_stand_once() -> None:
    tools = Tools([echo()])
    with pytest.raises(ValueError, match="There are two tools called `echo`"):
        tools.add(echo())
    with pytest.raises(ValueError, match="is no name for a tool"):
        tools.add(tool_of(plain, name="a b"))


async def test_tags_only_narrow() -> None:
    tools = Tools([echo(), tool_of(close_valve), tool_of(plain)])

    def names(named: list[str], tags: list[str] | None, session: list[str] | None) -> list[str]:
        return [spec.name for spec in tools.bound(named, tags, MARA).specs(session)]

    every = ["echo", "close_valve", "plain"]
    assert names(every, None, None) == every
    assert names(every, ["water"], None) == ["close_valve"]
    assert names(["echo", "plain"], ["water"], None) == []
    assert names(every, None, ["test", "water"]) == ["echo", "close_valve"]
    assert names(every, ["water"], ["test"]) == []
    assert names(every, [], None) == []
    with pytest.raises(ToolError, match="There is no tool `plain`; there are: echo"):
        await tools.bound(every, None, MARA).narrowed(["test"]).call("plain", {})


@pytest.mark.behaviour("O5")
async def test_a_tools_failure_is_told_to_the_model_as_data() -> None:
    tools = Tools([echo(), tool_of(pressure)]).bound(["echo", "pressure"], None, MARA)
    fine = await tools.answered(call("echo", {"a": 1}))
    assert (fine.result, fine.failed) == ({"echo": {"a": 1}, "user": "mara", "folders": ["safety"]}, False)
    for name, args, says in (
        ("echo", {"fail": True}, "The tool failed"),
        ("echo", None, "no JSON object"),
        ("zap", {}, "There is no tool `zap`; there are: echo, pressure."),
        ("pressure", {}, "The arguments do not fit"),
    ):
        failed = await tools.answered(call(name, args))
        assert failed.failed
        assert says in failed.result["error"]
        assert "secret" not in failed.result["error"]


async def test_a_result_that_is_too_long_is_cut_and_says_so() -> None:
    tools = Tools([echo()]).bound(["echo"], None, MARA)
    result = await tools.call("echo", {"text": "x" * (MAX_RESULT + 1)})
    assert len(result["result"]) == MAX_RESULT
    assert "was cut off" in result["notice"]


@pytest.mark.behaviour("O6")
async def test_a_call_has_a_span_with_the_tools_and_the_agents_name() -> None:
    spans = InMemorySpanExporter()
    telemetry.setup("test", ServiceSettings(), SimpleSpanProcessor(spans))
    try:
        await Tools([echo()]).bound(["echo"], None, MARA).answered(call("echo", {"fail": True}))
    finally:
        telemetry.setup("test", ServiceSettings())
    (span,) = spans.get_finished_spans()
    assert span.name == "execute_tool echo"
    assert span.attributes is not None
    assert span.attributes["gen_ai.tool.name"] == "echo"
    assert span.attributes["gen_ai.agent.name"] == "safety"
    assert span.attributes["error.type"] == "RuntimeError"
