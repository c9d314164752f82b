"""Several voice gateways behind web: new calls are spread, and what belongs to a call finds the gateway that has it."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket
from web_fakes import Running, closed_port, example, serving
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from chassis.replicas import HEADER


@dataclass
class Gateway:
    """Marks what it makes with the name that it was told, and remembers who came."""

    answers: int = 200
    name: str = ""
    asked: list[str] = field(default_factory=list[str])
    sessions: list[str] = field(default_factory=list[str])

    @property
    def app(self) -> Starlette:
        """Its routes."""
        return Starlette(
            routes=[
                WebSocketRoute("/v1/realtime", self._session),
                WebSocketRoute("/v1/graph/live", self._session),
                Route("/{path:path}", self._signal, methods=["POST"]),
            ]
        )

    async def _signal(self, request: Request) -> Response:
        self.asked.append(request.url.path)
        if request.url.path != "/v1/realtime/client_secrets":
            return Response()
        if self.answers != 200:
            return JSONResponse({"code": "full", "message": "All are taken."}, self.answers)
        self.name = request.headers[HEADER]
        secret = example("voice.client-secret")
        secret["value"] = f"ek_{self.name}-{'s' * 20}"
        secret["session"]["id"] = f"sess_{self.name}-1"
        return JSONResponse(secret)

    async def _session(self, socket: WebSocket) -> None:
        self.sessions.append(socket.url.query)
        await socket.accept()
        await socket.close(1000, "done")


@pytest.fixture
async def gateways() -> AsyncGenerator[dict[str, Gateway]]:
    """Two of them, by their addresses."""
    async with AsyncExitStack() as stack:
        made = [Gateway(), Gateway()]
        yield {await stack.enter_async_context(serving(one.app)): one for one in made}


@pytest.fixture
def gone() -> str:
    """Beside the two, an address where nobody is."""
    return closed_port()


@pytest.fixture
def changed(gateways: dict[str, Gateway], gone: str) -> dict[str, str]:
    return {"voice_url": ", ".join((*gateways, gone))}


async def minted(web: Running) -> dict[str, Any]:
    answer = await web.page.post("/v1/realtime/client_secrets", json={})
    assert answer.status_code == 200, answer.text
    return answer.json()


async def minted_by_each(web: Running, gateways: dict[str, Gateway]) -> list[tuple[Gateway, dict[str, Any]]]:
    """A credential of each gateway."""
    found: dict[str, dict[str, Any]] = {}
    for _ in range(12):
        secret = await minted(web)
        found[secret["value"][3:9]] = secret
    assert len(found) == 2
    return [(next(one for one in gateways.values() if one.name == name), secret) for name, secret in found.items()]


async def test_new_calls_are_spread_over_the_gateways_that_are_there(
    web: Running, gateways: dict[str, Gateway]
) -> None:
    for _ in range(12):
        await minted(web)
    asked = [len(one.asked) for one in gateways.values()]
    assert sum(asked) == 12
    assert min(asked) >= 4


@pytest.mark.parametrize("status", [429, 503])
async def test_a_gateway_that_is_full_or_stops_is_passed_over(
    web: Running, gateways: dict[str, Gateway], status: int
) -> None:
    full, free = gateways.values()
    full.answers = status
    for _ in range(4):
        await minted(web)
    assert len(free.asked) == 4


async def test_when_all_are_full_the_page_is_told_their_own_sentence(
    web: Running, gateways: dict[str, Gateway]
) -> None:
    for one in gateways.values():
        one.answers = 429
    answer = await web.page.post("/v1/realtime/client_secrets", json={})
    assert (answer.status_code, answer.json()["message"]) == (429, "All are taken.")


@pytest.mark.parametrize(
    "path",
    [
        "/v1/realtime/calls",
        "/v1/realtime/calls/rtc_{mark}-1/hangup",
        "/v1/realtime/client_secrets?call_id=rtc_{mark}-1",
        "/api/calls/sess_{mark}-1/timeline",
    ],
)
async def test_what_belongs_to_a_call_goes_to_its_gateway(
    web: Running, gateways: dict[str, Gateway], path: str
) -> None:
    for gateway, secret in await minted_by_each(web, gateways):
        for one in gateways.values():
            one.asked.clear()
        mark = secret["value"][3:9]
        headers = {"authorization": f"Bearer {secret['value']}"} if "{mark}" not in path else {}
        for _ in range(3):
            assert (await web.page.post(path.format(mark=mark), json={}, headers=headers)).status_code == 200
        assert [len(one.asked) for one in gateways.values() if one is not gateway] == [0]
        assert len(gateway.asked) == 3


async def closing(web: Running, query: str, path: str = "/v1/realtime", **named: Any) -> int | None:
    """How a session ended."""
    address = web.url.replace("http", "ws") + path + query
    try:
        async with connect(address, origin=web.url, proxy=None, **named) as session:  # type: ignore[arg-type]
            with pytest.raises(ConnectionClosed):
                await session.recv()
            return session.close_code
    except InvalidStatus as error:
        return error.response.status_code


async def test_a_session_is_carried_by_the_gateway_that_made_its_credential(
    web: Running, gateways: dict[str, Gateway]
) -> None:
    for gateway, secret in await minted_by_each(web, gateways):
        bearer = {"Authorization": f"Bearer {secret['value']}"}
        assert await closing(web, "?model=m", additional_headers=bearer) == 1000
        offered = ["realtime", f"openai-insecure-api-key.{secret['value']}"]
        assert await closing(web, "", subprotocols=offered) == 1000
        assert await closing(web, f"?call_id=rtc_{secret['value'][3:9]}-1") == 1000
        assert await closing(web, "", "/v1/graph/live", subprotocols=offered) == 1000
        assert await closing(web, f"?token={secret['value']}", "/v1/graph/live") == 1000
        assert len(gateway.sessions) == 5
    assert [len(one.sessions) for one in gateways.values()] == [5, 5]


async def test_a_call_whose_gateway_is_gone_is_said_to_be_so(web: Running, gateways: dict[str, Gateway]) -> None:
    answer = await web.page.post("/v1/realtime/calls/rtc_ffffff-1/hangup")
    assert answer.status_code == 503
    assert "call again" in answer.json()["message"]
    assert await closing(web, "?call_id=rtc_ffffff-1") == 403
    assert [one.asked for one in gateways.values()] == [[], []]
