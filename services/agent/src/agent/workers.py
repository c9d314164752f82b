"""The workers of one process: they claim waiting turns, run many at once, and show that they live.

::

    a question here ─┐
    a hint (bus) ────┼──> wake ──> claim until nothing waits or all places are taken ──> a task a turn
    each sweep ──────┘
    each second: heartbeat ──> turns that are no longer ours are dropped, cancelled ones are told to stop

A turn is run by the claim alone, never by a hint: hints may come late, twice, or not at all.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Protocol
from uuid import UUID

from agent.claims import CancelReason, Claimed
from agent.errors import Interrupted, NotStored, Stopped, Stopping, TurnFailed
from chassis.tasks import end
from contracts.events import TurnRequested

log = logging.getLogger(__name__)

Stop = asyncio.Future[TurnFailed | None]
"""Resolved when a running turn is to end early: with the reason, or with nothing when it is no longer ours."""

HEARTBEAT_TIMEOUT_S = 2.0
STOPPING_S = 2.0
"""How long the last words of turns may take after their grace."""


class ClaimsTurns(Protocol):
    """What workers do in PostgreSQL."""

    async def claim(self) -> Claimed | None:
        """Take a turn."""
        ...

    async def heartbeat(self) -> dict[UUID, CancelReason | None]:
        """Show that this process lives."""
        ...

    async def cancel_reason(self, turn_id: UUID) -> CancelReason | None:
        """Why a turn was cancelled."""
        ...


class RunsTurns(Protocol):
    """What runs one turn to its end."""

    async def run(self, turn: Claimed, stop: Stop) -> None:
        """Run it."""
        ...


class Workers:
    """The running turns of this process; times in seconds."""

    def __init__(
        self,
        claims: ClaimsTurns,
        runner: RunsTurns,
        *,
        at_once: int = 128,
        heartbeat_s: float = 1.0,
        lost_after_s: float = 4.0,
    ) -> None:
        self._claims = claims
        self._runner = runner
        self._places = asyncio.Semaphore(at_once)
        self._heartbeat_s = heartbeat_s
        self._lost_after_s = lost_after_s
        self._work = asyncio.Event()
        self._stops: dict[UUID, Stop] = {}
        self._tasks: dict[UUID, asyncio.Task[None]] = {}
        self._asking: set[asyncio.Task[None]] = set()

    def wake(self) -> None:
        """Say that a turn may be waiting."""
        self._work.set()

    async def on_turn_requested(self, event: TurnRequested) -> None:
        """Take the hint that a question waits."""
        del event
        self.wake()

    @property
    def running(self) -> frozenset[UUID]:
        """The turns that this process runs."""
        return frozenset(self._tasks)

    def cancelled(self, turn_id: UUID) -> bool:
        """Look at once why a turn was cancelled, if it runs here; says whether it does."""
        if turn_id not in self._tasks:
            return False
        asking = asyncio.create_task(self._ask_why(turn_id))
        self._asking.add(asking)
        asking.add_done_callback(self._asking.discard)
        return True

    async def claim_turns(self) -> None:
        """Claim and start turns until cancelled; a database that is gone is tried again at the next wake."""
        while True:
            await self._work.wait()
            self._work.clear()
            try:
                await self._claim_all()
            except Exception as error:
                log.warning("turns cannot be claimed now", exc_info=error)

    @asynccontextmanager
    async def alive(self, grace_s: float) -> AsyncGenerator[None]:
        """Keep the heartbeat while the block runs; then the running turns have their grace before they are ended."""
        beating = asyncio.create_task(self._beat())
        try:
            yield
        finally:
            try:
                await self._drain(grace_s)
            finally:
                await end(beating, *self._asking)

    async def _claim_all(self) -> None:
        while True:
            await self._places.acquire()
            started = False
            try:
                turn = await self._claims.claim()
                if turn is None:
                    return
                self._start(turn)
                started = True
            finally:
                if not started:
                    self._places.release()

    def _start(self, turn: Claimed) -> None:
        stop: Stop = asyncio.get_running_loop().create_future()
        self._stops[turn.turn_id] = stop
        task = asyncio.create_task(self._runner.run(turn, stop), name=f"turn {turn.turn_id}")
        self._tasks[turn.turn_id] = task
        task.add_done_callback(lambda done: self._ended(turn.turn_id, done))

    def _ended(self, turn_id: UUID, task: asyncio.Task[None]) -> None:
        self._stops.pop(turn_id).cancel()
        del self._tasks[turn_id]
        self._places.release()
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("a turn's run broke", exc_info=error, extra={"turn_id": str(turn_id)})
        self.wake()  # the next turn of the chat may begin

    def _tell_to_stop(self, turn_id: UUID, failure: TurnFailed | None) -> None:
        stop = self._stops.get(turn_id)
        if stop is not None and not stop.done():
            stop.set_result(failure)

    async def _ask_why(self, turn_id: UUID) -> None:
        try:
            reason = await self._claims.cancel_reason(turn_id)
        except Exception as error:  # the heartbeat asks again
            log.warning("why a turn was cancelled is not known yet", exc_info=error)
            return
        if reason is not None:
            self._tell_to_stop(turn_id, _failure_of(reason))

    async def _beat(self) -> None:
        last = time.monotonic()
        while True:
            began, before = time.monotonic(), set(self._tasks)
            if before:
                try:
                    async with asyncio.timeout(HEARTBEAT_TIMEOUT_S):
                        ours = await self._claims.heartbeat()
                except Exception as error:
                    log.warning("no heartbeat could be given", exc_info=error)
                    if time.monotonic() - last > self._lost_after_s:
                        for turn_id in before:
                            self._tell_to_stop(turn_id, NotStored())
                else:
                    last = began
                    self._compare(before, ours)
            else:
                last = began
            await asyncio.sleep(max(0.0, self._heartbeat_s - (time.monotonic() - began)))

    def _compare(self, before: set[UUID], ours: dict[UUID, CancelReason | None]) -> None:
        for turn_id in before & self._tasks.keys():
            reason = ours.get(turn_id)
            if reason is not None:
                self._tell_to_stop(turn_id, _failure_of(reason))
            elif turn_id not in ours:
                # It may also have just ended here; a run that is past its writing hears no stop any more.
                self._tell_to_stop(turn_id, None)

    async def _drain(self, grace_s: float) -> None:
        if self._tasks:
            await asyncio.wait(self._tasks.values(), timeout=grace_s)
        for turn_id in list(self._tasks):
            self._tell_to_stop(turn_id, Stopping())
        if self._tasks:
            await asyncio.wait(self._tasks.values(), timeout=STOPPING_S)
        await end(*self._tasks.values())


def _failure_of(reason: CancelReason) -> TurnFailed:
    return Interrupted() if reason == "interrupted" else Stopped()
