"""A process that is told to stop ends its sessions with their reason, and its answers in time or with a sentence."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from asyncio.subprocess import Process
from collections.abc import AsyncGenerator

import httpx2
import pytest
from test_voice_websocket import ask, bearer, hear, hear_until
from voice_fakes import ANSWER, FakeAgent, Gateway, begin_only, free_socket, serving
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

from contracts.frames import Done


@pytest.fixture
def stop_s() -> str:
    """How long an answer may take at a stop, in seconds."""
    return "7"


@pytest.fixture
async def process(agent: FakeAgent, valkey_url: str, stop_s: str) -> AsyncGenerator[tuple[Process, Gateway]]:
    """``python -m voice_gateway`` as it is run."""
    listening = free_socket()
    listening.listen()
    port = listening.getsockname()[1]
    async with serving(agent.app()) as agent_url:
        given = {
            "TALKDOWN_LISTEN_FD": str(listening.fileno()),
            "TALKDOWN_AGENT_URL": agent_url,
            "TALKDOWN_REDIS_URL": valkey_url,
            "TALKDOWN_SILENT_S": "5",
            "TALKDOWN_STOP_S": stop_s,
        }
        running = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "voice_gateway", env={**os.environ, **given}, pass_fds=[listening.fileno()]
        )
        listening.close()
        url = f"http://127.0.0.1:{port}"
        async with httpx2.AsyncClient(base_url=url, trust_env=False, timeout=30) as http:
            async with asyncio.timeout(30):
                while (await http.get("/health/ready")).status_code != 200:  # noqa: ASYNC110 - it is another process
                    await asyncio.sleep(0.02)
            yield running, Gateway(url, agent, http, lambda: pytest.fail("this gateway is another process"))
        if running.returncode is None:
            running.kill()
        await running.wait()


@pytest.mark.behaviour("E3")
async def test_an_idle_session_is_closed_as_going_away(process: tuple[Process, Gateway]) -> None:
    running, gateway = process
    secret = await gateway.mint()
    async with connect(gateway.ws_url, additional_headers=bearer(secret.value)) as connection:
        await hear(connection)
        running.send_signal(signal.SIGTERM)
        with pytest.raises(ConnectionClosed):
            await connection.recv()
        assert connection.close_code == 1001
        assert "shutting down" in (connection.close_reason or "")
    assert await running.wait() == 0


@pytest.mark.behaviour("E3")
async def test_an_answer_in_work_is_finished_before_the_end(process: tuple[Process, Gateway]) -> None:
    running, gateway = process
    gateway.agent.play = begin_only
    async with connect(gateway.ws_url, additional_headers=bearer((await gateway.mint()).value)) as connection:
        await ask(connection)
        await hear_until(connection, "response.output_text.delta")
        running.send_signal(signal.SIGTERM)
        await _stops(gateway)
        await gateway.agent.write(gateway.agent.turns[0], Done(answer="".join(ANSWER), sources=()))
        assert (await hear_until(connection, "response.done"))["response"]["status"] == "completed"
        assert (await hear(connection))["type"] == "rate_limits.updated"
        with pytest.raises(ConnectionClosed):
            await connection.recv()
        assert connection.close_code == 1001
    assert await running.wait() == 0


@pytest.mark.behaviour("E3")
@pytest.mark.parametrize("stop_s", ["0.3"])
async def test_an_answer_that_takes_too_long_ends_with_a_sentence(process: tuple[Process, Gateway]) -> None:
    running, gateway = process
    gateway.agent.play = begin_only
    async with connect(gateway.ws_url, additional_headers=bearer((await gateway.mint()).value)) as connection:
        await ask(connection)
        await hear_until(connection, "response.output_text.delta")
        running.send_signal(signal.SIGTERM)
        failed = (await hear_until(connection, "response.done"))["response"]
        assert failed["status_details"]["error"]["code"] == "stopping"
        assert (await hear(connection))["type"] == "rate_limits.updated"
        with pytest.raises(ConnectionClosed):
            await connection.recv()
        assert connection.close_code == 1001
    assert await running.wait() == 0
    assert gateway.agent.cancelled == []


async def test_its_health_names_it_and_a_wrong_voice_stops_the_start(process: tuple[Process, Gateway]) -> None:
    _, gateway = process
    live = await gateway.http.get("/health/live")
    assert live.json() == {"service": "voice-gateway", "status": "live"}
    assert (await gateway.http.get("/health/ready")).json()["status"] == "ready"
    wrong = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "voice_gateway", env={**os.environ, "TALKDOWN_VOICE": "gemini"}, stderr=-1
    )
    _, told = await wrong.communicate()
    assert wrong.returncode == 2
    assert b"set TALKDOWN_VOICE to local" in told


async def _stops(gateway: Gateway) -> None:
    """Wait until nothing new is taken: a connection is refused, or waits for whoever listens next."""
    async with asyncio.timeout(5):
        while True:
            try:
                async with httpx2.AsyncClient(base_url=gateway.url, trust_env=False, timeout=0.5) as fresh:
                    await fresh.get("/health/live")
            except httpx2.TransportError:
                return
            await asyncio.sleep(0.02)
