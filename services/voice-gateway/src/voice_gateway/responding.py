"""The work behind one response: one task, that ends by itself or by either side, and whose end is always told."""

from __future__ import annotations

import asyncio
import logging
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Literal

from opentelemetry.trace import Span
from opentelemetry.util.types import Attributes

from chassis import conventions, telemetry
from voice_gateway.errors import AnswerFailed, AnswerLate, GatewayStopping, VoiceError
from voice_gateway.responses import Response

log = logging.getLogger(__name__)

Ending = Literal["cancelled", "interrupted", "left", "stopping"]
"""The client wants no more, the person spoke, the client is gone, the process stops."""


class Responding(ABC):
    """A response being made, from ``start`` on; ``parent`` is the ``traceparent`` that it continues, if any."""

    def __init__(self, response: Response, *, parent: str | None = None, links: Sequence[str] = ()) -> None:
        self.response = response
        self._parent, self._links = parent, links
        self._ending: Ending | None = None
        self._task: asyncio.Task[None] | None = None

    def start(self, attributes: Attributes = None) -> None:
        """Begin."""
        self._task = asyncio.create_task(
            self._run({conventions.GEN_AI_RESPONSE_ID: self.response.id, **(attributes or {})})
        )

    @property
    def done(self) -> bool:
        """Whether nothing of it is left."""
        return self._task is None or self._task.done()

    async def wait(self, timeout: float | None = None) -> None:
        """Wait until it ends by itself, for ``timeout`` seconds at most."""
        if self._task is not None:
            await asyncio.wait({self._task}, timeout=timeout)

    async def end(self, why: Ending) -> None:
        """End it now; what the client is told of it has been told when this returns."""
        if self._task is not None and not self._task.done():
            self._ending = self._ending or why
            self._task.cancel()
            await self.wait()

    @abstractmethod
    async def respond(self, current: Span) -> None:
        """Make the response and end it; what it raises ends it as failed."""

    def stopped(self, why: Ending) -> None:  # noqa: B027 - most have nothing to do then
        """The response was cancelled or interrupted in the middle."""

    async def _run(self, attributes: Attributes) -> None:
        with telemetry.span("voice response", attributes, parent=self._parent or "", links=self._links) as current:
            try:
                await self.respond(current)
            except TimeoutError:
                self._fail(current, AnswerLate.code, AnswerLate())
            except AnswerFailed as error:
                self._fail(current, error.failure, error)
            except asyncio.CancelledError:
                self._end_early(current)
            except Exception as error:
                # Whatever it is, the session goes on, and the person gets a sentence instead of a silence.
                log.exception("a response failed unforeseen")
                self._fail(current, "internal", AnswerFailed())
                telemetry.fail(current, type(error))

    def _fail(self, current: Span, code: str, error: VoiceError) -> None:
        self.response.fail(code, error.message)
        telemetry.fail(current, code)

    def _end_early(self, current: Span) -> None:
        match self._ending:
            case "cancelled" | "interrupted":
                self.response.cancel("turn_detected" if self._ending == "interrupted" else "client_cancelled")
                self.stopped(self._ending)
            case "left":
                pass
            case _:
                self._fail(current, GatewayStopping.code, GatewayStopping())
