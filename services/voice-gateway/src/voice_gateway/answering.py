"""The work behind one response: the question is asked, and its frames are told, until either side ends it.

It is one task. The client's cancel stops the turn too, a client that leaves does not: the agent finishes and stores
what was asked. A question that is still on its way when it is cancelled is stopped as soon as its turn is known.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable
from typing import Literal
from uuid import UUID

from opentelemetry.trace import Span

from chassis import conventions, telemetry
from contracts.frames import Delta, Done, Error
from contracts.turns import TurnAccepted
from voice_gateway.agent import Agent
from voice_gateway.errors import AnswerFailed, AnswerLate, GatewayStopping, VoiceError
from voice_gateway.responses import Response

log = logging.getLogger(__name__)

Ending = Literal["cancelled", "left", "stopping"]
CANCELLED = frozenset({"cancelled", "interrupted"})


class Answering:
    """One question being answered. It begins by itself; ``parent`` is the question's ``traceparent`` if it has one."""

    def __init__(
        self,
        agent: Agent,
        response: Response,
        *,
        chat_id: UUID,
        question: str,
        limit_s: float,
        session: str | None = None,
        parent: str | None = None,
        asked: Callable[[UUID, str], None] = lambda _turn, _traceparent: None,
    ) -> None:
        self.response = response
        self._agent, self._chat_id, self._question = agent, chat_id, question
        self._limit_s, self._session, self._parent, self._asked = limit_s, session, parent, asked
        self._asking: asyncio.Task[TurnAccepted] | None = None
        self._ending: Ending | None = None
        self._task = asyncio.create_task(self._run())

    @property
    def done(self) -> bool:
        """Whether nothing of it is left."""
        return self._task.done()

    async def wait(self, timeout: float | None = None) -> None:
        """Wait until it ends by itself, for ``timeout`` seconds at most."""
        await asyncio.wait({self._task}, timeout=timeout)

    async def end(self, why: Ending) -> None:
        """End it now; what the client is told of it has been told when this returns."""
        self._ending = self._ending or why
        self._task.cancel()
        await self.wait()

    async def _run(self) -> None:
        attributes = {
            conventions.GEN_AI_CONVERSATION_ID: str(self._chat_id),
            conventions.GEN_AI_RESPONSE_ID: self.response.id,
        }
        links = [self._session] if self._session else []
        with telemetry.span("voice response", attributes, parent=self._parent or "", links=links) as current:
            try:
                async with asyncio.timeout(self._limit_s):
                    await self._answer(current)
            except TimeoutError:
                self._fail(current, AnswerLate.code, AnswerLate())
            except AnswerFailed as error:
                self._fail(current, error.failure, error)
            except asyncio.CancelledError:
                self._end_early(current)
            except Exception as error:
                # Whatever it is, the session goes on, and the person gets a sentence instead of a silence.
                log.exception("an answer failed unforeseen")
                self._fail(current, "internal", AnswerFailed())
                telemetry.fail(current, type(error))

    async def _answer(self, current: Span) -> None:
        self._asking = self._agent.ask(self._chat_id, self._question)
        turn = await asyncio.shield(self._asking)
        current.set_attribute(conventions.TURN_ID, str(turn.turn_id))
        if traceparent := telemetry.inject():
            self._asked(turn.turn_id, traceparent)
        self.response.begin(turn)
        async with contextlib.aclosing(self._agent.follow(turn.turn_id)) as frames:
            async for frame in frames:
                match frame:
                    case Delta():
                        self.response.say(frame.text)
                    case Done():
                        self.response.complete(frame.answer)
                    case Error() if frame.code in CANCELLED:
                        self.response.cancel()
                    case Error():
                        self.response.fail(frame.code, frame.message)
                        telemetry.fail(current, frame.code)
                    case _:
                        pass
        if self.response.status == "in_progress":
            raise AnswerFailed

    def _fail(self, current: Span, code: str, error: VoiceError) -> None:
        self.response.fail(code, error.message)
        telemetry.fail(current, code)

    def _end_early(self, current: Span) -> None:
        match self._ending:
            case "cancelled":
                self.response.cancel()
                if self._asking is not None:
                    self._agent.withdraw(self._asking)
            case "left":
                pass
            case _:
                self._fail(current, GatewayStopping.code, GatewayStopping())
