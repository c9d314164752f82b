"""Serves an application on a socket that is already bound, inside a loop that has its own signals."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from contextlib import contextmanager
from socket import socket

import uvicorn
from starlette.applications import Starlette


class _Server(uvicorn.Server):
    @contextmanager
    def capture_signals(self) -> Generator[None]:
        # uvicorn would take SIGINT and SIGTERM for itself, and the supervisor's orderly stop would never begin.
        yield


async def serve(application: Starlette, bound: socket) -> None:
    """Serve until cancelled."""
    config = uvicorn.Config(
        application, log_level="warning", access_log=False, lifespan="on", ws="none", timeout_graceful_shutdown=1
    )
    server = _Server(config)
    serving = asyncio.create_task(server.serve(sockets=[bound]))
    try:
        await asyncio.shield(serving)
    finally:
        server.should_exit = True
        await serving
