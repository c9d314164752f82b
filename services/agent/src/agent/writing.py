"""Writing one answer: search, then pieces, each put into the turn's frames as it comes (T7).

Nothing here ends a turn: see :mod:`agent.running` for what is stored and for the last frame.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine
from contextlib import aclosing, nullcontext
from dataclasses import dataclass, field
from typing import Any, Protocol
from uuid import UUID

from redis.exceptions import RedisError

from agent.answering import Answerer, Conversation, Judge, Piece, Plan, Usage
from agent.claims import Claimed
from agent.draft import Draft
from agent.errors import FramesLost, ModelFailed
from agent.history import PastTurn
from agent.prefetching import Prefetches, Prepared
from agent.resuming import Resumed, asked_again, resume
from agent.rounds import TOOL_NAME
from agent.searching import Search
from chassis import conventions
from chassis.telemetry import happened, span
from contracts.frames import AnyFrame, Delta, Sources, Status
from contracts.search import Filter, Passage, SearchResult, Source
from contracts.turns import Turn

FOUND, FIRST_DELTA = "passages found", "first delta"
"""What happens in the span of a turn, seen at a glance in its trace."""


class Frames(Protocol):
    """Where a turn's frames go."""

    def append(self, turn_id: UUID, *frames: AnyFrame) -> Coroutine[Any, Any, object]:
        """Append frames in this order; after a last one they live one more hour."""
        ...


@dataclass(frozen=True)
class Desk:
    """What it takes to write an answer."""

    answerer: Answerer
    judge: Judge
    search: Search
    history: Callable[[UUID, dt.datetime | None], Awaitable[tuple[PastTurn, ...]]]
    answered: Callable[[UUID], Awaitable[tuple[Turn, ...]]]
    prefetches: Prefetches
    frames: Frames


@dataclass
class Progress:
    """How far one turn has come; times are in seconds of the process's own clock, or milliseconds where named so."""

    turn: Claimed
    began: float = field(default_factory=time.monotonic)
    sources: tuple[Source, ...] = ()
    draft: Draft | None = None
    abstained: bool | None = None
    usage: Usage | None = None
    searched_ms: float | None = None
    first_delta_ms: float | None = None

    def since_asked_ms(self) -> float:
        """Milliseconds since the question was accepted, the wait included."""
        return (self.turn.waited_s + time.monotonic() - self.began) * 1000

    @property
    def answer(self) -> str:
        """The text that was written so far: what the deltas join to."""
        return self.draft.text if self.draft else ""

    def count(self, usage: Usage | None) -> None:
        """Add the tokens of one round."""
        if usage is not None:
            self.usage = usage if self.usage is None else self.usage + usage


async def write_answer(progress: Progress, desk: Desk) -> None:
    """Search and write; every failure is a :class:`agent.errors.TurnFailed`, or unforeseen."""
    turn = progress.turn
    await put(desk.frames, turn.turn_id, Status(stage="searching"))
    resumed = await _resumed(turn, desk)
    if resumed is not None:
        progress.sources, pieces = resumed.sources, resumed.pieces()
        passages = tuple(Passage.model_validate(source.model_dump()) for source in resumed.sources)
    else:
        passages, pieces = await _found(progress, desk)
        progress.sources = tuple(as_source(passage) for passage in passages)
    progress.searched_ms = (time.monotonic() - progress.began) * 1000
    happened(FOUND)
    draft = progress.draft = Draft(passages, desk.judge)
    await put(desk.frames, turn.turn_id, Sources(sources=progress.sources), Status(stage="answering"))
    async with aclosing(pieces):
        async for piece in pieces:
            progress.count(piece.usage)
            progress.abstained = piece.abstained if piece.abstained is not None else progress.abstained
            if piece.text:
                await put(desk.frames, turn.turn_id, Delta(text=piece.text), *draft.add(piece.text, piece.quoted))
                if progress.first_delta_ms is None:
                    progress.first_delta_ms = progress.since_asked_ms()
                    happened(FIRST_DELTA)
    if not draft.text.strip():
        raise ModelFailed("The model gave no answer; ask again.")
    await put(desk.frames, turn.turn_id, *draft.finish())
    if progress.abstained is None:
        progress.abstained = not any(sentence.verdict == "supported" for sentence in draft.sentences)


async def _found(progress: Progress, desk: Desk) -> tuple[tuple[Passage, ...], AsyncGenerator[Piece]]:
    """The passages for a question, and the pieces of its answer: prepared ones, or new ones."""
    turn = progress.turn
    conversation = Conversation(turn.question, await desk.history(turn.chat_id, turn.history_since))
    prepared = await _prepared(turn, conversation, desk)
    if prepared is not None:
        progress.count(prepared.plan.usage)
        return prepared.found.passages, replayed(prepared.pieces)
    plan = await desk.answerer.plan(conversation)
    progress.count(plan.usage)
    found = await _retrieve(turn, plan, desk)
    return found.passages, desk.answerer.write(conversation, plan, found)


async def put(frames: Frames, turn_id: UUID, *more: AnyFrame) -> None:
    """Append frames; a Redis that is gone ends the turn, since nobody could tell which of them were read.

    Being cancelled meanwhile waits for the append: what an interruption keeps is exactly what readers were given.
    """
    if not more:
        return
    appending = asyncio.ensure_future(frames.append(turn_id, *more))
    try:
        await asyncio.shield(appending)
    except asyncio.CancelledError:
        await asyncio.gather(appending, return_exceptions=True)
        raise
    except (RedisError, OSError, TimeoutError):
        raise FramesLost from None


def as_source(passage: Passage) -> Source:
    """A passage without what only the writer of the answer needs."""
    return Source.model_validate(passage.model_dump(include=set(Source.model_fields)))


async def replayed(pieces: tuple[Piece, ...]) -> AsyncGenerator[Piece]:
    """Give prepared pieces as if they were written now."""
    for piece in pieces:
        yield piece


async def _prepared(turn: Claimed, conversation: Conversation, desk: Desk) -> Prepared | None:
    if turn.filter != Filter() or turn.history_since is not None:
        return None
    return await desk.prefetches.adopt(turn.prefetch_id, turn.chat_id, conversation)


async def _resumed(turn: Claimed, desk: Desk) -> Resumed | None:
    """What the turn asks to hear of an earlier answer; a model that can be asked goes on in words of its own."""
    wish = asked_again(turn.question)
    if wish is None or (wish == "continue" and desk.answerer.model is not None):
        return None
    return resume(wish, await desk.answered(turn.chat_id))


async def _retrieve(turn: Claimed, plan: Plan, desk: Desk) -> SearchResult:
    as_tool = {conventions.GEN_AI_OPERATION: conventions.EXECUTE_TOOL, conventions.GEN_AI_TOOL_NAME: TOOL_NAME}
    tool = span(f"{conventions.EXECUTE_TOOL} {TOOL_NAME}", as_tool) if desk.answerer.model else nullcontext()
    with tool, span(conventions.RETRIEVAL, {conventions.GEN_AI_OPERATION: conventions.RETRIEVAL}) as current:
        found = await desk.search.find(plan.query, turn.filter)
        current.set_attribute("talkdown.passages", len(found.passages))
        return found
