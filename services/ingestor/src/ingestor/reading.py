"""Reading one document whole, as it stood at one moment, or saying in one sentence why not."""

from __future__ import annotations

import codecs
import datetime as dt
import errno
import hashlib
import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ingestor.scanning import Mark, Place, Refusal, is_within

__all__ = ["FILE_LIMIT", "Reading", "read"]

FILE_LIMIT: Final = 256 * 1024
_TRIES: Final = 3
_FLAGS: Final = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
_OTHER_MARKS: Final = (
    (codecs.BOM_UTF32_LE, "UTF-32"),
    (codecs.BOM_UTF32_BE, "UTF-32"),
    (codecs.BOM_UTF16_LE, "UTF-16"),
    (codecs.BOM_UTF16_BE, "UTF-16"),
)


@dataclass(frozen=True, slots=True)
class Reading:
    """A document as it was read: its bytes, the same as text (byte order mark kept), their hash, when it was saved."""

    path: str
    data: bytes
    text: str
    sha256: str
    saved_at: dt.datetime
    mark: Mark


def read(place: Place, limit: int = FILE_LIMIT) -> Reading | Refusal:
    """Read a file of at most ``limit`` bytes; one that is replaced meanwhile is read again, three times at most."""
    for _ in range(_TRIES):
        try:
            taken = _attempt(place, limit)
        except FileNotFoundError:
            return Refusal(place.path, "It vanished before it was read.")
        except PermissionError:
            return Refusal(place.path, "It may not be read: give its user the permission to (chmod +r).")
        except OSError as error:
            if error.errno == errno.ELOOP:
                return Refusal(place.path, "It turned into a link while it was looked at.", passing=True)
            return Refusal(place.path, f"It cannot be read ({error.strerror}).", passing=True)
        if taken is not None:
            return taken
    return Refusal(place.path, "It keeps changing while it is read: it is taken when it comes to rest.", passing=True)


def _attempt(place: Place, limit: int) -> Reading | Refusal | None:
    """Read once; nothing when the file was not the same before and after."""
    descriptor = os.open(place.file, _FLAGS)
    try:
        before = os.fstat(descriptor)
        if not stat.S_ISREG(before.st_mode):
            return Refusal(place.path, "It is no regular file.")
        if before.st_size > limit:
            return _too_large(place, before.st_size, limit)
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            data = file.read(limit + 1)
        after = os.fstat(descriptor)
    finally:
        os.close(descriptor)
    if len(data) > limit:
        return _too_large(place, len(data), limit)
    # A folder above may have become a link since the scan: what was opened must be what the path means, inside.
    real = os.path.realpath(place.file)
    if not is_within(real, place.root):
        return Refusal(place.path, "It leads out of the folder: copy what it leads to into the folder.")
    if not Mark.of(before) == Mark.of(after) == Mark.of(Path(real).stat()):
        return None
    return _decoded(place, data, after)


def _decoded(place: Place, data: bytes, status: os.stat_result) -> Reading | Refusal:
    for mark, name in _OTHER_MARKS:
        if data.startswith(mark):
            return Refusal(place.path, f"It is {name} text: save it as UTF-8.")
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        return Refusal(place.path, f"It is not UTF-8 (byte {error.start}, on line {line}): save it as UTF-8.")
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        return Refusal(place.path, f"It has a NUL byte on line {line}, so it is no text: save it as UTF-8.")
    return Reading(place.path, data, text, hashlib.sha256(data).hexdigest(), _moment(status), Mark.of(status))


def _moment(status: os.stat_result) -> dt.datetime:
    try:
        return dt.datetime.fromtimestamp(status.st_mtime, dt.UTC)
    except (OverflowError, OSError, ValueError):
        # A file system may say any number; one outside of the years 1 to 9999 tells nothing.
        return dt.datetime.now(dt.UTC)


def _too_large(place: Place, size: int, limit: int) -> Refusal:
    return Refusal(
        place.path,
        f"It has {size:,} bytes, over the limit of {limit:,}: split it up, or raise TALKDOWN_FILE_LIMIT.",
    )
