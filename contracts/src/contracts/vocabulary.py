"""The words that every message is made of: paths, hashes, lines, spans, times.

Offsets into text are Unicode code points; offsets into files are bytes; both are half-open ``[start, end)``.
Lines are 1-based and inclusive. Times are UTC, RFC 3339.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints

MAX_PATH_LENGTH = 1024


class Message(BaseModel):
    """Anything said between two services: frozen, and deaf to fields that it does not know."""

    model_config = ConfigDict(frozen=True, extra="ignore")


def _posix_relative(path: str) -> str:
    if path.startswith("/") or "\\" in path or any(part in ("", ".", "..") for part in path.split("/")):
        raise ValueError("a document's path is relative to the folder, with forward slashes, without '.' or '..'")
    return path


def _in_utc(moment: datetime) -> datetime:
    if moment.tzinfo is None:
        raise ValueError("a time needs its offset from UTC")
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        raise ValueError("a time lies within the years 1 to 9999 in UTC") from None


def _without_nul(text: str) -> str:
    if "\0" in text:
        raise ValueError("a text must not hold a NUL character")
    return text


NO_NUL = AfterValidator(_without_nul)
NO_NUL_SAID = Field(json_schema_extra={"pattern": r"^[^\u0000]*$"})

Storable = Annotated[str, NO_NUL, NO_NUL_SAID]
"""A text that PostgreSQL can hold: any, but for NUL characters."""

DocumentPath = Annotated[
    str, StringConstraints(min_length=1, max_length=MAX_PATH_LENGTH), AfterValidator(_posix_relative)
]
"""A document's name: relative to the watched folder, POSIX, the document's identity."""

Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
"""A sha256 in lower-case hexadecimal."""

SourceId = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{16}$")]
"""A chunk's id: see :func:`contracts.documents.chunk_id`."""

TraceId = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{32}$")]
"""A W3C trace id."""

Cursor = Annotated[str, StringConstraints(pattern=r"^\d{1,20}-\d{1,20}$")]
"""A place in a turn's frames: the entry id of the Redis stream."""

Timestamp = Annotated[datetime, AfterValidator(_in_utc)]
"""A moment in UTC."""

Count = Annotated[int, Field(ge=0)]


def _ordered(pair: tuple[int, int]) -> tuple[int, int]:
    if pair[1] < pair[0]:
        raise ValueError("the second number must not be below the first")
    return pair


Span = Annotated[tuple[Count, Count], AfterValidator(_ordered)]
"""``[start, end)``: code points into a text, or bytes into a file where the field says so."""

Lines = Annotated[tuple[Annotated[int, Field(ge=1)], Annotated[int, Field(ge=1)]], AfterValidator(_ordered)]
"""First and last line, 1-based, inclusive."""

JsonObject = dict[str, Any]
