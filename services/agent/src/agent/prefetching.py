"""Answers prepared on a guess, while it is not yet certain that a person has finished speaking.

Searched and written without a paid model, kept in this process alone, never stored nor counted; forgotten after their
lifetime or when the corpus has changed. A turn of the chat adopts it when the text is the same.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from uuid import UUID, uuid4

from agent.answering import Answerer, Conversation, Piece, Plan
from agent.errors import TurnUnknown
from agent.history import PastTurn
from agent.resuming import asked_again, same_text
from agent.searching import Search
from chassis.tasks import end
from contracts.search import Filter, SearchResult
from contracts.turns import PrefetchedAnswer

log = logging.getLogger(__name__)

MOST = 200
"""How many prepared answers one process keeps; past that the oldest goes."""


@dataclass(frozen=True)
class Prepared:
    """What a search on a guess brought, and the answer to it."""

    question: str
    plan: Plan
    found: SearchResult
    pieces: tuple[Piece, ...]


@dataclass(frozen=True)
class _Guess:
    prefetch_id: UUID
    question: str
    expires: float
    work: asyncio.Task[Prepared]


class Prefetches:
    """The prepared answers of this process, at most one a chat; ``lifetime_s`` in seconds.

    Without an ``answerer`` (one that costs nothing) nothing is prepared, and every guess is soon forgotten.
    """

    def __init__(
        self,
        search: Search,
        history: Callable[[UUID], Awaitable[tuple[PastTurn, ...]]],
        answerer: Answerer | None,
        *,
        lifetime_s: float,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._search = search
        self._history = history
        self._answerer = answerer
        self.lifetime_s = lifetime_s
        self._now = now
        self._guesses: dict[UUID, _Guess] = {}

    def prepare(self, chat_id: UUID, question: str) -> UUID:
        """Begin to prepare, and give the name under which a turn may adopt it."""
        self._forget_expired()
        self._drop(chat_id)
        if len(self._guesses) >= MOST:
            self._drop(next(iter(self._guesses)))
        prefetch_id = uuid4()
        if self._answerer is None or asked_again(question):
            return prefetch_id
        work = asyncio.create_task(self._prepare(chat_id, question, self._answerer))
        work.add_done_callback(_seen)
        self._guesses[chat_id] = _Guess(prefetch_id, same_text(question), self._now() + self.lifetime_s, work)
        return prefetch_id

    async def answer(self, prefetch_id: UUID, wait_s: float) -> PrefetchedAnswer:
        """What was prepared, or is within so many seconds; :class:`TurnUnknown` when it is not known here."""
        self._forget_expired()
        guess = next((guess for guess in self._guesses.values() if guess.prefetch_id == prefetch_id), None)
        if guess is None:
            raise TurnUnknown("There is no such prepared answer here.")
        done, _ = await asyncio.wait({guess.work}, timeout=wait_s)
        if not done:
            return PrefetchedAnswer(prefetch_id=prefetch_id, ready=False)
        if guess.work.cancelled() or guess.work.exception() is not None:
            return PrefetchedAnswer(prefetch_id=prefetch_id, ready=True)
        text = "".join(piece.text for piece in guess.work.result().pieces)
        return PrefetchedAnswer(prefetch_id=prefetch_id, ready=True, answer=text)

    async def adopt(self, prefetch_id: UUID | None, chat_id: UUID, conversation: Conversation) -> Prepared | None:
        """Give what was prepared for this question of a chat, but for the marks at its end.

        Not when it is too old, when the corpus has changed, or when what was said meanwhile makes it another question.
        """
        self._forget_expired()
        guess = self._guesses.pop(chat_id, None)
        if guess is None:
            return None
        if prefetch_id not in (None, guess.prefetch_id) or guess.question != same_text(conversation.question):
            guess.work.cancel()
            return None
        try:
            prepared = await guess.work
        except Exception:
            return None
        assert self._answerer is not None, "without one nothing is prepared"
        planned = await self._answerer.plan(Conversation(prepared.question, conversation.past))
        if planned != prepared.plan:
            return None
        return prepared if await self._search.is_current(prepared.found.corpus_version) else None

    async def close(self) -> None:
        """Forget all of them."""
        works = [guess.work for guess in self._guesses.values()]
        for chat_id in list(self._guesses):
            self._drop(chat_id)
        await end(*works)

    async def _prepare(self, chat_id: UUID, question: str, answerer: Answerer) -> Prepared:
        conversation = Conversation(question, await self._history(chat_id))
        plan = await answerer.plan(conversation)
        found = await self._search.find(plan.query, Filter())
        pieces = tuple([piece async for piece in answerer.write(conversation, plan, found)])
        return Prepared(question, plan, found, pieces)

    def _forget_expired(self) -> None:
        now = self._now()
        for chat_id in [chat_id for chat_id, guess in self._guesses.items() if guess.expires <= now]:
            self._drop(chat_id)

    def _drop(self, chat_id: UUID) -> None:
        if guess := self._guesses.pop(chat_id, None):
            guess.work.cancel()


def _seen(work: asyncio.Task[Prepared]) -> None:
    if not work.cancelled() and (error := work.exception()) is not None:
        log.info("nothing was prepared", extra={"why": type(error).__name__})


@asynccontextmanager
async def open_prefetches(
    search: Search,
    history: Callable[[UUID], Awaitable[tuple[PastTurn, ...]]],
    answerer: Answerer | None,
    lifetime_s: float,
) -> AsyncGenerator[Prefetches]:
    """Keep prepared answers for ``lifetime_s`` seconds each while the block runs."""
    prefetches = Prefetches(search, history, answerer, lifetime_s=lifetime_s)
    try:
        yield prefetches
    finally:
        await prefetches.close()
