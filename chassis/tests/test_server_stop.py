"""A real process, a real signal: nothing new is taken, running work has its time, then it ends with its reason (E3)."""

from __future__ import annotations

import asyncio
import signal
import socket
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from contracts.turns import Refusal

pytestmark = pytest.mark.behaviour("E3")

APP = Path(__file__).with_name("chassis_app.py")


class Running:
    """The sample service as a process."""

    def __init__(self, process: asyncio.subprocess.Process, url: str) -> None:
        self.process = process
        self.url = url

    async def line(self, holding: str) -> str:
        """The next line of its output that holds a word."""
        assert self.process.stdout is not None
        async with asyncio.timeout(60):
            while True:
                line = (await self.process.stdout.readline()).decode()
                if holding in line or not line:
                    return line


@asynccontextmanager
async def running(grace_s: float) -> AsyncGenerator[Running]:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        bound.listen()
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            str(APP),
            str(bound.fileno()),
            str(grace_s),
            pass_fds=[bound.fileno()],
            stdout=asyncio.subprocess.PIPE,
        )
        url = f"http://127.0.0.1:{bound.getsockname()[1]}"
    try:
        yield Running(process, url)
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


async def test_a_service_that_is_told_to_stop_lets_a_stream_say_goodbye_and_ends_well() -> None:
    async with running(8) as service, httpx2.AsyncClient(base_url=service.url, timeout=60) as client:
        stream = asyncio.create_task(client.get("/tells"))
        await service.line("streaming")
        service.process.send_signal(signal.SIGTERM)
        assert (await stream).text == "begun\nstopping\n"
        async with asyncio.timeout(30):
            assert await service.process.wait() == 0


async def test_work_that_does_not_end_in_its_time_is_refused_with_the_reason() -> None:
    async with running(1) as service, httpx2.AsyncClient(base_url=service.url, timeout=60) as client:
        hanging = asyncio.create_task(client.get("/hangs"))
        await service.line("hanging")
        service.process.send_signal(signal.SIGINT)
        answer = await hanging
        assert answer.status_code == 503
        assert Refusal.model_validate_json(answer.content).code == "stopping"
        async with asyncio.timeout(30):
            assert await service.process.wait() == 0


async def test_a_websocket_that_is_refused_is_no_error_and_one_that_is_forgotten_is() -> None:
    async with running(1) as service:
        address = service.url.replace("http", "ws", 1)
        with pytest.raises(InvalidStatus) as refused:
            await connect(f"{address}/denied", proxy=None)
        response = refused.value.response
        assert (response.status_code, response.headers["retry-after"]) == (429, "5")
        assert Refusal.model_validate_json(response.body or b"").code == "too_many_sessions"
        with pytest.raises(InvalidStatus) as forgotten:
            await connect(f"{address}/forgotten", proxy=None)
        assert forgotten.value.response.status_code == 500
        service.process.send_signal(signal.SIGTERM)
        assert service.process.stdout is not None
        log = (await service.process.stdout.read()).decode()
        assert log.count("without completing handshake") == 1


async def test_a_port_that_is_taken_ends_the_start() -> None:
    async with running(1) as service, httpx2.AsyncClient(base_url=service.url, timeout=60) as client:
        assert (await client.get("/word")).json() == {"word": "amber"}
        line = await service.line("listening")
        assert '"service":"sample"' in line


@pytest.mark.behaviour("T1")
async def test_who_sends_far_too_much_still_reads_the_refusal() -> None:
    """Closing at once would reset the connection on which the client still writes."""
    async with running(8) as service, httpx2.AsyncClient(base_url=service.url, timeout=60) as client:
        for _ in range(20):
            response = await client.post("/ask", content=b" " * 900_000)
            assert (response.status_code, Refusal.model_validate_json(response.content).code) == (413, "too_large")
