"""Handles what an adapter receives: one at a time for a key, many keys at once, attempts, dead letters, a graceful end.

::

    adapter --take(delivery)--> lane of its key --runner--> handler
                                                  ├─ done ----------> settling.done
                                                  ├─ failed --------> settling.again after a pause
                                                  └─ rejected, or
                                                     failed too often > settling.bury
"""

from __future__ import annotations

import asyncio
import logging
import time
import traceback
from collections import deque
from collections.abc import Callable
from pathlib import PurePath
from typing import Any, NamedTuple, Protocol

from pydantic import ValidationError

from chassis import conventions, metrics
from chassis.bus.errors import Reject
from chassis.bus.port import GaveUp, Handler, Handlers, Options
from chassis.bus.wire import Delivery
from chassis.plain import Plain
from chassis.telemetry import CONSUMER, fail, span
from contracts.events import Event, type_of

log = logging.getLogger(__name__)

PROCESSED = metrics.histogram(
    conventions.MESSAGING_PROCESS_DURATION, "s", "How long a handler took for an event, whether it succeeded or not."
)
DEAD_LETTERS = metrics.counter("talkdown.bus.dead_letters", "{event}", "Events that became dead letters.")

NEVER_FINISHED = 3
"""So often an event is begun, at least, before it is taken to end its process: others end with it once or twice."""


class Settling(Protocol):
    """How an adapter lets go of what it received."""

    async def ours(self, delivery: Delivery) -> bool:
        """Whether it may be begun here; waits where that is not certain."""
        ...

    def dropped(self, delivery: Delivery) -> None:
        """It was not begun, because it is another process's now."""
        ...

    def done(self, delivery: Delivery) -> None:
        """It was handled."""
        ...

    def again(self, delivery: Delivery, pause_s: float) -> None:
        """Hand it in again after a pause, with one attempt more."""
        ...

    async def bury(self, delivery: Delivery, reason: str) -> None:
        """Make it a dead letter; raises when that could not be stored."""
        ...


class _Route(NamedTuple):
    read: Callable[[bytes], Any]
    handler: Handler


