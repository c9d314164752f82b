"""The frames of a turn as NDJSON, from Redis to the socket without parsing them.

::

    agent --XADD--> turn:{id} --FrameHub--> pump --ASGI send--> browser
                                             |
                              watch: silent for 2 s? ask the agent what became of the turn

A frame is spliced, not parsed: its JSON gets the cursor in front and a newline behind, and all frames that are there
go out in one send. A reader that leaves takes nothing with it: the turn goes on, and its answer is stored.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from types import TracebackType
from typing import Protocol, Self
from uuid import UUID

from chassis.frames import FIRST_CURSOR, Frames, FramesLost, is_last, line
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from web.replay import STOPPING, error_line
from web.watch import Watch

NDJSON_HEADERS = [
    (b"content-type", b"application/x-ndjson; charset=utf-8"),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),
]
AGAIN_S = 0.2
"""Between two tries to read from a Redis that is gone."""


class OpenFrames(Protocol):
    """The frames of one turn, batch by batch; closed when it is left."""

    async def __aenter__(self) -> Self: ...
    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None, /
    ) -> None: ...
    def __aiter__(self) -> Self: ...
    async def __anext__(self) -> Frames: ...


class FrameSource(Protocol):
    """Where the frames of running turns are read: :class:`chassis.frames.FrameHub`."""

    def read(self, turn_id: UUID | str, after: str = FIRST_CURSOR) -> OpenFrames:
        """The frames of a turn behind a cursor."""
        ...


@dataclass(slots=True)
class Reading:
    """How far one reader of one turn has come."""

    turn_id: UUID
    cursor: str = FIRST_CURSOR
    read_anything: bool = False
    heard_at: float = 0.0
    sending: bool = False
    """A slow reader is no silent turn: while a send waits for the socket, nothing is looked up."""
    broken_at: float | None = None
    """Since when Redis could not be read."""


class FrameResponse(Response):
    """A response that follows a turn from ``reading.cursor`` to its end, however that comes."""

    def __init__(self, reading: Reading, frames: FrameSource, watch: Watch) -> None:
        self.reading, self.frames, self.watch = reading, frames, watch
        self.status_code = 200
        self.background = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send frames until the turn ends, the reader leaves, or the turn is found lost."""
        self.reading.heard_at = asyncio.get_running_loop().time()
        await send({"type": "http.response.start", "status": 200, "headers": NDJSON_HEADERS})
        pump = asyncio.create_task(self._pump(send))
        gone = asyncio.create_task(_gone(receive))
        ending = asyncio.create_task(self.watch.ending(self.reading))
        try:
            await asyncio.wait({pump, gone, ending}, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            body = error_line("stopping", STOPPING, self.reading.cursor)
            await send({"type": "http.response.body", "body": body, "more_body": False})
            raise
        finally:
            finished = pump.done()
            for task in (pump, gone, ending):
                task.cancel()
            await asyncio.wait({pump, gone, ending})
        if finished:
            pump.result()
        if gone.cancelled():
            last = b"" if finished else b"".join(ending.result())
            await send({"type": "http.response.body", "body": last, "more_body": False})

    async def _pump(self, send: Send) -> None:
        reading, clock = self.reading, asyncio.get_running_loop().time
        while True:
            try:
                async with self.frames.read(reading.turn_id, reading.cursor) as batches:
                    async for batch in batches:
                        reading.sending = True
                        body = b"".join([line(cursor, frame) for cursor, frame in batch])
                        await send({"type": "http.response.body", "body": body, "more_body": True})
                        reading.sending, reading.broken_at = False, None
                        reading.read_anything, reading.heard_at = True, clock()
                        cursor, frame = batch[-1]
                        reading.cursor = cursor.decode()
                        if is_last(frame):
                            return
            except FramesLost:
                reading.broken_at = reading.broken_at or clock()
            await asyncio.sleep(AGAIN_S)


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
