"""Frames that web writes itself: a stored turn read again, and the error of a stream that cannot go on.

A frame is one JSON object a line. Those of a running turn come from its Redis stream; these stand in where the stream
is gone: more than an hour after the end (T8), or with a lost worker (T10).
"""

from __future__ import annotations

from chassis.frames import FIRST_CURSOR
from contracts.frames import Accepted, AnyFrame, Done, Error, ErrorCode, Snapshot
from contracts.turns import Turn

LOST = "The part of Talkdown that wrote this answer stopped in the middle of it. Ask the question again."
UNWATCHED = "Talkdown lost the stream of this answer. Reload the page in a moment: a finished answer is kept."
OVERDUE = "This question waited longer than its deadline. Ask it again."
STOPPING = "Talkdown is stopping. The answer goes on without this page, and can be read when Talkdown is back."
STOPPED = "The answer was stopped."
SPOKEN_OVER = "The answer was interrupted here."
FAILED = "The answer failed. Ask the question again."


def line_of(frame: AnyFrame, cursor: str) -> bytes:
    """The frame as one line of NDJSON, with its cursor."""
    return frame.model_copy(update={"cursor": cursor}).model_dump_json().encode() + b"\n"


def error_line(code: ErrorCode, message: str, cursor: str) -> bytes:
    """The line that ends a stream without an answer."""
    return line_of(Error(code=code, message=message), cursor)


def stored_lines(turn: Turn, *, cursor: str = FIRST_CURSOR, whole: bool = True) -> list[bytes]:
    """An ended turn as frames; ``whole`` begins with ``accepted``, for a reader that has read nothing yet."""
    frames: list[AnyFrame] = []
    if whole:
        frames.append(Accepted(turn_id=turn.turn_id, trace_id=turn.trace_id))
    if turn.answer is not None and turn.status in ("completed", "interrupted"):
        frames.append(Snapshot(answer=turn.answer, sources=turn.sources, sentences=turn.sentences))
    if turn.status == "completed":
        frames.append(Done(answer=turn.answer or "", sources=turn.sources, abstained=turn.abstained))
    elif turn.status == "cancelled":
        frames.append(Error(code="cancelled", message=turn.error_message or STOPPED))
    elif turn.status == "interrupted":
        frames.append(Error(code="interrupted", message=turn.error_message or SPOKEN_OVER))
    else:
        frames.append(Error(code=turn.error_code or "internal", message=turn.error_message or FAILED))
    return [line_of(frame, cursor) for frame in frames]