class Worker:
    """The handlers of one consumer, and what they have to do."""

    def __init__(
        self,
        system: str,
        stream: str,
        group: str,
        handlers: Handlers,
        settling: Settling,
        options: Options,
        *,
        concurrency: int,
        gave_up: GaveUp | None,
    ) -> None:
        self._routes = {
            type_of(kind).encode(): _Route(kind.__pydantic_validator__.validate_json, handler)
            for kind, handler in handlers.items()
        }
        self._group = group.encode()
        self._settling = settling
        self._options = options
        self._concurrency = concurrency
        self._gave_up = gave_up
        self._lanes: dict[bytes, deque[Delivery]] = {}
        self._ready: deque[bytes] = deque()
        self._runners: set[asyncio.Task[None]] = set()
        self._running = 0
        self._stopping = False
        self._span_name = f"{conventions.PROCESS} {stream}"
        self._attributes: dict[str, str | int] = {
            conventions.MESSAGING_SYSTEM: system,
            conventions.MESSAGING_OPERATION_NAME: conventions.PROCESS,
            conventions.MESSAGING_OPERATION_TYPE: conventions.PROCESS,
            conventions.MESSAGING_DESTINATION: stream,
            conventions.MESSAGING_GROUP: group,
        }
        self._counted = {
            name: value for name, value in self._attributes.items() if name != conventions.MESSAGING_OPERATION_TYPE
        }
        self.held = 0
        self.room = asyncio.Event()
        self.room.set()
        self.idle = asyncio.Event()
        self.idle.set()
        self.held_in: dict[int, int] = {}

    @property
    def has_room(self) -> bool:
        """Whether more may be taken: twice as many as run at once are held."""
        return self.held < 2 * self._concurrency

    @property
    def free(self) -> int:
        """How many more may be taken."""
        return 2 * self._concurrency - self.held

    def take(self, delivery: Delivery) -> None:
        """Handle a delivery when its key's turn comes."""
        self.held += 1
        self.held_in[delivery.partition] = self.held_in.get(delivery.partition, 0) + 1
        self.idle.clear()
        if not self.has_room:
            self.room.clear()
        lane = self._lanes.get(delivery.key)
        if lane is not None:
            lane.append(delivery)
            return
        self._lanes[delivery.key] = deque((delivery,))
        self._ready.append(delivery.key)
        if self._running < self._concurrency:
            self._running += 1
            runner = asyncio.create_task(self._run())
            self._runners.add(runner)
            runner.add_done_callback(self._runners.discard)

    def drop(self, partition: int) -> None:
        """Begin nothing more of what was taken in a partition; what runs goes on."""
        waiting = set(self._ready)
        for key, lane in list(self._lanes.items()):
            running = key not in waiting
            for delivery in list(lane)[running:]:
                if delivery.partition == partition:
                    lane.remove(delivery)
                    self._let_go(delivery)
                    self._settling.dropped(delivery)
            if not lane:
                del self._lanes[key]
                self._ready.remove(key)

    async def stop(self, grace_s: float) -> None:
        """Begin nothing more; running handlers have ``grace_s``, then they are cancelled. The rest stays unsettled."""
        self._stopping = True
        if self._runners:
            await asyncio.wait(self._runners, timeout=grace_s)
        for runner in list(self._runners):
            runner.cancel()
        if self._runners:
            log.warning("handlers were cancelled because the service stops", extra={"handlers": len(self._runners)})
            await asyncio.wait(self._runners)

    async def _run(self) -> None:
        ready = self._ready
        try:
            while ready and not self._stopping:
                key = ready.popleft()
                lane = self._lanes[key]
                delivery = lane[0]
                try:
                    if await self._settling.ours(delivery):
                        if self._stopping:
                            return
                        await self._handle(delivery)
                    else:
                        self._settling.dropped(delivery)
                finally:
                    lane.popleft()
                    if lane:
                        ready.append(key)
                    else:
                        del self._lanes[key]
                    self._let_go(delivery)
        finally:
            self._running -= 1

    def _let_go(self, delivery: Delivery) -> None:
        self.held -= 1
        self.held_in[delivery.partition] -= 1
        if self.has_room:
            self.room.set()
        if self.held == 0:
            self.idle.set()

    async def _handle(self, delivery: Delivery) -> None:
        route = self._routes.get(delivery.type)
        if route is None or (delivery.only and delivery.only != self._group):
            if delivery.type:
                self._settling.done(delivery)
            else:
                await self._bury(
                    delivery, None, "The entry holds no event: it has no type, or a part of it is malformed."
                )
            return
        if delivery.verdict:
            await self._bury(delivery, None, delivery.verdict)
            return
        attempts = delivery.attempts
        if attempts > max(self._options.attempts, NEVER_FINISHED):
            reason = f"It was begun {attempts - 1} times and never finished; perhaps it ends the process."
            await self._bury(delivery, None, reason)
            return
        try:
            event: Event = route.read(delivery.data)
        except ValidationError as error:
            await self._bury(delivery, None, _misfit(delivery, error))
            return
        parent = delivery.traceparent.decode("latin-1") if delivery.traceparent else ""
        with span(self._span_name, self._attributes, kind=CONSUMER, parent=parent) as current:
            if current.is_recording():
                current.set_attribute(conventions.MESSAGING_MESSAGE_ID, delivery.id.decode("latin-1"))
                current.set_attribute(conventions.MESSAGING_PARTITION, str(delivery.partition))
            began = time.perf_counter()
            try:
                await route.handler(event)
            except Reject as error:
                self._took(began, Reject)
                fail(current, Reject)
                await self._bury(delivery, event, str(error))
            except (Exception, asyncio.CancelledError) as error:
                self._took(began, type(error))
                fail(current, type(error))
                if self._stopping and isinstance(error, asyncio.CancelledError):
                    raise
                await self._failed(delivery, event, error)  # a handler's own cancellation is a failure like others
            else:
                self._took(began)
                self._settling.done(delivery)

    def _took(self, began: float, error: type[BaseException] | None = None) -> None:
        if metrics.measuring():
            failed = {conventions.ERROR_TYPE: error.__qualname__} if error else {}
            PROCESSED.record(time.perf_counter() - began, {**self._counted, **failed})

    async def _failed(self, delivery: Delivery, event: Event, error: BaseException) -> None:
        told = {"event_type": delivery.type.decode("latin-1"), "attempt": delivery.attempts}
        if delivery.attempts >= self._options.attempts:
            await self._bury(delivery, event, _why(error, delivery.attempts))
            return
        log.warning("a handler failed and will be tried again", exc_info=error, extra=told)
        self._settling.again(delivery, self._options.pause_after(delivery.attempts))

    async def _bury(self, delivery: Delivery, event: Event | None, reason: str) -> None:
        told = {"event_type": delivery.type.decode("latin-1"), "attempt": delivery.attempts, "reason": reason}
        try:
            if self._gave_up is not None:
                await self._gave_up(event, reason)
            await self._settling.bury(delivery, reason)
        except Exception as error:  # the letter could not be stored: the event stays where it is and comes again
            log.warning("a dead letter could not be stored", exc_info=error, extra=told)
            delivery.verdict = reason
            self._settling.again(delivery, self._options.pause_after(delivery.attempts))
            return
        DEAD_LETTERS.add(1, self._counted)
        log.error("an event became a dead letter", extra=told)


def _why(error: BaseException, attempts: int) -> str:
    if isinstance(error, Plain) and (sentence := str(error)):
        return f"{sentence} It was tried {attempts} times." if attempts > 1 else sentence
    return f"Failed {attempts} times, at last with {_where(error)}."


def _where(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    name = type(error).__qualname__
    if not frames:
        return name
    return f"{name} at {PurePath(frames[-1].filename).name}:{frames[-1].lineno}"


def _misfit(delivery: Delivery, error: ValidationError) -> str:
    fault = error.errors(include_url=False, include_context=False, include_input=False)[0]
    place = ".".join(str(part) for part in fault["loc"])
    kind = delivery.type.decode("latin-1")
    return f"The data does not fit {kind}: {f'{place}: ' if place else ''}{fault['msg']}."
