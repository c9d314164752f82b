"""Asking the agent, and following its answer.

::

    ask -------POST /turns----------> agent
    follow <---Redis turn:{id}------- agent     silent for a while? GET /turns/{id} says what became of it
    withdraw --POST /turns/{id}/cancel--> agent
    heard ----POST /turns/{id}/heard---> agent

A turn belongs to the agent from the moment it is accepted: a client that goes away takes nothing with it.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import logging
from collections.abc import AsyncGenerator, Callable, Coroutine
from typing import Any, Protocol
from uuid import UUID

from pydantic import ValidationError

from chassis.frames import FIRST_CURSOR, FrameHub, FramesLost
from chassis.http import CallFailed, Nonsense, Refused, ServiceClient, Unreachable
from contracts.frames import AnyFrame, Done, Error, frame_adapter
from contracts.search import Filter
from contracts.turns import (
    CancelRequested,
    Heard,
    PrefetchAccepted,
    PrefetchAsked,
    PrefetchedAnswer,
    Turn,
    TurnAccepted,
    TurnAsked,
)
from voice_gateway.errors import AgentUnreachable, AnswerFailed, AnswerLost

log = logging.getLogger(__name__)

EVERYWHERE = Filter()
"""All notes."""
ASK_S = 5.0
LOOK_S = 2.0
WITHDRAW_S = 5.0
AGAIN_S = 0.2
"""The pause before frames are read again when Redis is gone."""


class Agent(Protocol):
    """What a session needs of the agent."""

    def ask(
        self, chat_id: UUID, question: str, within: Filter = EVERYWHERE, since: dt.datetime | None = None
    ) -> asyncio.Task[TurnAccepted]:
        """Put the question to the notes ``within``, with nothing told of what was said before ``since``.

        The task goes on when nobody waits for it, and fails with :class:`AnswerFailed`.
        """
        ...

    def follow(self, turn_id: UUID) -> AsyncGenerator[AnyFrame]:
        """Every frame of the turn, the last one ``done`` or ``error``; :class:`AnswerFailed` when it is lost."""
        ...

    def withdraw(self, asking: asyncio.Task[TurnAccepted], how: CancelRequested) -> None:
        """Stop the turn as soon as its id is known."""
        ...

    def heard(self, turn_id: UUID, characters: int) -> None:
        """So much of the answer was heard, in code points."""
        ...

    async def prefetch(self, chat_id: UUID, question: str) -> str | None:
        """Prepare an answer to what may become a question; gives its text, if one is to be had without a cost."""
        ...


class HttpAgent:
    """The agent over HTTP, its frames over Redis. ``close`` lets what is on its way arrive."""

    def __init__(
        self,
        client: ServiceClient,
        frames: FrameHub,
        *,
        silent_s: float = 2.0,
        lost_s: float = 4.0,
        now: Callable[[], dt.datetime] = lambda: dt.datetime.now(dt.UTC),
    ) -> None:
        self._client, self._frames = client, frames
        self._silent_s, self._lost_s, self._now = silent_s, lost_s, now
        self._tasks: set[asyncio.Task[Any]] = set()

    def ask(
        self, chat_id: UUID, question: str, within: Filter = EVERYWHERE, since: dt.datetime | None = None
    ) -> asyncio.Task[TurnAccepted]:
        """Put the question in its chat."""
        return self._spawn(self._ask(chat_id, question, within, since))

    def withdraw(self, asking: asyncio.Task[TurnAccepted], how: CancelRequested) -> None:
        """Stop the turn that ``asking`` asks for, once it is known which."""
        self._spawn(self._withdraw(asking, how))

    def heard(self, turn_id: UUID, characters: int) -> None:
        """Let the history know how much of the answer was heard."""
        self._spawn(self._tell(f"/turns/{turn_id}/heard", Heard(characters=characters)))

    async def prefetch(self, chat_id: UUID, question: str) -> str | None:
        """Have an answer prepared, and give it when it is."""
        try:
            asked = PrefetchAsked(chat_id=chat_id, question=question)
            # What is prepared lives in one agent: its text is asked for there, and so is the question.
            near = str(chat_id)
            begun = await self._client.post("/prefetch", PrefetchAccepted, asked, timeout=LOOK_S, near=near)
            prepared = await self._client.get(
                f"/prefetch/{begun.prefetch_id}",
                PrefetchedAnswer,
                params={"wait_ms": str(begun.lifetime_ms)},
                timeout=begun.lifetime_ms / 1000 + LOOK_S,
                near=near,
            )
        except (CallFailed, ValidationError):
            return None  # a guess may miss
        return prepared.answer

    async def follow(self, turn_id: UUID) -> AsyncGenerator[AnyFrame]:
        """The turn's frames; when they stay away the agent is asked what became of it."""
        cursor = FIRST_CURSOR
        while True:
            try:
                async with self._frames.read(turn_id, cursor, idle_s=self._silent_s) as batches:
                    async for batch in batches:
                        if not batch:
                            break
                        for place, raw in batch:
                            frame = _frame(raw)
                            yield frame
                            if isinstance(frame, (Done, Error)):
                                return
                            cursor = place.decode()
            except FramesLost:
                await asyncio.sleep(AGAIN_S)
            ended = await self._look_up(turn_id)
            if ended is not None:
                yield ended
                return

    async def close(self) -> None:
        """Let questions and withdrawals that are on their way arrive, for a few seconds at most."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=WITHDRAW_S)
        for task in self._tasks:
            task.cancel()

    def _spawn(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)
        return task

    def _done(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            task.exception()  # who waits for the task is told; without anyone it must not be reported as forgotten

    async def _ask(self, chat_id: UUID, question: str, within: Filter, since: dt.datetime | None) -> TurnAccepted:
        asked = TurnAsked(chat_id=chat_id, question=question, filter=within, history_since=since)
        try:
            return await self._client.post("/turns", TurnAccepted, asked, timeout=ASK_S, near=str(chat_id))
        except Refused as refused:
            raise AnswerFailed(refused.message, failure=refused.code) from refused
        except (Unreachable, Nonsense) as error:
            raise AgentUnreachable from error

    async def _withdraw(self, asking: asyncio.Task[TurnAccepted], how: CancelRequested) -> None:
        try:
            turn = await asyncio.shield(asking)
        except AnswerFailed:
            return
        await self._tell(f"/turns/{turn.turn_id}/cancel", how)

    async def _tell(self, path: str, body: CancelRequested | Heard) -> None:
        try:
            await self._client.call("POST", path, body, timeout=WITHDRAW_S)
        except CallFailed as error:
            log.warning("the agent could not be told", extra={"path": path, "error": type(error).__name__})

    async def _look_up(self, turn_id: UUID) -> Done | Error | None:
        """How the turn ended according to the agent, None while it runs; :class:`AnswerFailed` when it is lost."""
        try:
            turn = await self._client.get(f"/turns/{turn_id}", Turn, timeout=LOOK_S)
        except Refused as refused:
            raise AnswerLost from refused
        except (Unreachable, Nonsense) as error:
            raise AgentUnreachable from error
        if turn.status == "completed" and turn.answer is not None:
            return Done(answer=turn.answer, sources=turn.sources, abstained=turn.abstained)
        if turn.status in ("waiting", "running"):
            beat = turn.heartbeat_at
            if turn.status == "running" and beat and (self._now() - beat).total_seconds() > self._lost_s:
                raise AnswerLost
            return None
        lost = AnswerLost()
        return Error(code=turn.error_code or "worker_lost", message=turn.error_message or lost.message)


def _frame(raw: bytes) -> AnyFrame:
    try:
        return frame_adapter.validate_json(raw)
    except ValidationError as error:
        raise AnswerFailed from error
