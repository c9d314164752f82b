"""What can go wrong between a question and its answer; each class's sentence is what the person reads.

::

    AgentError
    ├── Refused                 before anything is stored; an HTTP answer
    │   ├── TurnUnknown         404
    │   ├── TooManyTurns        429, with Retry-After
    │   └── NotAccepting        503
    │       └── StorageFull     503
    └── TurnFailed              after it was accepted; an `error` frame
        ├── DeadlinePassed      deadline
        ├── WorkerLost          worker_lost
        ├── SearchFailed        search_failed
        ├── ModelFailed         model_failed
        ├── ModelRefused        model_refused
        ├── RateLimited         rate_limited
        ├── Stopped             cancelled
        ├── Interrupted         interrupted
        ├── NotStored           not_stored
        ├── FramesLost          unavailable
        ├── Stopping            stopping
        └── Unforeseen          internal
"""

from __future__ import annotations

from typing import ClassVar

from chassis.refusals import Refuse
from contracts.frames import ErrorCode


class AgentError(Exception):
    """Something went wrong in answering; ask again."""

    def __init__(self, message: str | None = None) -> None:
        self.message = message or (type(self).__doc__ or "").strip()
        super().__init__(self.message)


class Refused(AgentError, Refuse):
    """The question cannot be taken."""

    http_status: ClassVar[int] = 400
    name: ClassVar[str] = "refused"
    wait_s: ClassVar[int | None] = None

    def __init__(self, message: str | None = None) -> None:
        sentence = message or (type(self).__doc__ or "").strip()
        Refuse.__init__(self, self.http_status, self.name, sentence, retry_after=self.wait_s)


class TurnUnknown(Refused):
    """There is no such turn; ask the question again."""

    http_status = 404
    name = "not_found"


class TooManyTurns(Refused):
    """Too many questions are being answered; wait for one to end and ask again."""

    http_status = 429
    name = "too_many_turns"
    wait_s = 2


class NotAccepting(Refused):
    """Questions cannot be taken right now; ask again in a moment."""

    http_status = 503
    name = "unavailable"
    wait_s = 2


class StorageFull(NotAccepting):
    """The disk that holds the answers is full, so questions cannot be taken; make room there, and ask again."""


class TurnFailed(AgentError):
    """The answer could not be finished; ask again."""

    code: ClassVar[ErrorCode] = "internal"


class DeadlinePassed(TurnFailed):
    """The answer took longer than it may; ask again."""

    code = "deadline"


class WorkerLost(TurnFailed):
    """The process that wrote this answer ended before it was done; ask again."""

    code = "worker_lost"


class SearchFailed(TurnFailed):
    """Your notes could not be searched right now; ask again in a moment."""

    code = "search_failed"


class ModelFailed(TurnFailed):
    """The model did not finish its answer; ask again."""

    code = "model_failed"


class ModelRefused(TurnFailed):
    """The model's provider does not answer this question; put it in other words."""

    code = "model_refused"


class RateLimited(TurnFailed):
    """The model's provider takes no more questions for now; wait a minute and ask again."""

    code = "rate_limited"


class Stopped(TurnFailed):
    """You stopped this answer."""

    code = "cancelled"


class Interrupted(TurnFailed):
    """You interrupted this answer, so it ended here."""

    code = "interrupted"


class NotStored(TurnFailed):
    """The answer could not be stored, so it does not count; ask again."""

    code = "not_stored"


class FramesLost(TurnFailed):
    """The connection that carries the answer was lost; ask again."""

    code = "unavailable"


class Stopping(TurnFailed):
    """Talkdown is shutting down and could not finish this answer; ask again once it is back."""

    code = "stopping"


class Unforeseen(TurnFailed):
    """Something unexpected went wrong and the answer could not be finished; ask again."""

    code = "internal"
