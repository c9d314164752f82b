"""The frames of an answer while it is written, and of one that is read again.

::

    accepted -> status searching -> sources -> status answering -> (delta | sentence)* -> done
                                                            any of them may be followed by -> error
    later than an hour after the end:  accepted -> snapshot -> done

A frame lives in the Redis stream ``turn:{turn_id}`` under the field ``frame`` as JSON without ``cursor``;
the entry's id is its cursor, which web adds. Exactly one ``done`` or ``error`` ends a stream; one that ends without is
a failure.
``done.answer`` equals the joined deltas. A citation is ``[n]``, n the 1-based place in ``sources``.
"""

from __future__ import annotations

from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field, TypeAdapter

from contracts.search import Source
from contracts.vocabulary import Count, Cursor, Lines, Message, SourceId, Span, TraceId

ErrorCode = Literal[
    "deadline",
    "worker_lost",
    "search_failed",
    "model_failed",
    "model_refused",
    "rate_limited",
    "cancelled",
    "interrupted",
    "not_stored",
    "unavailable",
    "stopping",
    "not_found",
    "internal",
]


class Frame(Message):
    """One line of the stream. ``cursor`` is null until it has been written."""

    cursor: Cursor | None = None


class Accepted(Frame):
    """The question is stored; this is its turn."""

    type: Literal["accepted"] = "accepted"
    turn_id: UUID
    trace_id: TraceId


class Status(Frame):
    """What is being done now."""

    type: Literal["status"] = "status"
    stage: Literal["waiting", "searching", "answering"]


class Sources(Frame):
    """The passages behind the answer."""

    type: Literal["sources"] = "sources"
    sources: tuple[Source, ...]


class Delta(Frame):
    """The next piece of the answer's text, citations included."""

    type: Literal["delta"] = "delta"
    text: str


class Support(Message):
    """Lines of one source that a sentence rests on."""

    source_id: SourceId
    lines: Lines


class Sentence(Frame):
    """A sentence of the answer is complete: its place in ``done.answer`` (code points), and what it rests on (T9)."""

    type: Literal["sentence"] = "sentence"
    index: Count
    span: Span
    support: tuple[Support, ...] = ()
    verdict: Literal["supported", "unsupported"]


class Done(Frame):
    """The answer is complete and stored."""

    type: Literal["done"] = "done"
    answer: str
    sources: tuple[Source, ...]
    abstained: bool = False


class Error(Frame):
    """The turn ended without an answer; ``message`` is one plain sentence for a person."""

    type: Literal["error"] = "error"
    code: ErrorCode
    message: str


class Snapshot(Frame):
    """A stored answer, read again after its frames are gone."""

    type: Literal["snapshot"] = "snapshot"
    answer: str
    sources: tuple[Source, ...]
    sentences: tuple[Sentence, ...] = ()


AnyFrame = Annotated[
    Accepted | Status | Sources | Delta | Sentence | Done | Error | Snapshot, Field(discriminator="type")
]
frame_adapter: TypeAdapter[AnyFrame] = TypeAdapter(AnyFrame)
"""Reads any frame from JSON."""

LAST_FRAMES = ("done", "error")
FRAMES_LIFETIME_S = 3600
"""How long a turn's frames outlive its end."""


def frames_key(turn_id: UUID | str) -> str:
    """The Redis stream that holds a turn's frames."""
    return f"turn:{turn_id}"
