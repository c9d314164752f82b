"""What a plain proxy would stand in front of: a service that streams NDJSON frames at a steady rate.

``upstream.py PORT DELTAS PERIOD_MS``. The first delta comes at once, the rest one a period after ``GET /start``; the
text of each is the monotonic clock in nanoseconds.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import AsyncIterator

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

PORT, DELTAS, PERIOD_S = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]) / 1000
started = asyncio.Event()


async def frames(place: int) -> AsyncIterator[bytes]:
    """The frames of one turn; the turns are spread over the period."""
    yield b'{"type":"accepted"}\n'
    yield b'{"type":"delta","text":"%d"}\n' % time.monotonic_ns()
    await started.wait()
    begun = time.monotonic() + (place % 10) * PERIOD_S / 10
    for step in range(DELTAS - 1):
        pause = begun + step * PERIOD_S - time.monotonic()
        if pause > 0:
            await asyncio.sleep(pause)
        yield b'{"type":"delta","text":"%d"}\n' % time.monotonic_ns()
    yield b'{"type":"done"}\n'


async def turn(request: Request) -> Response:
    """``GET /turns/{place}``."""
    return StreamingResponse(frames(request.path_params["place"]), media_type="application/x-ndjson")


async def start(request: Request) -> Response:
    """``GET /start``."""
    started.set()
    return Response()


if __name__ == "__main__":
    app = Starlette(routes=[Route("/turns/{place:int}", turn), Route("/start", start)])
    uvicorn.run(app, port=PORT, loop="uvloop", http="httptools", log_config=None, access_log=False)
