"""The tools of the gateway, and those of them that one agent may use in one session.

::

    functions ─┐
    MCP ───────┼─> Tools (of the process) ──named by the agent, narrowed by tags, bound to the person──> AgentTools
    built in ──┘
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from chassis import conventions, telemetry
from contracts.vocabulary import JsonObject
from voice_gateway.live.port import ToolError, ToolSpec
from voice_gateway.orchestrators.port import Called
from voice_gateway.orchestrators.text_agent import Call

log = logging.getLogger(__name__)

NAME: Final = re.compile(r"[a-zA-Z0-9_-]{1,64}")
MAX_RESULT: Final = 32_768
"""Characters of a result that a model is told; what is longer is cut off, and it says so."""
BAD_ARGUMENTS: Final = "The arguments are no JSON object."
TOOL_S: Final = 30.0
LATE: Final = "The tool gave no result in time; tell the person that this did not work, and go on."
FAILED: Final = "The tool failed; tell the person that this did not work, and go on."


@dataclass(frozen=True, slots=True)
class Caller:
    """For whom a tool is called. ``folders`` are those that the agent's retrieval is narrowed to."""

    chat_id: UUID
    user_id: str
    agent: str = ""
    folders: tuple[str, ...] = ()


Run = Callable[[JsonObject, Caller], Awaitable[JsonObject]]
"""Calls a tool; :class:`ToolError` tells the model why there is no result."""


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool, whatever it is made of."""

    spec: ToolSpec
    run: Run
    tags: frozenset[str] = frozenset()

    @property
    def name(self) -> str:
        """Its name."""
        return self.spec.name


@dataclass(frozen=True, slots=True)
class Names(Set[str]):
    """Names of tools: those that are there, and any that a server may yet have that has not told its own."""

    there: frozenset[str]
    expected: frozenset[str] = frozenset()

    def __contains__(self, name: object) -> bool:
        return name in self.there or (isinstance(name, str) and _owner(name, self.expected) is not None)

    def __iter__(self) -> Iterator[str]:
        return iter(self.there)

    def __len__(self) -> int:
        return len(self.there)


class Tools:
    """The tools of a process, by name."""

    def __init__(self, tools: Iterable[Tool] = ()) -> None:
        self._tools: dict[str, Tool] = {}
        self._owners: dict[str, str] = {}
        self._expected: dict[str, frozenset[str]] = {}
        for tool in tools:
            self.add(tool)

    def add(self, tool: Tool) -> None:
        """One more; ValueError for a name that is taken, or that no model could call."""
        if not NAME.fullmatch(tool.name):
            raise ValueError(f"`{tool.name}` is no name for a tool: at most 64 letters, digits, `_` and `-`.")
        if tool.name in self._tools:
            raise ValueError(f"There are two tools called `{tool.name}`; give one of them another name.")
        self._tools[tool.name] = tool

    def expect(self, owner: str, tags: frozenset[str]) -> None:
        """A server will tell its tools; until then agents may name any that begins with its name."""
        self._expected[owner] = tags

    def take(self, owner: str, tools: Iterable[Tool]) -> None:
        """The tools of a server, which may be given again; a name that somebody else has stays theirs."""
        self._expected.pop(owner, None)
        for tool in tools:
            if tool.name in self._tools and self._owners.get(tool.name) != owner:
                log.warning("two tools have one name", extra={"tool": tool.name, "left_out": owner})
                continue
            self._tools[tool.name] = tool
            self._owners[tool.name] = owner

    @property
    def names(self) -> Names:
        """What agents may name."""
        return Names(frozenset(self._tools), frozenset(self._expected))

    def bound(
        self,
        names: Collection[str],
        tags: Sequence[str] | None,
        caller: Caller,
        extra: Iterable[Tool] = (),
        parent: Callable[[], str | None] = lambda: None,
    ) -> AgentTools:
        """Those of these names that carry one of ``tags`` (all with None), for one caller; ``extra`` beside them."""
        chosen = [tool for name in names if (tool := self._tools.get(name) or self._missing(name)) is not None]
        kept = {tool.name: tool for tool in chosen if _carries(tool, tags)}
        return AgentTools({**kept, **{tool.name: tool for tool in extra}}, caller, parent)

    def _missing(self, name: str) -> Tool | None:
        """In the place of a tool that its server has not told of: it fails with a sentence until it is there."""
        owner = _owner(name, self._expected)
        if owner is None:
            return None

        async def run(args: JsonObject, caller: Caller) -> JsonObject:
            found = self._tools.get(name)
            if found is None:
                raise ToolError(unreachable(owner))
            return await found.run(args, caller)

        said = f"A tool of `{owner}`, which does not answer right now; a call says whether it does again."
        return Tool(ToolSpec(name, said, {"type": "object", "properties": {}}), run, self._expected[owner])


@dataclass(frozen=True, slots=True)
class AgentTools:
    """The tools of one agent in one session; a :class:`~voice_gateway.live.port.Toolbox`.

    ``parent`` is the ``traceparent`` under which a call is drawn, where that is not the current span.
    """

    tools: Mapping[str, Tool]
    caller: Caller
    parent: Callable[[], str | None] = lambda: None

    def specs(self, tags: Sequence[str] | None = None) -> tuple[ToolSpec, ...]:
        """What a model is told of them. Tags narrow what is there, and never add to it; handing over needs none."""
        return tuple(tool.spec for tool in self.narrowed(tags).tools.values())

    def narrowed(self, tags: Sequence[str] | None) -> AgentTools:
        """Only those that carry one of ``tags`` too."""
        kept = {name: tool for name, tool in self.tools.items() if UNTAGGED in tool.tags or _carries(tool, tags)}
        return AgentTools(kept, self.caller, self.parent)

    async def call(self, name: str, args: JsonObject) -> JsonObject:
        """Run one tool in a span of its own."""
        tool = self.tools.get(name)
        if tool is None:
            there = ", ".join(sorted(self.tools)) or "none"
            raise ToolError(f"There is no tool `{name[:64]}`; there are: {there}.")
        attributes = {
            conventions.GEN_AI_OPERATION: conventions.EXECUTE_TOOL,
            conventions.GEN_AI_TOOL_NAME: name,
            conventions.GEN_AI_AGENT_NAME: self.caller.agent,
            conventions.GEN_AI_CONVERSATION_ID: str(self.caller.chat_id),
        }
        with telemetry.span(f"{conventions.EXECUTE_TOOL} {name}", attributes, parent=self.parent()):
            return shortened(await tool.run(args, self.caller))

    async def answered(self, call: Call) -> Called:
        """Run what a model calls, and give its result or its failure as data (O5)."""
        if call.args is None:
            return Called(call.id, call.name, {}, failure(BAD_ARGUMENTS), failed=True)
        try:
            async with asyncio.timeout(TOOL_S):
                result = await self.call(call.name, call.args)
        except TimeoutError:
            return Called(call.id, call.name, call.args, failure(LATE), failed=True)
        except ToolError as error:
            return Called(call.id, call.name, call.args, failure(str(error)), failed=True)
        except Exception as error:
            log.warning("a tool failed", extra={"tool": call.name, "error": type(error).__name__})
            return Called(call.id, call.name, call.args, failure(FAILED), failed=True)
        return Called(call.id, call.name, call.args, result)


UNTAGGED: Final = "*"
"""The tag of a tool that no choice of tags takes away."""


def unreachable(server: str) -> str:
    """What a model is told of a tool whose server does not answer."""
    return f"The tools of `{server}` cannot be reached right now; tell the person so, and go on without them."


def failure(message: str) -> JsonObject:
    """A failure as a model is told of it."""
    return {"error": message}


def shortened(result: JsonObject, most: int = MAX_RESULT) -> JsonObject:
    """A result that a model can be told: whole, or the first ``most`` characters of it."""
    text = json.dumps(result, ensure_ascii=False)
    if len(text) <= most:
        return result
    return {"result": text[:most], "notice": f"The result was longer than {most} characters and was cut off there."}


def _carries(tool: Tool, tags: Sequence[str] | None) -> bool:
    return tags is None or bool(tool.tags.intersection(tags))


def _owner(name: str, servers: Iterable[str]) -> str | None:
    """The server that a tool of this name would be one of."""
    if not NAME.fullmatch(name):
        return None
    return max((server for server in servers if name.startswith(f"{server}_")), key=len, default=None)
