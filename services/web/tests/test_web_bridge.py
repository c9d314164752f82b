"""Live sessions, passed to the voice gateway and back: sound as it is, and who may open one."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import dataclass, field

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect
from web_fakes import Running, example, serving, until
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

PATH = "/v1/graph/live"

pytestmark = pytest.mark.behaviour("L8")


@dataclass
class Gateway:
    """Sends every frame back, and closes as it is told."""

    url: str = ""
    queries: list[str] = field(default_factory=list[str])
    headers: dict[str, str] = field(default_factory=dict[str, str])
    closed: list[int] = field(default_factory=list[int])

    async def offer(self, request: Request) -> Response:
        return JSONResponse(example("voice.live.offer"))

    async def session(self, socket: WebSocket) -> None:
        self.queries.append(socket.url.query)
        self.headers = dict(socket.headers)
        await socket.accept("realtime" if "sec-websocket-protocol" in self.headers else None)
        try:
            while True:
                message = await socket.receive()
                if message["type"] == "websocket.disconnect":
                    self.closed.append(message["code"])
                    return
                if (sound := message.get("bytes")) is not None:
                    await socket.send_bytes(sound)
                elif message["text"] == "close":
                    await socket.close(1013, "All are taken.")
                    return
                else:
                    await socket.send_text(message["text"])
        except WebSocketDisconnect as gone:
            self.closed.append(gone.code)


@pytest.fixture
async def gateway() -> AsyncGenerator[Gateway]:
    gateway = Gateway()
    routes = [WebSocketRoute(PATH, gateway.session), Route(PATH, gateway.offer)]
    async with serving(Starlette(routes=routes)) as gateway.url:
        yield gateway


@pytest.fixture
def changed(gateway: Gateway) -> dict[str, str]:
    return {"voice_url": gateway.url}


def address(web: Running, query: str = "") -> str:
    return web.url.replace("http", "ws") + PATH + query


async def test_sound_and_json_pass_both_ways_as_they_are(web: Running, gateway: Gateway) -> None:
    protocols = ["realtime", "openai-insecure-api-key.ek_mine"]
    options = {"origin": web.url, "subprotocols": protocols, "proxy": None, "max_size": None}
    async with connect(address(web), **options) as session:  # type: ignore[arg-type]
        assert session.subprotocol == "realtime"
        await session.send("{}")
        assert await session.recv() == "{}"
        for sound in (b"", b"\x00\xff" * 640, bytes(1_048_577)):
            await session.send(sound)
            assert await session.recv() == sound
    await until(lambda: gateway.closed)
    assert gateway.closed == [1000]
    assert "origin" not in gateway.headers


async def test_a_client_that_can_set_no_header_brings_its_credential_in_the_address(
    web: Running, gateway: Gateway
) -> None:
    async with connect(address(web, "?token=ek_mine"), proxy=None) as session:
        await session.send("{}")
        assert await session.recv() == "{}"
    assert gateway.queries == ["token=ek_mine"]


async def test_without_an_origin_and_a_credential_nobody_is_let_in(web: Running, gateway: Gateway) -> None:
    with pytest.raises(InvalidStatus) as refused:
        await connect(address(web), proxy=None)
    assert refused.value.response.status_code == 403
    with pytest.raises(InvalidStatus):
        await connect(web.url.replace("http", "ws") + "/v1/realtime?token=ek_mine", proxy=None)
    with pytest.raises(InvalidStatus):
        await connect(address(web, "?token=ek_mine"), origin="http://evil.example", proxy=None)  # type: ignore[arg-type]
    assert gateway.queries == []


async def test_the_code_and_the_reason_of_an_end_reach_the_page(web: Running) -> None:
    async with connect(address(web, "?token=ek_mine"), proxy=None) as session:
        await session.send("close")
        with pytest.raises(ConnectionClosed):
            await session.recv()
        assert (session.close_code, session.close_reason) == (1013, "All are taken.")


async def test_the_page_learns_what_a_session_may_be_opened_with(web: Running) -> None:
    answer = await web.page.get(PATH)
    assert answer.json() == example("voice.live.offer")
