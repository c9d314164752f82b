"""Running one claimed turn to its end: the answer is written, stored, and only then called done (T5).

::

    write_answer ── in time ──> stored ──> `done`
        │                         └ not stored ──> `error` not_stored
        ├── past the deadline ──> failed ──> `error` deadline
        ├── told to stop ───────> cancelled, interrupted or failed ──> `error`
        └── failed ─────────────> failed ──> `error`

Whoever ends a turn in PostgreSQL writes its last frame; a turn that another agent has meanwhile called lost is left
alone.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from typing import Literal

from agent import measuring
from agent.accepting import Publishes
from agent.answering import Usage
from agent.claims import NAME, Answered, Claimed, Claims
from agent.errors import DeadlinePassed, FramesLost, Interrupted, NotStored, Stopped, TurnFailed, Unforeseen
from agent.writing import Desk, Progress, put, write_answer
from chassis import conventions
from chassis.tasks import end
from chassis.telemetry import fail, span
from contracts.events import TurnFinished
from contracts.frames import AnyFrame, Done, Error

log = logging.getLogger(__name__)

STORE_TIMEOUT_S = 3.0
Ended = Literal["completed", "interrupted", "cancelled", "failed"]
_ENDS: dict[type[TurnFailed], Ended] = {Stopped: "cancelled", Interrupted: "interrupted"}


class Lost(Exception):
    """The turn is no longer this worker's: another agent has ended it."""


@dataclass(frozen=True)
class Runner:
    """Runs claimed turns; one a process."""

    desk: Desk
    claims: Claims
    bus: Publishes

    async def run(self, turn: Claimed, stop: asyncio.Future[TurnFailed | None]) -> None:
        """Run a turn to its end, or to the failure that ``stop`` is given; cancelling this ends it without a trace."""
        progress = Progress(turn)
        attributes = {
            conventions.GEN_AI_OPERATION: conventions.INVOKE_AGENT,
            conventions.GEN_AI_AGENT_NAME: NAME,
            conventions.GEN_AI_CONVERSATION_ID: str(turn.chat_id),
            conventions.TURN_ID: str(turn.turn_id),
            conventions.TURN_WAITED_MS: round(turn.waited_s * 1000, 3),
        }
        with span(f"{conventions.INVOKE_AGENT} {NAME}", attributes, parent=turn.traceparent) as current:
            measuring.RUNNING.add(1)
            try:
                failure = await self._written(progress, stop)
                if failure is None:
                    failure = await self._completed(progress)
                if failure is not None:
                    fail(current, type(failure))
                    await self._failed(progress, failure)
            except Lost:
                fail(current, Lost)
                log.warning("a turn was ended by another agent", extra={"turn_id": str(turn.turn_id)})
                return
            finally:
                measuring.RUNNING.add(-1)
            await self._finished(progress, failure)

    async def _written(self, progress: Progress, stop: asyncio.Future[TurnFailed | None]) -> TurnFailed | None:
        work = asyncio.create_task(write_answer(progress, self.desk))
        try:
            await asyncio.wait({work, stop}, timeout=progress.turn.left_s, return_when=asyncio.FIRST_COMPLETED)
        finally:
            finished = work.done()
            await end(work)
        if finished:
            error = work.exception()
            if error is None or isinstance(error, TurnFailed):
                return error
            log.error("a turn failed unforeseen", exc_info=error, extra={"turn_id": str(progress.turn.turn_id)})
            return Unforeseen()
        if not stop.done():
            return DeadlinePassed()
        reason = stop.result()
        if reason is None:
            raise Lost
        return reason

    async def _completed(self, progress: Progress) -> TurnFailed | None:
        """Store the answer, then say so; answers with what ended the turn instead."""
        turn = progress.turn
        try:
            async with asyncio.timeout(STORE_TIMEOUT_S):
                stored = await self.claims.complete(turn.turn_id, _answered(progress))
                reason = None if stored else await self.claims.cancel_reason(turn.turn_id)
        except Exception as error:
            log.error("an answer could not be stored", exc_info=error, extra={"turn_id": str(turn.turn_id)})
            return NotStored()
        if not stored:
            if reason is None:
                raise Lost
            return Interrupted() if reason == "interrupted" else Stopped()
        done = Done(answer=progress.answer, sources=progress.sources, abstained=bool(progress.abstained))
        await self._tell(turn, done)
        return None

    async def _failed(self, progress: Progress, failure: TurnFailed) -> None:
        turn = progress.turn
        status = _ENDS.get(type(failure), "failed")
        answered = _answered(progress) if status == "interrupted" else None
        try:
            async with asyncio.timeout(STORE_TIMEOUT_S):
                ours = await self.claims.end(turn.turn_id, status, failure, answered)
        except Exception as error:
            # The person is told now; the row is ended by whoever sees that its heartbeat stopped.
            log.error("the end of a turn could not be stored", exc_info=error, extra={"turn_id": str(turn.turn_id)})
        else:
            if not ours:
                raise Lost
        await self._tell(turn, Error(code=failure.code, message=failure.message))

    async def _tell(self, turn: Claimed, last: AnyFrame) -> None:
        """Write the last frame; one that cannot be written now is written by a sweep."""
        try:
            await put(self.desk.frames, turn.turn_id, last)
            await self.claims.told(turn.turn_id)
        except FramesLost:
            log.warning("the last frame of a turn waits for Redis", extra={"turn_id": str(turn.turn_id)})
        except Exception as error:
            log.warning("a turn's end is told again later", exc_info=error, extra={"turn_id": str(turn.turn_id)})

    async def _finished(self, progress: Progress, failure: TurnFailed | None) -> None:
        turn, usage = progress.turn, progress.usage
        status: Ended = "completed" if failure is None else _ENDS.get(type(failure), "failed")
        event = TurnFinished(
            turn_id=turn.turn_id,
            chat_id=turn.chat_id,
            status=status,
            abstained=bool(progress.abstained) and failure is None,
            waited_ms=turn.waited_s * 1000,
            searched_ms=progress.searched_ms,
            first_delta_ms=progress.first_delta_ms,
            total_ms=progress.since_asked_ms(),
            input_tokens=usage.input_tokens if usage else None,
            output_tokens=usage.output_tokens if usage else None,
        )
        measuring.ended(event, failure.code if failure else None)
        await self._spent(turn, usage)
        log.info(
            "turn ended",
            extra={
                **event.model_dump(mode="json", exclude={"type"}, exclude_none=True),
                "question": turn.question,
                "error_code": failure.code if failure else None,
                "files": sorted({source.path for source in progress.sources}),
                "passages": len(progress.sources),
                "sentences": len(progress.draft.sentences) if progress.draft else 0,
            },
        )
        try:
            await self.bus.publish(event)
        except Exception as error:
            log.warning("the end of a turn was not published", exc_info=error, extra={"turn_id": str(turn.turn_id)})

    async def _spent(self, turn: Claimed, usage: Usage | None) -> None:
        """Keep what the answer cost; that it cannot be kept costs nobody the answer."""
        model = self.desk.answerer.model
        if usage is None or model is None:
            return
        try:
            async with asyncio.timeout(STORE_TIMEOUT_S):
                await self.claims.spend(turn.chat_id, model, usage)
        except Exception as error:
            log.warning("the tokens of a turn were not stored", exc_info=error, extra={"turn_id": str(turn.turn_id)})


def _answered(progress: Progress) -> Answered:
    sentences = tuple(progress.draft.sentences) if progress.draft else ()
    return Answered(progress.answer, progress.sources, sentences, bool(progress.abstained))
