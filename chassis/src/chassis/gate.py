"""The door of a service: its lifespan runs beside the server, and requests wait at the door until it is open."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from typing import Any, cast

from fastapi import FastAPI
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from chassis.health import Health
from chassis.refusals import refuse

log = logging.getLogger(__name__)

PATIENCE_S = 3.0
"""How long a request waits for a service that is starting."""

Lifespan = Callable[[FastAPI], AbstractAsyncContextManager[Mapping[str, Any]]]


class Gate:
    """Enters and leaves the lifespan in one task of its own, and hands its state to every request."""

    def __init__(self, lifespan: Lifespan, health: Health, grace_s: float) -> None:
        self._lifespan = lifespan
        self._health = health
        self._grace_s = grace_s
        self._state: Mapping[str, Any] = {}
        self._opened = asyncio.Event()
        self._leave = asyncio.Event()

    @asynccontextmanager
    async def open(self, app: FastAPI) -> AsyncGenerator[None]:
        """Begin the lifespan, and end it; what it raises is raised here, unless the server was told to give up."""
        self._opened.clear()
        self._leave.clear()
        self._health.stopping.clear()
        self._health.waits("start", "the service is starting")
        living = asyncio.create_task(self._live(app), name=f"{self._health.service} lifespan")
        try:
            yield
        finally:
            self._health.stopping.set()
            self._leave.set()
            if not self._opened.is_set():
                living.cancel()
            with suppress(asyncio.CancelledError):
                await living

    async def _live(self, app: FastAPI) -> None:
        try:
            async with self._lifespan(app) as state:
                self._state = state
                self._health.arrived("start")
                self._opened.set()
                log.info("ready", extra={"mode": self._health.mode})
                await self._leave.wait()
        except Exception as error:
            log.exception("the service cannot go on: %s", _plain(error))
            self._health.waits("start", "the service failed and ends")
            give_up = getattr(app.state, "give_up", None)
            if give_up is None:
                raise
            give_up()

    def guard(self, app: ASGIApp) -> ASGIApp:
        """Wrap an app: requests other than for health wait for the door, and learn of the stop."""

        async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] not in ("http", "websocket") or scope["path"].startswith("/health/"):
                await app(scope, receive, send)
                return
            if not self._opened.is_set() and not await self._wait():
                why = "; ".join(waiting.why for waiting in self._health.waiting)
                sentence = f"The {self._health.service} is starting ({why}). Try again in a moment."
                await refuse(scope, receive, send, 503, "unavailable", sentence, {"retry-after": "1"})
                return
            scope.setdefault("state", {}).update(self._state)
            await self._serve(app, scope, receive, send)

        return guarded

    async def _serve(self, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        begun = False

        async def sending(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            await app(scope, receive, sending)
        except asyncio.CancelledError:
            if not begun and self._health.stopping.is_set():
                sentence = f"The {self._health.service} is stopping and could not finish this. Try again in a moment."
                await refuse(scope, receive, send, 503, "stopping", sentence, {"retry-after": "2"})
            raise

    async def _wait(self) -> bool:
        try:
            async with asyncio.timeout(PATIENCE_S):
                await self._opened.wait()
        except TimeoutError:
            return False
        return True


def _plain(error: BaseException) -> str:
    while isinstance(error, BaseExceptionGroup):
        error = cast(BaseExceptionGroup[BaseException], error).exceptions[0]
    return type(error).__name__
