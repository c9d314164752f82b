"""The HTTP server of every service: health, refusals in plain sentences, a span a request, and a graceful end.

::

    app = service("retriever", lifespan, settings)      # a FastAPI app; add routes or routers to it
    run(app, settings)                                  # until SIGTERM or SIGINT

The service's own ``lifespan`` runs beside the server, so that ``/health/ready`` can say what it waits for while it
starts; requests that come meanwhile wait a little and are then refused with that sentence. What the lifespan yields is
``request.state``. When the process is told to stop, ``Health.stopping`` is set: what runs in the background ends
(:func:`chassis.background.background`), running requests have ``grace_s``, and then the lifespan is left.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from importlib.util import find_spec
from types import FrameType
from typing import Any

import uvicorn
from fastapi import FastAPI, Request, Response

from chassis import telemetry
from chassis.gate import Gate
from chassis.health import Health
from chassis.limits import BodyLimit
from chassis.private import NoBrowsers
from chassis.refusals import answer_in_sentences
from chassis.settings import ServiceSettings
from chassis.tracing import TracedRequests
from contracts.turns import MAX_BODY_BYTES

log = logging.getLogger(__name__)

Lifespan = Callable[[FastAPI], AbstractAsyncContextManager[Mapping[str, Any]]]


def service(
    name: str,
    lifespan: Lifespan,
    settings: ServiceSettings,
    *,
    max_body: int = MAX_BODY_BYTES,
    larger_bodies: Mapping[str, int] | None = None,
    browsers: bool = False,
) -> FastAPI:
    """An app with health, error bodies, limits and tracing.

    Bodies over ``max_body`` bytes are refused; ``larger_bodies`` maps the beginning of a path to its own limit.
    Whatever a browser sent is refused, unless the service is made for ``browsers`` and guards itself.
    """
    health = Health(name, settings.mode)
    gate = Gate(lifespan, health, settings.grace_s)

    @asynccontextmanager
    async def alive(app: FastAPI) -> AsyncGenerator[None]:
        async with gate.open(app):
            yield

    app = FastAPI(
        title=name,
        lifespan=alive,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    app.state.health = health
    answer_in_sentences(app)
    app.add_api_route("/health/live", _live, methods=["GET"], tags=["health"])
    app.add_api_route("/health/ready", _ready, methods=["GET"], tags=["health"])
    app.add_middleware(BodyLimit, limit=max_body, larger=dict(larger_bodies or {}))
    app.add_middleware(gate.guard)
    if not browsers:
        app.add_middleware(NoBrowsers)
    app.add_middleware(TracedRequests)
    return app


def health_of(app: FastAPI) -> Health:
    """The :class:`Health` of an app made by :func:`service`."""
    health = app.state.health
    assert isinstance(health, Health)
    return health


async def _live(request: Request) -> Response:
    return Response(health_of(request.app).live().model_dump_json(), media_type="application/json")


async def _ready(request: Request) -> Response:
    ready = await health_of(request.app).ready()
    status = 200 if ready.status == "ready" else 503
    return Response(ready.model_dump_json(), status, media_type="application/json")


def run(app: FastAPI, settings: ServiceSettings, *, bound: socket.socket | None = None) -> None:
    """Serve until the process is told to stop; ``bound`` (or ``settings.listen_fd``) is a socket that already listens.

    Logs and traces begin here. A lifespan that fails ends the process with code 1.
    """
    health = health_of(app)
    telemetry.setup(health.service, settings)
    config = uvicorn.Config(
        app,
        host=settings.host,
        port=settings.port,
        fd=settings.listen_fd if bound is None else None,
        loop="uvloop",
        http="httptools",
        ws="chassis.denying:DenyingProtocol" if find_spec("websockets") else "none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=False,
        timeout_keep_alive=75,
        timeout_graceful_shutdown=max(1, round(settings.grace_s)),
    )
    logging.getLogger("uvicorn").setLevel(logging.WARNING)
    server = _Server(config, health)
    app.state.give_up = server.give_up
    try:
        server.run([bound] if bound is not None else None)
    finally:
        telemetry.finish()
    if server.failed or not server.started:
        raise SystemExit(1)


class _Server(uvicorn.Server):
    """uvicorn's server, which says that it stops before it does."""

    def __init__(self, config: uvicorn.Config, health: Health) -> None:
        super().__init__(config)
        self.failed = False
        self._health = health
        self._signals = 0
        self._loop: asyncio.AbstractEventLoop | None = None

    def give_up(self) -> None:
        """End the process because the lifespan failed."""
        self.failed = True
        self._health.stopping.set()
        self.should_exit = True

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to serve, and say where."""
        self._loop = asyncio.get_running_loop()
        await super().startup(sockets)
        for server in getattr(self, "servers", []):
            for listening in server.sockets:
                log.info("listening", extra={"address": str(listening.getsockname())})

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """A first signal stops gracefully, a second at once; uvicorn must not raise it again when it is done."""
        del frame
        self._signals += 1
        log.info("stopping", extra={"signal": signal.Signals(sig).name})
        if self._loop is None:
            self._health.stopping.set()  # a signal that comes before the start: nobody waits yet
        else:
            self._loop.call_soon_threadsafe(self._health.stopping.set)
        self.should_exit = True
        if self._signals > 1:
            self.force_exit = True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Give open WebSockets the time that requests have: uvicorn alone would cut them off with 1012 at once.

        Whoever serves one sees ``Health.stopping`` and closes it with its reason.
        """
        clock = asyncio.get_running_loop().time
        until = clock() + (self.config.timeout_graceful_shutdown or 0)
        for server in self.servers:
            server.close()
        while self._websockets_open() and not self.force_exit and clock() < until:  # noqa: ASYNC110
            await asyncio.sleep(0.05)
        self.config.timeout_graceful_shutdown = max(1, round(until - clock()))
        await super().shutdown(sockets)

    def _websockets_open(self) -> bool:
        kind = self.config.ws_protocol_class
        return kind is not None and any(isinstance(one, kind) for one in self.server_state.connections)
