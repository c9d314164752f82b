"""The voice signalling, passed to the gateway and back."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from typing import ClassVar

import httpx2
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect
from web_fakes import TOKEN, Running, closed_port, example, serving, until
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus


@dataclass
class Gateway:
    """A gateway that takes one session at a time and says everything twice."""

    url: str = ""
    headers: dict[str, str] = field(default_factory=dict[str, str])
    query: str = ""
    signalled: list[str] = field(default_factory=list[str])
    body: bytes = b""
    closed: list[tuple[int, str | None]] = field(default_factory=list[tuple[int, str | None]])

    async def signal(self, request: Request) -> Response:
        self.signalled.append(request.url.path)
        self.headers, self.body = dict(request.headers), await request.body()
        if request.url.path == "/v1/realtime/calls":
            return Response("v=0 answer", 201, {"location": "/v1/realtime/calls/rtc_1"}, "application/sdp")
        return Response()

    async def session(self, socket: WebSocket) -> None:
        self.headers, self.query = dict(socket.headers), socket.url.query
        if "ek_refused" in self.headers.get("sec-websocket-protocol", ""):
            await socket.close(1008, "no")
            return
        await socket.accept("realtime" if "sec-websocket-protocol" in self.headers else None)
        try:
            while True:
                said = await socket.receive_text()
                if said == "close":
                    await socket.close(4001, "as you wish")
                    return
                await socket.send_text(said + said)
        except WebSocketDisconnect as gone:
            self.closed.append((gone.code, gone.reason))


@pytest.fixture
async def gateway() -> AsyncGenerator[Gateway]:
    gateway = Gateway()
    async with serving(
        Starlette(
            routes=[
                WebSocketRoute("/v1/realtime", gateway.session),
                Route("/{path:path}", gateway.signal, methods=["POST"]),
            ]
        )
    ) as gateway.url:
        yield gateway


@pytest.fixture
def changed(gateway: Gateway) -> dict[str, str]:
    return {"voice_url": gateway.url}


def address(web: Running) -> str:
    return web.url.replace("http", "ws") + "/v1/realtime?model=gpt-realtime-2.1"


async def test_a_page_opens_a_session_and_both_sides_hear_each_other(web: Running, gateway: Gateway) -> None:
    protocols = ["realtime", "openai-insecure-api-key.ek_good"]
    async with connect(address(web), origin=web.url, subprotocols=protocols, proxy=None) as session:  # type: ignore[arg-type]
        assert session.subprotocol == "realtime"
        await session.send("ü😀" * 30_000)
        assert await session.recv() == "ü😀" * 60_000
    await until(lambda: gateway.closed)
    assert gateway.closed[0][0] == 1000
    assert gateway.query == "model=gpt-realtime-2.1"
    assert "origin" not in gateway.headers


async def test_a_client_without_an_origin_brings_its_credential(web: Running, gateway: Gateway) -> None:
    async with connect(address(web), additional_headers={"Authorization": "Bearer ek_mine"}, proxy=None) as session:
        await session.send("a")
        assert await session.recv() == "aa"
    assert gateway.headers["authorization"] == "Bearer ek_mine"


async def test_the_gateway_s_close_reaches_the_page_with_its_code_and_reason(web: Running) -> None:
    async with connect(address(web), additional_headers={"Authorization": "Bearer ek_mine"}, proxy=None) as session:
        await session.send("close")
        with pytest.raises(ConnectionClosed):
            await session.recv()
        assert (session.close_code, session.close_reason) == (4001, "as you wish")


async def test_a_session_that_the_gateway_refuses_is_refused(web: Running) -> None:
    protocols = ["realtime", "openai-insecure-api-key.ek_refused"]
    with pytest.raises((InvalidStatus, ConnectionClosed)):
        async with connect(address(web), origin=web.url, subprotocols=protocols, proxy=None) as session:  # type: ignore[arg-type]
            await session.recv()


class TestCredentials:
    """The request for one, over HTTP."""

    @pytest.fixture
    def changed(self) -> dict[str, str]:
        return {}

    async def test_it_is_passed_without_the_origin_and_with_the_trace(self, web: Running) -> None:
        trace = "00-" + "a" * 32 + "-" + "b" * 16 + "-01"
        response = await web.page.post("/v1/realtime/client_secrets", json={}, headers={"traceparent": trace})
        assert response.json() == example("voice.client-secret")
        [headers] = web.behind.headers
        assert "origin" not in headers
        assert headers["traceparent"].split("-")[1] == "a" * 32

    async def test_a_stock_client_asks_with_the_token_of_the_command_line(self, web: Running) -> None:
        headers = {"authorization": f"Bearer {TOKEN}", "origin": web.url}
        response = await web.page.post("/v1/realtime/client_secrets", json={}, headers=headers)
        assert response.status_code == 200


class TestWithoutAGateway:
    """It restarts, or is gone."""

    @pytest.fixture
    def changed(self) -> dict[str, str]:
        return {"voice_url": closed_port()}

    async def test_the_page_is_told_so(self, web: Running) -> None:
        response = await web.page.post("/v1/realtime/client_secrets", json={})
        assert response.status_code == 503
        assert "try again" in response.json()["message"].lower()
        with pytest.raises((InvalidStatus, ConnectionClosed)):
            async with connect(
                address(web), additional_headers={"Authorization": "Bearer ek_x"}, proxy=None
            ) as session:
                await session.recv()


async def test_what_the_page_saw_of_a_call_goes_on_to_the_gateway(web: Running, gateway: Gateway) -> None:
    told = example("voice.timeline")
    async with httpx2.AsyncClient(base_url=web.url, headers={"origin": web.url}) as client:
        assert (await client.post("/api/calls/sess_1/timeline", json=told)).status_code == 200
        assert (await client.post("/api/calls/..%2Fother/timeline", json=told)).status_code == 404
    assert gateway.signalled == ["/calls/sess_1/timeline"]
    assert json.loads(gateway.body) == told


@pytest.mark.parametrize(
    "path", ["..%2f..%2fcalls%2fx%2ftimeline", "a%00b", "a%3fb", "%2e", "a%2f%2fb", "a%0ab", "", "%ff"]
)
async def test_only_addresses_of_the_realtime_api_are_passed_on(web: Running, gateway: Gateway, path: str) -> None:
    refused = await web.page.post(f"/v1/realtime/{path}", json={})
    assert (refused.status_code, refused.json()["code"]) == (404, "not_found")
    assert gateway.signalled == []


class TestCalls:
    """SDP offers, their answers, and the end of a call."""

    BEARER: ClassVar[dict[str, str]] = {"authorization": "Bearer ek_mine"}

    async def test_an_offer_is_passed_on_and_the_answer_comes_back_with_the_call_s_address(
        self, web: Running, gateway: Gateway
    ) -> None:
        headers = {**self.BEARER, "content-type": "application/sdp"}
        answer = await web.page.post("/v1/realtime/calls", content="v=0 offer", headers=headers)
        assert (answer.status_code, answer.text) == (201, "v=0 answer")
        assert answer.headers["location"] == "/v1/realtime/calls/rtc_1"
        assert answer.headers["content-type"].startswith("application/sdp")
        assert gateway.body == b"v=0 offer"
        assert (gateway.headers["authorization"], "origin" in gateway.headers) == ("Bearer ek_mine", False)

    async def test_a_form_is_passed_on_as_it_is(self, web: Running, gateway: Gateway) -> None:
        form = {"sdp": (None, "v=0 offer", "application/sdp"), "session": (None, "{}", "application/json")}
        answer = await web.page.post("/v1/realtime/calls", files=form, headers=self.BEARER)
        assert answer.status_code == 201
        boundary = gateway.headers["content-type"].partition("boundary=")[2]
        assert boundary.encode() in gateway.body
        assert b"v=0 offer" in gateway.body

    async def test_an_offer_that_is_too_large_is_refused(self, web: Running, gateway: Gateway) -> None:
        answer = await web.page.post("/v1/realtime/calls", content=b"v" * 131_073, headers=self.BEARER)
        assert (answer.status_code, answer.json()["code"]) == (413, "too_large")
        assert gateway.signalled == []

    async def test_a_call_is_hung_up(self, web: Running, gateway: Gateway) -> None:
        assert (await web.page.post("/v1/realtime/calls/rtc_1/hangup")).status_code == 200
        assert gateway.signalled == ["/v1/realtime/calls/rtc_1/hangup"]

    async def test_a_client_without_an_origin_brings_its_credential(self, web: Running, gateway: Gateway) -> None:
        async with httpx2.AsyncClient(base_url=web.url, trust_env=False) as bare:
            refused = await bare.post("/v1/realtime/calls", content="v=0")
            assert (refused.status_code, gateway.signalled) == (403, [])
            assert (await bare.post("/v1/realtime/calls", content="v=0", headers=self.BEARER)).status_code == 201
            refused = await bare.post("/v1/realtime/callsign", headers=self.BEARER)
            assert refused.status_code == 403

    async def test_a_session_beside_a_call_names_it(self, web: Running, gateway: Gateway) -> None:
        beside = web.url.replace("http", "ws") + "/v1/realtime?call_id=rtc_1"
        async with connect(beside, additional_headers=self.BEARER, proxy=None) as session:
            await session.send("a")
            assert await session.recv() == "aa"
        assert gateway.query == "call_id=rtc_1"
