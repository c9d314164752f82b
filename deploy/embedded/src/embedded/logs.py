"""The logs of the children: files that they append to, kept from growing without end."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
from collections.abc import Iterable
from pathlib import Path

LOG_BYTES = 5 * 1024 * 1024
EVERY_S = 10.0


async def keep_bounded(folders: Iterable[Path], limit: int = LOG_BYTES, every_s: float = EVERY_S) -> None:
    """Look at the logs of some folders now and then, and cut those that have grown past the limit."""
    folders = tuple(folders)
    while True:
        for folder in folders:
            for log in folder.glob("*.log"):
                with contextlib.suppress(OSError):
                    cut(log, limit)
        await asyncio.sleep(every_s)


def cut(log: Path, limit: int = LOG_BYTES) -> bool:
    """Move what a log holds to ``NAME.1`` once it is past the limit; whether it was.

    The file stays the same one, because the child holds it open; it is opened for appending, so that the child goes on
    at the new end. A line written between copy and cut may be lost, which a log can bear.
    """
    if log.stat().st_size <= limit:
        return False
    shutil.copyfile(log, log.with_name(f"{log.name}.1"))
    os.truncate(log, 0)
    return True
