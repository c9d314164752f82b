"""The answer to one question: it is asked, and its frames are told, written or spoken, until either side ends it.

::

    frames of the turn --> deltas --------------------> response: text
                           deltas --> phrases --> voice --> response: transcript, and sound

The client's cancel stops the turn too, a client that leaves does not: the agent finishes and stores what was asked. A
question that is still on its way when it is cancelled is stopped as soon as its turn is known. A spoken answer that is
broken off keeps what was heard of it.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable
from uuid import UUID

from opentelemetry.trace import Span

from chassis import conventions, telemetry
from contracts.frames import AnyFrame, Delta, Done, Error
from contracts.turns import CancelRequested, TurnAccepted
from voice_gateway.agent import Agent
from voice_gateway.errors import AnswerFailed
from voice_gateway.heard import Passage, Said
from voice_gateway.phrases import Phrase, Phrases
from voice_gateway.responding import Ending, Responding
from voice_gateway.responses import Response
from voice_gateway.speaking import Voice

CANCELLED = frozenset({"cancelled", "interrupted"})


class Answering(Responding):
    """One question being answered; ``question`` may have to be made out first. Spoken where there is a ``voice``."""

    def __init__(
        self,
        agent: Agent,
        response: Response,
        *,
        chat_id: UUID,
        question: Callable[[], Awaitable[str]],
        limit_s: float,
        voice: Voice | None = None,
        session: str | None = None,
        parent: str | None = None,
        asked: Callable[[UUID, str | None], None] = lambda _turn, _traceparent: None,
        moment: Callable[[str], None] = lambda _name: None,
    ) -> None:
        super().__init__(response, parent=parent, links=[session] if session else [])
        self._agent, self._chat_id, self._question = agent, chat_id, question
        self._limit_s, self._asked, self._moment = limit_s, asked, moment
        self._voice = voice if response.manner else None
        self._asking: asyncio.Task[TurnAccepted] | None = None
        self._said: Said | None = None

    async def respond(self, current: Span) -> None:
        """Ask, and tell the answer."""
        async with asyncio.timeout(self._limit_s):
            turn = await self._ask(current)
            if self._voice is None:
                await self._write(current, turn)
                return
        await self._speak(current, turn, self._voice)

    def stopped(self, why: Ending) -> None:
        """Let the agent stop too; what was heard of a spoken answer is kept."""
        if self._asking is None:
            return
        if self._said is None and why == "cancelled":
            self._agent.withdraw(self._asking, CancelRequested())
            return
        heard = self._said.heard_of_answer() if self._said else 0 if self._voice else None
        self._agent.withdraw(self._asking, CancelRequested(reason="interrupted", heard=heard))

    async def _ask(self, current: Span) -> TurnAccepted:
        question = await self._question()
        self._moment("question")
        self._asking = self._agent.ask(self._chat_id, question)
        turn = await asyncio.shield(self._asking)
        current.set_attribute(conventions.TURN_ID, str(turn.turn_id))
        self._asked(turn.turn_id, telemetry.inject())
        self.response.begin(turn)
        return turn

    async def _write(self, current: Span, turn: TurnAccepted) -> None:
        async with contextlib.aclosing(self._agent.follow(turn.turn_id)) as frames:
            async for frame in frames:
                match frame:
                    case Delta():
                        self.response.say(frame.text)
                    case Done():
                        self.response.complete(frame.answer)
                    case Error():
                        self._broken(current, frame)
                    case _:
                        pass
        if self.response.status == "in_progress":
            raise AnswerFailed

    async def _speak(self, current: Span, turn: TurnAccepted, voice: Voice) -> None:
        phrases: asyncio.Queue[Passage | Done | Error | Exception] = asyncio.Queue()
        reading = asyncio.create_task(self._read(turn, phrases))
        try:
            end = await phrases.get()
            if isinstance(end, Passage):
                assert self.response.manner is not None
                async with voice.lent(self.response, self.response.manner, turn.turn_id) as speaker:
                    self._said = speaker.said
                    while isinstance(end, Passage):
                        await speaker.say(end)
                        end = await phrases.get()
        finally:
            reading.cancel()
            await asyncio.wait({reading})
        match end:
            case Done():
                self.response.complete()
            case Error():
                self._broken(current, end)
            case _:
                raise end

    async def _read(self, turn: TurnAccepted, phrases: asyncio.Queue[Passage | Done | Error | Exception]) -> None:
        """The phrases of the answer while it is written, and then how it ended."""
        try:
            async with asyncio.timeout(self._limit_s):
                async with contextlib.aclosing(self._agent.follow(turn.turn_id)) as frames:
                    async for told in spoken(self._noted(frames)):
                        self._moment("first_phrase")
                        phrases.put_nowait(told)
            phrases.put_nowait(AnswerFailed())
        except Exception as error:
            phrases.put_nowait(error)

    async def _noted(self, frames: AsyncGenerator[AnyFrame]) -> AsyncGenerator[AnyFrame]:
        async for frame in frames:
            if isinstance(frame, Delta):
                self._moment("first_delta")
            yield frame

    def _broken(self, current: Span, error: Error) -> None:
        if error.code in CANCELLED:
            self.response.cancel()
        else:
            self.response.fail(error.code, error.message)
            telemetry.fail(current, error.code)


async def spoken(frames: AsyncGenerator[AnyFrame]) -> AsyncGenerator[Passage | Done | Error]:
    """What there is to say of a turn, phrase by phrase while its frames come, and then its last frame."""
    cutter, told = Phrases(), ""
    async for frame in frames:
        match frame:
            case Delta():
                told += frame.text
                for phrase in cutter.feed(frame.text):
                    yield _passage(phrase, told)
            case Done():
                rest = frame.answer.removeprefix(told) if frame.answer.startswith(told) else ""
                for phrase in [*cutter.feed(rest), *cutter.finish()]:
                    yield _passage(phrase, told + rest)
                yield frame
                return
            case Error():
                yield frame
                return
            case _:
                pass


def _passage(phrase: Phrase, answer: str) -> Passage:
    first, last = phrase.span
    return Passage(phrase.text, answer[first:last], first)
