"""What the agent keeps for us of chats and people, over HTTP: state, lines, tokens, memory (O3, L5, L7).

Nothing of it may stop a conversation: what cannot be had is missing, what cannot be kept is logged.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from typing import TypeVar
from uuid import UUID

from pydantic import BaseModel, ValidationError

from chassis.http import CallFailed, ServiceClient
from contracts.live import (
    ChatLines,
    ChatState,
    LinesTold,
    LiveLine,
    Memories,
    ProfileCard,
    TokensSpent,
    TokensTold,
    TurnRemembered,
)
from voice_gateway.live.port import Line
from voice_gateway.orchestrators.port import State

log = logging.getLogger(__name__)
M = TypeVar("M", bound=BaseModel)

LONGEST_ANSWER = 40_000


class ChatStore:
    """The agent's store; ``timeout_s`` bounds each request. A :class:`~voice_gateway.orchestrators.port.States`."""

    def __init__(self, client: ServiceClient, *, timeout_s: float = 2.0) -> None:
        self._client, self._timeout_s = client, timeout_s

    async def load(self, chat_id: UUID) -> State:
        """The state of a chat; a fresh one where there is none, or where it cannot be had."""
        kept = await self._had(f"/chats/{chat_id}/state", ChatState)
        return State() if kept is None else State(kept.active, kept.visited, kept.pending, kept.resume_handle)

    async def save(self, chat_id: UUID, state: State) -> None:
        """Keep the state."""
        try:
            kept = ChatState(
                active=state.active, visited=state.visited, pending=state.pending, resume_handle=state.resume_handle
            )
        except ValidationError:
            # A provider may make its handle longer than is kept; the rest of the state counts all the same.
            kept = ChatState(active=state.active, visited=state.visited, pending=state.pending)
        await self._told("PUT", f"/chats/{chat_id}/state", kept)

    async def lines(self, chat_id: UUID, most: int) -> tuple[Line, ...]:
        """The newest lines of a chat, typed or spoken, in the order of time."""
        known = await self._had(f"/chats/{chat_id}/lines", ChatLines, {"most": str(most)})
        return tuple(Line(line.role, line.text) for line in known.lines) if known else ()

    async def keep(self, chat_id: UUID, session_id: UUID, turn: int, line: Line, agent: str | None) -> None:
        """Keep a line of a turn."""
        text = line.text.replace("\0", "").strip()[:LONGEST_ANSWER]
        if text:
            told = LiveLine(session_id=session_id, turn=turn, role=line.role, text=text, agent=agent)
            await self._told("POST", f"/chats/{chat_id}/lines", LinesTold(lines=(told,)))

    async def spend(self, chat_id: UUID, spent: Iterable[tuple[str, str, int, int]]) -> None:
        """Keep what was spent: agent, model, input and output tokens."""
        told = tuple(
            TokensSpent(agent=agent, model=model[:128], input_tokens=taken, output_tokens=given)
            for agent, model, taken, given in spent
        )
        if told:
            await self._told("POST", f"/chats/{chat_id}/tokens", TokensTold(spent=told))

    async def remember(self, user_id: str, chat_id: UUID, said: str, answered: str) -> None:
        """Remember a complete turn of a person."""
        said, answered = (text.replace("\0", "").strip()[:LONGEST_ANSWER] for text in (said, answered))
        if said:
            turn = TurnRemembered(chat_id=chat_id, said=said, answered=answered)
            await self._told("POST", f"/people/{user_id}/memories", turn)

    async def recall(self, user_id: str, query: str, most: int) -> tuple[str, ...]:
        """What a person said and heard that speaks of ``query``, the most telling first."""
        params = {"query": query[:4000], "most": str(most)}
        known = await self._had(f"/people/{user_id}/memories", Memories, params)
        return tuple(_told_of(one.said, one.answered) for one in known.memories) if known else ()

    async def profile(self, user_id: str) -> tuple[str, ...]:
        """What a person said of themselves, the newest first."""
        known = await self._had(f"/people/{user_id}/profile", ProfileCard)
        return tuple(fact.text for fact in known.facts) if known else ()

    async def _had(self, path: str, answer: type[M], params: dict[str, str] | None = None) -> M | None:
        try:
            return await self._client.get(path, answer, params=params, timeout=self._timeout_s)
        except CallFailed as error:
            log.warning("the agent's store could not be read", extra={"error": type(error).__name__})
            return None

    async def _told(self, method: str, path: str, body: BaseModel) -> None:
        try:
            await self._client.call(method, path, body, timeout=self._timeout_s)
        except CallFailed as error:
            log.warning("the agent's store took nothing", extra={"error": type(error).__name__})


def _told_of(said: str, answered: str) -> str:
    return f"Person: {said}" + (f" You: {answered}" if answered else "")


def newest(lines: Sequence[Line]) -> str:
    """What the person said last, by which the rest is recalled."""
    return next((line.text for line in reversed(lines) if line.role == "user"), "")
