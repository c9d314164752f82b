"""Asking the agent: turns, chats, and answers prepared on a guess."""

from __future__ import annotations

from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field, StringConstraints

from contracts.frames import ErrorCode, Sentence
from contracts.live import Cost
from contracts.search import Filter, Source
from contracts.vocabulary import NO_NUL, NO_NUL_SAID, Count, Message, Timestamp, TraceId

MAX_QUESTION_LENGTH = 2000
MAX_BODY_BYTES = 8192

TurnStatus = Literal["waiting", "running", "completed", "interrupted", "cancelled", "failed"]
ENDED: frozenset[TurnStatus] = frozenset({"completed", "interrupted", "cancelled", "failed"})

Question = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1, max_length=MAX_QUESTION_LENGTH),
    NO_NUL,
    NO_NUL_SAID,
]
"""1 to 2,000 code points once surrounding white space is gone, none of them NUL."""


class TurnAsked(Message):
    """``POST /turns`` (agent) and ``POST /api/turns`` (web): a question in a chat."""

    chat_id: UUID
    question: Question
    filter: Filter = Filter()
    prefetch_id: UUID | None = Field(
        default=None,
        description="a prepared answer to adopt when the text is the same; null: the one of the chat, if there is one",
    )
    history_since: Timestamp | None = Field(
        default=None, description="whoever answers is told nothing of turns before it; null: of all that fit"
    )


class TurnAccepted(Message):
    """202: stored, and waiting for its turn. Frames are under :func:`contracts.frames.frames_key`."""

    turn_id: UUID
    chat_id: UUID
    trace_id: TraceId


class CancelRequested(Message):
    """``POST /turns/{id}/cancel``. ``stopped`` keeps no answer; ``interrupted`` (by speech) what there is."""

    reason: Literal["stopped", "interrupted"] = "stopped"
    heard: Count | None = Field(default=None, description="code points of the answer that were heard; with interrupted")


class Heard(Message):
    """``POST /turns/{id}/heard``: how much of the answer was heard, in code points of ``done.answer``."""

    characters: Count


class Turn(Message):
    """A stored turn: the question, and what became of it."""

    turn_id: UUID
    chat_id: UUID
    trace_id: TraceId
    question: str
    status: TurnStatus
    answer: str | None = None
    heard: Count | None = None
    abstained: bool = False
    sources: tuple[Source, ...] = ()
    sentences: tuple[Sentence, ...] = ()
    error_code: ErrorCode | None = None
    error_message: str | None = None
    asked_at: Timestamp
    ended_at: Timestamp | None = None
    heartbeat_at: Timestamp | None = None


class Chat(Message):
    """``GET /chats/{id}``: the turns of a chat, oldest first, and the tokens that models were paid for in it."""

    chat_id: UUID
    turns: tuple[Turn, ...]
    costs: tuple[Cost, ...] = ()


class PrefetchAsked(Message):
    """``POST /prefetch``: prepare an answer to what may become a question; nothing is stored."""

    chat_id: UUID
    question: Question


class PrefetchAccepted(Message):
    """202: prepared for at most ``lifetime_ms``."""

    prefetch_id: UUID
    lifetime_ms: Count = 5000


class PrefetchedAnswer(Message):
    """``GET /prefetch/{id}?wait_ms=``: the answer as far as it is prepared; nothing when it is forgotten, or none is.

    ``ready`` says that waiting longer changes nothing. 404 when another process prepares it: a guess may miss.
    """

    prefetch_id: UUID
    ready: bool
    answer: str | None = None


class Refusal(Message):
    """The body of every 4xx and 5xx: one plain sentence that says what to do."""

    code: str
    message: str
