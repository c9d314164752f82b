"""Talkdown's own agent as a text agent: a turn of the agent service, which searches, cites, and keeps the history."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

from contracts.frames import Delta as DeltaFrame
from contracts.frames import Done, Error
from contracts.turns import MAX_QUESTION_LENGTH, CancelRequested, TurnAccepted
from voice_gateway.agent import Agent
from voice_gateway.errors import AnswerFailed
from voice_gateway.orchestrators.port import Called
from voice_gateway.orchestrators.text_agent import Accepted, Asked, Delta, Written

TOO_LONG = "This is longer than a question may be; say it in fewer words."
NOTHING = "Nothing was asked; say it again."


class OurAgent:
    """Asks the agent service; it calls no tools of ours, and hands over where a person says so."""

    decides = False

    def __init__(self, agent: Agent) -> None:
        self._agent = agent

    def begin(self, asked: Asked) -> OurTurn:
        """A turn that is asked with its first round."""
        return OurTurn(self._agent, asked)


class OurTurn:
    """One turn of the agent service. One that is broken off is interrupted there, with what was heard of it."""

    def __init__(self, agent: Agent, asked: Asked) -> None:
        self._agent, self._asked = agent, asked
        self._asking: asyncio.Task[TurnAccepted] | None = None
        self._heard: int | None = None
        self._over = self._withdrawn = False

    async def round(self, results: Sequence[Called], *, tools: bool = True) -> AsyncGenerator[Written]:
        """Ask, and follow the answer."""
        asked = self._asked
        if not asked.text.strip():
            raise AnswerFailed(NOTHING, failure="no_question")
        if len(asked.text.strip()) > MAX_QUESTION_LENGTH:
            raise AnswerFailed(TOO_LONG, failure="question_too_long")
        self._asking = self._agent.ask(asked.chat_id, asked.text, asked.within, asked.since)
        try:
            turn = await asyncio.shield(self._asking)
            yield Accepted(turn.turn_id, turn.trace_id)
            told = ""
            async with aclosing(self._agent.follow(turn.turn_id)) as frames:
                async for frame in frames:
                    match frame:
                        case DeltaFrame():
                            told += frame.text
                            yield Delta(frame.text)
                        case Done():
                            self._over = True
                            if frame.answer.startswith(told) and len(frame.answer) > len(told):
                                yield Delta(frame.answer[len(told) :])
                            return
                        case Error():
                            self._over = True
                            raise AnswerFailed(frame.message, failure=frame.code)
                        case _:
                            pass
            raise AnswerFailed
        finally:
            if not self._over:
                self._interrupt()

    def heard(self, characters: int) -> None:
        """Let the history know: at once where the answer is complete, else when it is broken off."""
        self._heard = max(characters, self._heard or 0)
        if self._over:
            self._interrupt()

    def _interrupt(self) -> None:
        if self._asking is not None and not self._withdrawn:
            self._withdrawn = True
            self._agent.withdraw(self._asking, CancelRequested(reason="interrupted", heard=self._heard or 0))
