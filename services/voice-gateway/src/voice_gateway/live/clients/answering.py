"""One answer of a local session, from its question to the last of its sound.

::

    cascade.process_turn --chunks--> [three wait] --> Aloud          spoken
                        `----------> OutputTranscript                written

It can be broken off at any moment, but never before it began: a question that was taken is asked, and a floor that
changed hands in it is told.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Protocol

from chassis import conventions, telemetry
from voice_gateway.conversation import new_id
from voice_gateway.errors import AnswerFailed
from voice_gateway.live.clients.aloud import Aloud, Utterance
from voice_gateway.live.events import (
    AgentChanged,
    AudioDelta,
    Failure,
    OutputTranscript,
    RealtimeEvent,
    ResponseEnded,
    ResponseStarted,
    TurnStarted,
)
from voice_gateway.mouth.port import Manner
from voice_gateway.orchestrators.port import Cascade, Context

log = logging.getLogger(__name__)

CHUNKS_AHEAD = 3
"""So many chunks wait to be spoken; who writes faster waits."""


class TellOf(Protocol):
    """Tells an event of an answer."""

    def __call__(self, event: RealtimeEvent, answer: Answer) -> None:
        """It does not wait."""
        ...


class Answer:
    """The answer to one question: ``aloud`` speaks it, without one it is written.

    ``manner`` is how a chunk in an agent's voice is spoken, ``complete`` is given the words of one that came to its
    end, ``session`` is the trace that its own is linked to.
    """

    def __init__(
        self,
        cascade: Cascade,
        context: Context,
        tell: TellOf,
        aloud: Aloud | None,
        *,
        manner: Callable[[str | None], Manner],
        complete: Callable[[str], None],
        transcribes: bool,
        session: str | None,
    ) -> None:
        self._cascade, self._context, self._tell_of, self._aloud = cascade, context, tell, aloud
        self._manner, self._transcribes, self._session = manner, transcribes, session
        self._complete = complete
        self.id = new_id("resp")
        self.written = ""
        self._saying = aloud.begin(self.id) if aloud is not None else None
        self._untold: list[AgentChanged] = []
        self._began = asyncio.Event()
        self._seen = self._withdrawn = False
        self._task = asyncio.create_task(self._run())

    @property
    def over(self) -> bool:
        """Whether it was given to its end, or broken off."""
        return self._task.done()

    def withdraw(self) -> None:
        """The person is told that it was interrupted: whoever has not seen it begin is spared it."""
        self._withdrawn = True

    def shows(self, event: RealtimeEvent) -> bool:
        """Whether an event of it is still to be read, now that its time has come."""
        match event:
            case ResponseStarted():
                self._seen = not self._withdrawn
                return self._seen
            case TurnStarted() | AudioDelta() | OutputTranscript():
                return not self._withdrawn
            case ResponseEnded():
                return self._seen
            case _:
                return True

    def told(self, event: RealtimeEvent) -> None:
        """The event was told."""
        if isinstance(event, AgentChanged) and event in self._untold:
            self._untold.remove(event)

    async def stop(self, played_ms: int | None, told: Callable[[], None]) -> str:
        """Break it off, and give what was heard of it; ``told`` is called before anything of its end is told.

        The cascade hears of it before it is cancelled. One that ended by itself meanwhile was not broken off.
        """
        try:
            await self._began.wait()
            if self._task.done():
                return ""
            heard = self.written
            if self._saying is not None and self._aloud is not None:
                heard = self._aloud.cut(self._saying, played_ms)
            told()
            self._cascade.heard(heard)
        finally:
            self._task.cancel()
        await asyncio.wait({self._task})
        if not self._task.cancelled():
            return ""
        for change in [*self._untold]:
            self._tell(change)
        self._tell(ResponseEnded(response_id=self.id, status="cancelled"))
        return heard

    def _tell(self, event: RealtimeEvent) -> None:
        self._tell_of(event, self)

    async def _run(self) -> None:
        self._began.set()
        attributes = {conventions.GEN_AI_CONVERSATION_ID: str(self._context.chat_id)}
        links = [self._session] if self._session else []
        with telemetry.span("voice turn", attributes, parent="", links=links) as current:
            if traceparent := telemetry.traceparent_of(current):
                self._tell(TurnStarted(turn=0, trace_id=traceparent.split("-")[1]))
            self._tell(ResponseStarted(response_id=self.id))
            try:
                await self._given()
                status = "completed"
            except AnswerFailed as error:
                telemetry.fail(current, error.failure)
                self._tell(Failure(code=error.failure, message=error.message))
                status = "failed"
            except Exception as error:
                log.exception("a turn of a live session failed unforeseen")
                telemetry.fail(current, type(error))
                self._tell(Failure(code="internal", message=AnswerFailed().message))
                status = "failed"
        if self.written:
            self._complete(self.written)
            if self._transcribes:
                self._tell(OutputTranscript(text=self.written, finished=True))
        self._tell(ResponseEnded(response_id=self.id, status=status))

    async def _given(self) -> None:
        if self._aloud is None or self._saying is None:
            await self._cascade.process_turn(self._context, self._write, self._tell)
            return
        chunks: asyncio.Queue[tuple[str, Manner] | RealtimeEvent | None] = asyncio.Queue(CHUNKS_AHEAD)
        talking = asyncio.create_task(_talk(self._saying, chunks, self._aloud))
        try:
            await self._written_and_talked(chunks, talking, self._aloud)
        finally:
            talking.cancel()
            await asyncio.wait({talking})

    async def _written_and_talked(
        self,
        chunks: asyncio.Queue[tuple[str, Manner] | RealtimeEvent | None],
        talking: asyncio.Task[None],
        aloud: Aloud,
    ) -> None:
        changes: list[RealtimeEvent] = []

        async def put(given: tuple[str, Manner] | RealtimeEvent | None) -> None:
            putting = asyncio.ensure_future(chunks.put(given))
            try:
                await asyncio.wait({putting, talking}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                putting.cancel()
            if talking.done():
                talking.result()

        async def speak(text: str, voice: str | None = None) -> None:
            while changes:
                await put(changes.pop(0))
            manner = self._manner(voice)
            aloud.prepare(text, manner)
            self.written += (" " if self.written else "") + text
            await put((text, manner))

        def tell(event: RealtimeEvent) -> None:
            # Another agent has the floor from its first word on, and that may be heard later.
            if isinstance(event, AgentChanged):
                self._untold.append(event)
                changes.append(event)
            else:
                self._tell(event)

        failure: AnswerFailed | None = None
        try:
            await self._cascade.process_turn(self._context, speak, tell)
        except AnswerFailed as error:
            failure = error
            await speak(error.message)
        for change in changes:
            await put(change)
        await put(None)
        await talking
        if failure is not None:
            raise failure

    async def _write(self, text: str, voice: str | None = None) -> None:
        gap = " " if self.written else ""
        self.written += gap + text
        self._tell(OutputTranscript(text=gap + text))


async def _talk(
    saying: Utterance, chunks: asyncio.Queue[tuple[str, Manner] | RealtimeEvent | None], aloud: Aloud
) -> None:
    while (given := await chunks.get()) is not None:
        if isinstance(given, tuple):
            await aloud.say(saying, *given)
        else:
            aloud.mark(saying, given)
    await aloud.finish(saying)
