"""What the handlers of web work with, put together once in :mod:`web.app`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from redis.asyncio import Redis
from starlette.requests import HTTPConnection

from chassis.bus import Bus
from web.behind import Behind
from web.ledger import Ledger
from web.streams import FrameSource
from web.watch import Watch


@dataclass(frozen=True)
class Web:
    """The running parts of web. ``redis`` answers in bytes."""

    behind: Behind
    ledger: Ledger
    frames: FrameSource
    watch: Watch
    redis: Redis
    bus: Bus
    voice_url: str


def the(connection: HTTPConnection) -> Web:
    """The running parts, from a request or a WebSocket."""
    return cast(Web, connection.state.web)
