"""A relay between a bus and its server, that a test can cut or hold: TCP of this machine."""

from __future__ import annotations

import asyncio
from contextlib import suppress

LOOPBACK = "127.0.0.1"


class Relay:
    """Passes on what comes to ``port`` to the server's port, and back."""

    def __init__(self, port: int, server_port: int) -> None:
        self.port = port
        self._server_port = server_port
        self._listening: asyncio.Server | None = None
        self._carrying: set[asyncio.Task[None]] = set()
        self._flowing = asyncio.Event()
        self._flowing.set()

    async def mend(self) -> None:
        """Take connections."""
        if self._listening is None:
            self._listening = await asyncio.start_server(self._connect, LOOPBACK, self.port)

    async def cut(self) -> None:
        """End all connections, and take no new ones until it is mended."""
        if self._listening is not None:
            self._listening.close()
            self._listening = None
        await self.break_all()

    async def break_all(self) -> None:
        """End all connections; new ones are taken."""
        for task in list(self._carrying):
            task.cancel()
        await asyncio.gather(*self._carrying, return_exceptions=True)

    def hold(self) -> None:
        """Let nothing through, as a server that stands still."""
        self._flowing.clear()

    def release(self) -> None:
        """Let everything through again, also what was held."""
        self._flowing.set()

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            server_reader, server_writer = await asyncio.open_connection(LOOPBACK, self._server_port)
        except OSError:
            writer.close()
            return
        for source, sink in ((reader, server_writer), (server_reader, writer)):
            task = asyncio.create_task(self._carry(source, sink))
            self._carrying.add(task)
            task.add_done_callback(self._carrying.discard)

    async def _carry(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        try:
            while data := await source.read(65536):
                await self._flowing.wait()
                sink.write(data)
                await sink.drain()
        except OSError:
            pass
        finally:
            sink.close()
            with suppress(OSError):
                await sink.wait_closed()
