"""A live session for programs that have no event loop (L10)."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from threading import Thread

from voice_gateway.live.events import RealtimeEvent
from voice_gateway.live.runner import LiveSession


def blocking(session: LiveSession) -> Generator[RealtimeEvent]:
    """The session's events one after the other, each waited for; the session itself runs in a thread of its own.

    Its queue takes input from any thread meanwhile. ``RuntimeError`` inside an event loop, which this would stop.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return _events(session)
    raise RuntimeError("An event loop is running here: use `async for event in session.events()`.")


def _events(session: LiveSession) -> Generator[RealtimeEvent]:
    loop = asyncio.new_event_loop()
    thread = Thread(target=loop.run_forever, name="live session", daemon=True)
    thread.start()
    events = session.events()

    async def following() -> RealtimeEvent | None:
        return await anext(events, None)

    try:
        while (event := asyncio.run_coroutine_threadsafe(following(), loop).result()) is not None:
            yield event
    finally:
        asyncio.run_coroutine_threadsafe(_closed(session), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _closed(session: LiveSession) -> None:
    await session.close()
