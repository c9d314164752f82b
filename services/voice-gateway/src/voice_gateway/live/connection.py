"""The connection that carries a session now: who sends waits for it, and whoever wants it left says why."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager

from voice_gateway.live.errors import ConnectionLost, LiveError
from voice_gateway.live.reconnecting import Ending


class Connection:
    """One after the other, each opened under :meth:`opening` and then carried; one task sends at a time."""

    def __init__(self) -> None:
        self._sending = asyncio.Lock()
        self._up = asyncio.Event()
        self._left: asyncio.Future[Ending] | None = None
        self._wished: Ending | None = None
        self._over = False

    @property
    def up(self) -> bool:
        """Whether there is a connection that is not about to be left."""
        return self._up.is_set() and not self._over and not (self._left is not None and self._left.done())

    async def send(self, what: Callable[[], Awaitable[None]], asked: Callable[[], bool] = lambda: True) -> None:
        """Do ``what`` when there is a connection and nobody else sends, unless ``asked`` is false by then.

        A connection that is lost meanwhile is left; what was sent over it is then for its successor to know.
        :class:`ConnectionLost` when the session is over and there will be no other.
        """
        while True:
            await self._up.wait()
            if self._over:
                raise ConnectionLost("The conversation has ended.")
            async with self._sending:
                if not self._up.is_set():
                    continue
                if asked():
                    try:
                        await what()
                    except LiveError:
                        self.leave("drop")
                return

    def leave(self, ending: Ending) -> None:
        """Leave the connection; the first reason counts, and the end of the session always does."""
        if self._left is not None and not self._left.done():
            self._left.set_result(ending)
        elif self._left is None:
            self._wished = ending
        if ending == "finished":
            self._wished = ending

    def end(self) -> None:
        """The session is over: whoever waits to send is told so."""
        self._over = True
        self._up.set()

    @property
    def over(self) -> bool:
        """Whether the session is over."""
        return self._over

    @property
    def finished(self) -> bool:
        """Whether the session is to end."""
        return self._wished == "finished"

    @asynccontextmanager
    async def opening(self) -> AsyncGenerator[None]:
        """A connection is opened and told what it has to know, while nobody else sends."""
        async with self._sending:
            if not self.finished:
                self._wished = None
            self._left = None
            yield

    async def carry(self, *parts: Callable[[], Awaitable[None]]) -> Ending:
        """Run what belongs to the open connection until it is left or lost, and say why."""
        self._left = left = asyncio.get_running_loop().create_future()
        if self._wished is not None:
            left.set_result(self._wished)
        tasks = [asyncio.ensure_future(part()) for part in parts]
        self._up.set()
        try:
            await asyncio.wait({*tasks, left}, return_when=asyncio.FIRST_COMPLETED)
            for task in tasks:
                if task.done() and not left.done():
                    task.result()
        except ConnectionLost:
            pass
        finally:
            self._up.clear()
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            self._left = None
        return left.result() if left.done() else "drop"
