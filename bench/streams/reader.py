"""A reader of one turn's frames that notes how old each delta is: its text says when it was written."""

from __future__ import annotations

import asyncio
import re
import time
from dataclasses import dataclass, field

WRITTEN = re.compile(rb'"type":"delta","text":"(\d+)"')


@dataclass
class Reader(asyncio.Protocol):
    """One connection that reads one turn to its end; times are in nanoseconds of the monotonic clock."""

    request: bytes
    ended: asyncio.Future[None]
    asked_at: int = 0
    first_after: int = -1
    ages: list[int] = field(default_factory=list[int])
    rest: bytes = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Ask."""
        assert isinstance(transport, asyncio.Transport)
        self.asked_at = time.monotonic_ns()
        transport.write(self.request)

    def data_received(self, data: bytes) -> None:
        """Note how old each delta is."""
        now = time.monotonic_ns()
        text = self.rest + data
        cut = text.rfind(b"\n") + 1
        self.rest = text[cut:]
        for match in WRITTEN.finditer(text, 0, cut):
            if self.first_after < 0:
                self.first_after = now - self.asked_at
            else:
                self.ages.append(now - int(match[1]))
        if b'"type":"done"' in text[:cut] and not self.ended.done():
            self.ended.set_result(None)

    def connection_lost(self, exc: Exception | None) -> None:
        """A stream that ends early would make the figures too good."""
        if not self.ended.done():
            self.ended.set_exception(exc or ConnectionError("the stream ended early"))
