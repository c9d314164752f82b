"""Questions before documents: while a person waits, the embedding of documents pauses between two batches."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from contextlib import contextmanager, suppress

LONGEST_PAUSE_S = 0.5
"""Questions without end may slow indexing down, and not stop it."""


class Precedence:
    """Knows whether a question is being embedded."""

    def __init__(self) -> None:
        self._questions = 0
        self._none = asyncio.Event()
        self._none.set()

    @contextmanager
    def question(self) -> Generator[None]:
        """Embed a question inside."""
        self._questions += 1
        self._none.clear()
        try:
            yield
        finally:
            self._questions -= 1
            if not self._questions:
                self._none.set()

    async def after_questions(self) -> None:
        """Return when no question is being embedded, or after half a second."""
        with suppress(TimeoutError):
            async with asyncio.timeout(LONGEST_PAUSE_S):
                await self._none.wait()
