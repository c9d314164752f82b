"""What the person sees: a live bar on a terminal, plain lines anywhere else."""

from __future__ import annotations

import os
import sys
import time
from contextlib import AbstractContextManager, nullcontext
from typing import Protocol

LINE_EVERY_S = 5.0


class Bar(Protocol):
    """A bar that is told how far things have come."""

    def at(self, done: int, whole: int) -> None:
        """``done`` of ``whole`` documents are indexed."""
        ...


class Screen:
    """Writes to stdout; with a terminal there, in colour and with a bar."""

    def __init__(self, is_terminal: bool | None = None) -> None:
        self.is_terminal = sys.stdout.isatty() if is_terminal is None else is_terminal

    def say(self, text: str = "") -> None:
        """One line, flushed, seen through a pipe at once; that nobody reads any more changes nothing else."""
        try:
            sys.stdout.write(f"{text}\n")
            sys.stdout.flush()
        except BrokenPipeError:
            _forget_stdout()

    def strong(self, text: str) -> str:
        """The text, in bold on a terminal."""
        return f"\x1b[1m{text}\x1b[0m" if self.is_terminal else text

    def bar(self, what: str) -> AbstractContextManager[Bar]:
        """A bar for as long as the context lasts."""
        return _RichBar(what) if self.is_terminal else nullcontext(_Lines(self, what))


class _Lines:
    def __init__(self, screen: Screen, what: str) -> None:
        self._screen, self._what, self._said = screen, what, 0.0

    def at(self, done: int, whole: int) -> None:
        now = time.monotonic()
        if whole and now - self._said >= LINE_EVERY_S:
            self._said = now
            self._screen.say(f"{self._what}: {done} of {whole}")


class _RichBar:
    def __init__(self, what: str) -> None:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        self._progress = Progress(
            TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), transient=True
        )
        self._task = self._progress.add_task(what, total=None)

    def __enter__(self) -> Bar:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def at(self, done: int, whole: int) -> None:
        self._progress.update(self._task, completed=done, total=whole or None)


def _forget_stdout() -> None:
    """Let what is written from now on, and what is still to be flushed at the end, go nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
