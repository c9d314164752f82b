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
from typing import Protocol
from uuid import UUID

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from chassis import metrics
from chassis.frames import FIRST_CURSOR, Frames, FramesLost, is_last, line
from web.replay import STOPPING, error_line
from web.watch import Watch

NDJSON_HEADERS = [
    (b"content-type", b"application/x-ndjson; charset=utf-8"),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),
]
PEEK_S = 0.1
"""How long a reader waits for the first frames of a turn before its turn is looked up."""
AGAIN_S = 0.2
"""Between two tries to read from a Redis that is gone."""

STREAMS = metrics.level("talkdown.web.streams", "{stream}", "Answers that are being read as they are written.")


class OpenFrames(Protocol):
    """The frames of one turn, batch by batch, until it is closed."""

    async def __anext__(self) -> Frames: ...

    async def aclose(self) -> None:
        """Read no more."""
        ...


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
    is_broken: bool = False
    """Redis has not answered for a while."""


@dataclass(slots=True)
class Opening:
    """A turn that is being read, and what came of it first: nothing, when nothing came in a moment."""

    reading: Reading
    frames: OpenFrames
    first: Frames


async def opened(source: FrameSource, turn_id: UUID, after: str = FIRST_CURSOR, wait_s: float = PEEK_S) -> Opening:
    """Begin to read a turn, and wait a moment for what is there already."""
    reading, frames, first = (
        Reading(turn_id, after, read_anything=after != FIRST_CURSOR),
        source.read(turn_id, after),
        [],
    )
    try:
        if wait_s > 0:
            first = await asyncio.wait_for(frames.__anext__(), wait_s)
    except TimeoutError:
        pass
    except FramesLost:
        reading.is_broken = True
        await frames.aclose()
        frames = source.read(turn_id, after)
    except BaseException:
        await frames.aclose()
        raise
    return Opening(reading, frames, first)


class FrameResponse(Response):
    """A response that follows a turn to its end, however that comes."""

    def __init__(self, opening: Opening, source: FrameSource, watch: Watch) -> None:
        self.reading, self.opening, self.source, self.watch = opening.reading, opening, source, watch
        self.status_code = 200
        self.background = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send frames until the turn ends, the reader leaves, or the turn is found lost."""
        self.reading.heard_at = asyncio.get_running_loop().time()
        await send({"type": "http.response.start", "status": 200, "headers": NDJSON_HEADERS})
        STREAMS.add(1)
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
            STREAMS.add(-1)
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
        frames, batch = self.opening.frames, self.opening.first
        try:
            while True:
                if batch:
                    reading.sending = True
                    body = b"".join([line(cursor, frame) for cursor, frame in batch])
                    await send({"type": "http.response.body", "body": body, "more_body": True})
                    reading.sending, reading.is_broken = False, False
                    reading.read_anything, reading.heard_at = True, clock()
                    cursor, frame = batch[-1]
                    reading.cursor = cursor.decode()
                    if is_last(frame):
                        return
                try:
                    batch = await frames.__anext__()
                except FramesLost:
                    reading.is_broken, batch = True, []
                    await frames.aclose()
                    await asyncio.sleep(AGAIN_S)
                    frames = self.source.read(reading.turn_id, reading.cursor)
        finally:
            await frames.aclose()


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
