"""What will perhaps be said next, prepared before it is asked for.

::

    the words so far may be all --> the agent prepares an answer --> the mouth its first phrase
    a phrase of a turn is read  --> the turn's frames are followed --> the mouth the phrase behind it

A guess costs nothing when it was wrong: it is thrown away.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable
from functools import partial
from uuid import UUID

from contracts.frames import Accepted, AnyFrame
from voice_gateway.agent import Agent
from voice_gateway.answering import spoken
from voice_gateway.errors import AnswerFailed
from voice_gateway.heard import Passage
from voice_gateway.mouth.port import Manner, Mouth
from voice_gateway.phrases import Phrases

log = logging.getLogger(__name__)

FOLLOWED_S = 60.0
"""A turn is followed for so long at most."""


class Foresight:
    """The guesses of one session; ``manner`` gives how it speaks at the moment.

    ``accepted`` is told of each turn that is followed."""

    def __init__(
        self,
        agent: Agent,
        mouth: Mouth,
        chat_id: UUID,
        manner: Callable[[], Manner],
        accepted: Callable[[Accepted], None],
    ) -> None:
        self._agent, self._mouth, self._chat_id, self._manner = agent, mouth, chat_id, manner
        self._accepted = accepted
        self._guessing: asyncio.Task[None] | None = None
        self._guessed: str | None = None
        self._beginning: tuple[str, Manner] | None = None
        """Of the guessed answer, as it was prepared."""
        self._following: asyncio.Task[None] | None = None
        self._turn: UUID | None = None
        self._phrases: list[str] = []
        self._reads: str | None = None

    def perhaps(self, question: str) -> None:
        """The person may have asked this: have the beginning of its answer ready."""
        if question != self._guessed:
            self._stop_guessing()
            self._guessed = question
            self._guessing = self._begin(partial(self._guess, question))

    def forget(self) -> None:
        """They went on, or it was nothing."""
        self._stop_guessing()
        self._drop_beginning()

    def reads(self, turn_id: UUID, text: str) -> None:
        """``text`` of a turn is being read: have what comes behind it ready."""
        if turn_id != self._turn:
            self._turn, self._phrases = turn_id, []
            if self._following is not None:
                self._following.cancel()
            self._following = self._begin(partial(self._follow, turn_id))
        self._reads = text
        self._prepare()

    async def close(self) -> None:
        """Guess no more."""
        tasks = [task for task in (self._guessing, self._following) if task is not None]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    def _begin(self, work: Callable[[], Awaitable[None]]) -> asyncio.Task[None]:
        return asyncio.create_task(self._harmless(work))

    async def _harmless(self, work: Callable[[], Awaitable[None]]) -> None:
        """A guess that fails is only a guess that was not made."""
        try:
            async with asyncio.timeout(FOLLOWED_S):
                await work()
        except (AnswerFailed, TimeoutError):
            pass
        except Exception:
            log.exception("a guess failed unforeseen")

    def _stop_guessing(self) -> None:
        self._guessed = None
        if self._guessing is not None:
            self._guessing.cancel()

    def _drop_beginning(self) -> None:
        if self._beginning is not None:
            self._mouth.forget(*self._beginning)
            self._beginning = None

    async def _guess(self, question: str) -> None:
        answer = await self._agent.prefetch(self._chat_id, question) or ""
        phrases = Phrases()
        first = next(iter([*phrases.feed(answer), *phrases.finish()]), None)
        if first is None:
            return
        beginning = (first.text, self._manner())
        if beginning != self._beginning:
            self._drop_beginning()
            self._beginning = beginning
        self._mouth.prepare(*beginning)

    async def _follow(self, turn_id: UUID) -> None:
        async with contextlib.aclosing(self._agent.follow(turn_id)) as frames:
            async for told in spoken(self._noted(frames)):
                if isinstance(told, Passage):
                    self._phrases.append(told.text)
                    self._prepare()

    async def _noted(self, frames: AsyncGenerator[AnyFrame]) -> AsyncGenerator[AnyFrame]:
        async for frame in frames:
            if isinstance(frame, Accepted):
                self._accepted(frame)
            yield frame

    def _prepare(self) -> None:
        """Prepare what is behind the phrase that is read, once it is known; what was read before is done with."""
        if self._reads not in self._phrases:
            return
        place = self._phrases.index(self._reads)
        if len(self._phrases) > place + 1:
            del self._phrases[:place]
            self._reads = None
            self._mouth.prepare(self._phrases[1], self._manner())
