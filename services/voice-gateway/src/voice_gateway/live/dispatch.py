"""The tools that a model calls in a turn, and the one response that follows them (L4, O5).

::

    ToolCall, ToolCall ... -> [4 at once] -> each result as soon as it is there --> provider
    ResponseEnded(calls) --------------------------------. both, in either order
    the last result is sent -----------------------------'--> respond(), once
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Protocol

from contracts.vocabulary import JsonObject
from voice_gateway.live.errors import LiveError
from voice_gateway.live.events import ToolCall, ToolResult
from voice_gateway.live.hooks import HookList
from voice_gateway.live.port import Toolbox, ToolError

log = logging.getLogger(__name__)

AT_ONCE = 4
MAX_ROUNDS = 5
MAX_RESULT = 100_000
"""Characters of JSON that a model is given of one result."""
TOOL_S = 30.0
TOO_MANY = "The limit of tool rounds for this turn is reached. Answer with what is known, without another tool."


class Wire(Protocol):
    """How results reach the provider; both wait for a connection that is being restored."""

    async def send_result(self, call: ToolCall, result: JsonObject, asked: Callable[[], bool]) -> None:
        """Send a result, unless ``asked`` is false by the time that there is a connection."""
        ...

    async def respond(self, asked: Callable[[], bool]) -> None:
        """Ask for the response that follows the tools, unless ``asked`` is false by then."""
        ...


@dataclass(eq=False)
class _Round:
    """The calls between two responses that are to be spoken."""

    beyond: bool
    waiting: set[str] = field(default_factory=set[str])
    dispatched: bool = False
    known: bool = True
    followed: bool = False
    answered: bool = True


class Dispatch:
    """Runs the tools of one session; ``told`` gets each result, ``exhausted`` is called when a turn may not go on."""

    def __init__(
        self,
        wire: Wire,
        hooks: HookList,
        *,
        told: Callable[[ToolResult], None],
        exhausted: Callable[[], Awaitable[None]],
        tool_s: float = TOOL_S,
    ) -> None:
        self._wire, self._hooks, self._told, self._exhausted, self._tool_s = wire, hooks, told, exhausted, tool_s
        self._slots = asyncio.Semaphore(AT_ONCE)
        self._round: _Round | None = None
        self._rounds = 0
        self._begun: set[str] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def busy(self) -> bool:
        """Whether a round of calls still waits for its results or for the end of its response."""
        return self._round is not None

    def new_input(self) -> None:
        """The person said something: rounds count anew."""
        self._rounds = 0

    def call(self, call: ToolCall, toolbox: Toolbox, allowed: frozenset[str]) -> bool:
        """Begin a call, of a tool among ``allowed``; False when this call was begun before."""
        if call.id in self._begun:
            return False
        self._begun.add(call.id)
        if self._round is None:
            self._rounds += 1
            self._round = _Round(beyond=self._rounds > MAX_ROUNDS, answered=self._rounds <= MAX_ROUNDS + 1)
        of = self._round
        of.dispatched = False
        of.waiting.add(call.id)
        task = asyncio.create_task(self._work(of, call, toolbox, allowed))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return True

    async def response_ended(self) -> None:
        """The response that holds the calls is generated."""
        if self._round is not None:
            self._round.dispatched = True
            await self._follow(self._round)

    def interrupt(self) -> None:
        """The person spoke: what runs gives its result, and no response follows."""
        if self._round is not None:
            self._round.followed = True
            self._round = None

    def abandon(self) -> None:
        """The provider that asked is gone, and whoever comes after it knows of no call."""
        if self._round is not None:
            self._round.known = False
            self._round = None
        self._begun.clear()

    async def close(self) -> None:
        """Stop what runs."""
        self.abandon()
        tasks = [task for task in self._tasks if task is not asyncio.current_task()]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=2)

    async def _work(self, of: _Round, call: ToolCall, toolbox: Toolbox, allowed: frozenset[str]) -> None:
        with contextlib.suppress(LiveError):  # the session ended while a tool that cannot be stopped was at work
            await self._run(of, call, toolbox, allowed)

    async def _run(self, of: _Round, call: ToolCall, toolbox: Toolbox, allowed: frozenset[str]) -> None:
        async with self._slots:
            result, failed = await self._outcome(of, call, toolbox, allowed)
        await self._wire.send_result(call, result, lambda: of.known)
        self._told(ToolResult(id=call.id, name=call.name, result=result, failed=failed))
        of.waiting.discard(call.id)
        await self._follow(of)

    async def _outcome(
        self, of: _Round, call: ToolCall, toolbox: Toolbox, allowed: frozenset[str]
    ) -> tuple[JsonObject, bool]:
        if of.beyond:
            return {"error": TOO_MANY}, True
        failed = False
        try:
            if call.name not in allowed:
                raise ToolError(f"There is no tool {call.name!r}. There are: {', '.join(sorted(allowed)) or 'none'}.")
            if call.args is None:
                raise ToolError("The arguments are not a JSON object.")
            result = await self._hooks.before_tool(call)
            if result is None:
                async with asyncio.timeout(self._tool_s):
                    result = await toolbox.call(call.name, call.args)
            result = _plain(result)
        except ToolError as error:
            result, failed = {"error": str(error) or "The tool failed."}, True
        except TimeoutError:
            result, failed = {"error": f"The tool gave no result within {self._tool_s:g} s."}, True
        except Exception as error:
            log.warning("a tool failed", extra={"tool": call.name, "error": type(error).__name__})
            result, failed = {"error": "The tool failed."}, True
        await self._hooks.after_tool(call, result, failed=failed)
        return result, failed

    async def _follow(self, of: _Round) -> None:
        if of.followed or of.waiting or not of.dispatched or not of.known:
            return
        of.followed = True
        self._round = None
        if of.answered:
            await self._wire.respond(lambda: of.known)
        else:
            await self._exhausted()


def _plain(result: JsonObject) -> JsonObject:
    try:
        text = json.dumps(result, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise ToolError("The tool gave a result that is no JSON.") from error
    if len(text) > MAX_RESULT:
        raise ToolError(f"The tool gave a result of {len(text)} characters, and {MAX_RESULT} are the most.")
    return json.loads(text)
