"""What may be hung into a live session: its start and end, its turns, its tools (L6)."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from copy import deepcopy
from typing import TypeVarTuple

from contracts.vocabulary import JsonObject
from voice_gateway.live.events import ToolCall
from voice_gateway.live.port import ToolError

log = logging.getLogger(__name__)

A = TypeVarTuple("A")


class Hooks:
    """Does nothing; a subclass overrides what it needs. What a hook raises stops no session."""

    async def session_started(self) -> None:
        """Before the first connection is opened."""

    async def turn_started(self, turn: int) -> None:
        """Before anything of turn ``turn`` is told; turns count from 1."""

    async def turn_ended(self, turn: int) -> None:
        """The turn was answered or interrupted, or the session died in it."""

    async def session_ended(self, turns: int) -> None:
        """After the last connection was closed; ``turns`` began, and as many ended."""

    async def before_tool(self, call: ToolCall) -> JsonObject | None:
        """An answer in the tool's place, or None to let it run. Raising refuses the call; a ``ToolError`` says why."""
        return None

    async def after_tool(self, call: ToolCall, result: JsonObject, failed: bool) -> None:
        """The tool gave ``result``, a copy: changing it, or raising, changes nothing of what the model is told."""


class HookList:
    """Several hooks as one, each in its turn and none in another's way. Ends run in the opposite order of starts."""

    def __init__(self, hooks: Sequence[Hooks]) -> None:
        self._hooks = tuple(hooks)
        self._turn: int | None = None
        self._turns = 0
        self._open = False

    async def start(self) -> None:
        """The session begins."""
        self._open = True
        for hook in self._hooks:
            await _quietly(hook.session_started)

    async def start_turn(self, turn: int) -> None:
        """Turn ``turn`` begins; the one before it has ended."""
        await self.end_turn()
        self._turn, self._turns = turn, self._turns + 1
        for hook in self._hooks:
            await _quietly(hook.turn_started, turn)

    async def end_turn(self) -> None:
        """The turn that is open, if one is, ends."""
        turn, self._turn = self._turn, None
        if turn is not None:
            for hook in reversed(self._hooks):
                await _quietly(hook.turn_ended, turn)

    async def end(self) -> None:
        """The session ends, and with it an open turn; only the first call counts."""
        if not self._open:
            return
        self._open = False
        await self.end_turn()
        for hook in reversed(self._hooks):
            await _quietly(hook.session_ended, self._turns)

    async def before_tool(self, call: ToolCall) -> JsonObject | None:
        """The first answer that a hook gives in the tool's place; ``ToolError`` where one refuses or fails."""
        for hook in self._hooks:
            try:
                answer = await hook.before_tool(call)
            except ToolError:
                raise
            except Exception as error:
                log.warning("a hook before a tool failed", extra={"tool": call.name, "error": type(error).__name__})
                raise ToolError("This tool may not be used now.") from error
            if answer is not None:
                return answer
        return None

    async def after_tool(self, call: ToolCall, result: JsonObject, *, failed: bool) -> None:
        """Tell every hook of a result."""
        for hook in self._hooks:
            await _quietly(hook.after_tool, call, deepcopy(result), failed)


async def _quietly(hook: Callable[[*A], Awaitable[None]], *args: *A) -> None:
    try:
        await hook(*args)
    except Exception as error:
        log.warning("a hook failed", extra={"hook": getattr(hook, "__name__", ""), "error": type(error).__name__})
