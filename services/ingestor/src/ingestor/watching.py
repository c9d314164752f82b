"""Watching the folder: by the kernel's events where they come, by looking again and again where they do not.

Events are hints: which path something happened to, nothing more. Which of both is used, and why, is said in ``state``.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from watchfiles import awatch  # pyright: ignore[reportUnknownVariableType] (it names trio, which is not here)

from ingestor.errors import FolderUnavailable
from ingestor.mounts import file_system_of, is_silent
from ingestor.scanning import Mark, Scan, scan

__all__ = ["Watcher", "Watching"]

log = logging.getLogger(__name__)

Way = Literal["auto", "events", "polling"]

# watchfiles gathers events until none has come for a step: the step is what it adds to a save's way.
STEP_MS: Final = 5
GATHER_MS: Final = 50
TRY_EVENTS_AGAIN_S: Final = 60.0
# Looking at the tree may take this share of one core's time.
POLLING_SHARE: Final = 0.05
MISSES_ALLOWED: Final = 1
FAILURES_ALLOWED: Final = 3


@dataclass(frozen=True, slots=True)
class Watching:
    """How the folder is watched, and in one sentence why not by events."""

    by: Literal["events", "polling"]
    notice: str | None = None


class Watcher:
    """Calls ``hint`` with paths below the folder that something happened to, ``overflow`` when some were lost."""

    def __init__(
        self,
        folder: Path,
        hint: Callable[[Iterable[str]], None],
        overflow: Callable[[], None],
        *,
        way: Way = "auto",
        poll_every_s: float = 0.5,
    ) -> None:
        self._folder = folder
        self._hint = hint
        self._overflow = overflow
        self._way = way
        self._poll_every_s = poll_every_s
        self._misses = 0
        self._broken = 0
        self._stop = asyncio.Event()
        self.state = Watching("polling" if way == "polling" else "events")
        self.begun = asyncio.Event()

    async def run(self) -> None:
        """Watch until cancelled, changing the way of watching where that is needed."""
        while True:
            notice = await asyncio.to_thread(self._why_poll)
            if notice is None:
                self._say(Watching("events"))
                notice = await self._events()
            if notice is not None:
                self._say(Watching("polling", notice or None))
                await self._poll()

    def missed(self, count: int) -> None:
        """A comparison found so many changes that no event had told of; after a second time events are not trusted."""
        if self._way != "auto" or self.state.by == "polling":
            return
        self._misses += 1
        log.warning("changes came without events", extra={"documents": count})
        if self._misses > MISSES_ALLOWED:
            self._stop.set()

    def _begin(self) -> None:
        """From now on nothing is missed; what happened before, while another way of watching ended, may have been."""
        if self.begun.is_set():
            self._overflow()
        self.begun.set()

    def _why_poll(self) -> str | None:
        """Nothing where events are expected; an empty sentence where polling was asked for."""
        if self._way == "polling":
            return ""
        if self._way == "events":
            return None
        if self._misses > MISSES_ALLOWED:
            return "Changes in this folder make no file events here, so it is looked at again and again."
        kind = file_system_of(self._folder)
        if is_silent(kind):
            return f"The folder is on a {kind} mount, which tells of no changes, so it is looked at again and again."
        return None

    async def _events(self) -> str | None:
        """Follow events; gives nothing when they should be followed anew, or why not to."""
        self._stop.clear()
        root = await asyncio.to_thread(os.path.realpath, self._folder)
        guard = asyncio.create_task(self._stop_when_replaced(root))
        try:
            events = awatch(
                root,
                watch_filter=None,
                debounce=GATHER_MS,
                step=STEP_MS,
                stop_event=self._stop,
                recursive=True,
                ignore_permission_denied=True,
            )
            asyncio.get_running_loop().call_later(STEP_MS / 1000, self._begin)
            async for changes in events:
                if changes:
                    self._hint(self._paths(root, (path for _, path in changes)))
        except FileNotFoundError:
            await asyncio.sleep(1.0)
            return None
        except OSError as error:
            return self._refused(error)
        except (RuntimeError, ExceptionGroup):
            # watchfiles raises what breaks inside of it in a group; a file name that is not UTF-8 is enough.
            self._broken += 1
            log.warning("the watcher failed and begins anew", extra={"times": self._broken})
            if self._broken > FAILURES_ALLOWED and self._way == "auto":
                self._broken = 0
                return "File events fail again and again here, so the folder is looked at again and again."
            await asyncio.sleep(0.1)
        finally:
            guard.cancel()
        return None

    def _refused(self, error: OSError) -> str | None:
        if self._way == "events":
            raise error
        log.warning("no file events", extra={"error": str(error)})
        if "limit" in str(error).lower() or error.errno in (errno.EMFILE, errno.ENOSPC):
            return (
                "The limit of watched folders is reached (raise fs.inotify.max_user_watches), "
                "so the folder is looked at again and again."
            )
        return "File events are not to be had here, so the folder is looked at again and again."

    async def _stop_when_replaced(self, root: str) -> None:
        """A root that is another folder now, by a link or a mount, has to be watched anew."""
        was = await asyncio.to_thread(_identity, self._folder, root)
        while await asyncio.to_thread(_identity, self._folder, root) == was:
            with suppress(TimeoutError):
                async with asyncio.timeout(1.0):
                    await self._stop.wait()
                    return
        self._stop.set()

    async def _poll(self) -> None:
        """Look at the tree and hint at what differs from the last look; ends when events should be tried again."""
        until = time.monotonic() + TRY_EVENTS_AGAIN_S
        before: dict[str, Mark | str] | None = None
        is_there = True
        while self._way == "polling" or time.monotonic() < until or self._misses > MISSES_ALLOWED:
            began = time.monotonic()
            try:
                marks = _marks(await asyncio.to_thread(scan, self._folder))
            except FolderUnavailable:
                marks = None
            if is_there != (marks is not None):
                # A comparison says that the folder is gone, and that it is back.
                is_there = not is_there
                self._overflow()
            took = time.monotonic() - began
            if before is not None and marks is not None and marks != before:
                self._hint([path for path in before.keys() | marks.keys() if before.get(path) != marks.get(path)])
            if before is None:
                self._begin()
            before = marks if marks is not None else before
            await asyncio.sleep(max(self._poll_every_s, took / POLLING_SHARE))

    def _paths(self, root: str, files: Iterable[str]) -> list[str]:
        length = len(root.rstrip("/")) + 1
        paths = (file[length:] for file in files if file.startswith(root))
        return [path for path in paths if not any(part.startswith(".") for part in path.split("/"))]

    def _say(self, state: Watching) -> None:
        if state != self.state:
            log.info("watching", extra={"by": state.by, "notice": state.notice})
        self.state = state


def _marks(found: Scan) -> dict[str, Mark | str]:
    marks: dict[str, Mark | str] = {place.path: place.mark for place in found.places}
    return marks | {refusal.path: refusal.reason for refusal in found.refusals}


def _identity(folder: Path, root: str) -> tuple[int, int] | None:
    """Which folder stands at the root; nothing when the watched path leads elsewhere now."""
    try:
        status = Path(root).stat()
    except OSError:
        return None
    return (status.st_dev, status.st_ino) if os.path.realpath(folder) == root else None
