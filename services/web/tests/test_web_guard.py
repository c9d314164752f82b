"""Who is served, and who is not."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import httpx2
import pytest
from web_fakes import TOKEN, Running
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from web.guard import Guard

ASKED = {"chat_id": str(uuid4()), "question": "Who is served?"}


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "localhost.evil.example",
        "127.0.0.1.evil.example:3000",
        "",
        "[::2]:1",
        "[::1]evil.example",
        "[::1",
        "localhost:80@evil.example",
        "localhost:evil.example",
        "localhost:80, evil.example",
    ],
)
async def test_a_name_that_was_made_to_point_here_is_not_served(web: Running, host: str) -> None:
    for method, path in (("GET", "/"), ("GET", "/api/corpus"), ("POST", "/api/turns"), ("GET", "/health/ready")):
        response = await web.page.request(method, path, headers={"host": host, "origin": f"http://{host}"})
        assert response.status_code == 403
    assert web.behind.asked == []


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:3000", "127.0.0.1:80", "[::1]:3000"])
async def test_the_names_of_this_machine_are_served(web: Running, host: str) -> None:
    async with httpx2.AsyncClient(base_url=web.url) as browser:
        assert (await browser.get("/", headers={"host": host})).status_code == 200


@pytest.mark.parametrize("changed", [{"allowed_hosts": "notes.lan, Notes.Home"}])
async def test_a_name_in_the_settings_is_served(web: Running) -> None:
    for name in ("notes.lan", "notes.home:3000"):
        response = await web.page.get("/", headers={"host": name, "origin": f"http://{name}"})
        assert response.status_code == 200


@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.example",
        "null",
        "http://localhost.evil.example",
        "http://127.0.0.1:1",
        "file://",
        "https://",
        "x",
        "http://[evil",
        "http://]",
        "",
    ],
)
async def test_another_site_is_not_served(web: Running, origin: str) -> None:
    for method, path in (("GET", "/api/corpus"), ("POST", "/api/turns"), ("POST", "/v1/realtime/client_secrets")):
        response = await web.page.request(method, path, headers={"origin": origin}, json=ASKED)
        assert response.status_code == 403
        assert "another site" in response.json()["message"]
    assert web.behind.asked == []


async def test_a_change_without_an_origin_needs_the_token_of_the_command_line(web: Running) -> None:
    async with httpx2.AsyncClient(base_url=web.url) as shell:
        refused = await shell.post("/api/turns", json=ASKED)
        assert (refused.status_code, "Authorization" in refused.json()["message"]) == (403, True)
        wrong = await shell.post("/api/turns", json=ASKED, headers={"authorization": f"Bearer {TOKEN}x"})
        assert wrong.status_code == 403
        served = await shell.post("/api/turns", json=ASKED, headers={"authorization": f"Bearer {TOKEN}"})
        assert served.status_code == 200
    assert len(web.behind.asked) == 1


@pytest.mark.parametrize("changed", [{"cli_token": None}])
async def test_without_a_token_in_the_settings_none_is_good(web: Running) -> None:
    async with httpx2.AsyncClient(base_url=web.url) as shell:
        for credential in ("", "Bearer", "Bearer None", "Basic eDp5"):
            response = await shell.post("/api/turns", json=ASKED, headers={"authorization": credential})
            assert response.status_code == 403


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"sec-fetch-site": "same-origin"}, 200),
        ({"sec-fetch-site": "none", "sec-fetch-mode": "navigate"}, 200),
        ({"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}, 200),
        ({"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"}, 403),
        ({"sec-fetch-site": "same-site", "sec-fetch-mode": "no-cors"}, 403),
    ],
)
async def test_reading_is_for_the_page_and_for_tools(web: Running, headers: dict[str, str], status: int) -> None:
    async with httpx2.AsyncClient(base_url=web.url) as browser:
        assert (await browser.get("/api/corpus", headers=headers)).status_code == status


@pytest.mark.parametrize(
    "headers",
    [{"Origin": "http://evil.example"}, {"Origin": "http://evil.example", "Authorization": "Bearer ek_x"}, {}],
)
async def test_a_websocket_from_elsewhere_or_without_a_credential_is_refused(
    web: Running, headers: dict[str, Any]
) -> None:
    with pytest.raises(InvalidStatus) as refused:
        async with connect(web.url.replace("http", "ws") + "/v1/realtime", additional_headers=headers, proxy=None):
            pass
    assert refused.value.response.status_code == 403


async def test_every_answer_carries_the_headers_that_bind_the_page(web: Running) -> None:
    for path in ("/", "/page/page.js", "/api/corpus", "/api/nothing", "/health/live"):
        headers = (await web.page.get(path)).headers
        assert "default-src 'self'" in headers["content-security-policy"]
        assert "frame-ancestors 'none'" in headers["content-security-policy"]
        assert "require-trusted-types-for 'script'" in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"


@pytest.mark.parametrize(
    ("changed", "connects"),
    [
        ({"voice": "local"}, None),
        ({"mode": "live", "voice": "openai"}, "connect-src 'self' https://api.openai.com wss://api.openai.com"),
        (
            {"voice": "openai", "openai_base_url": "http://me:pw-secret@127.0.0.1:8080/v1/"},
            "connect-src 'self' http://127.0.0.1:8080 ws://127.0.0.1:8080",
        ),
    ],
)
async def test_the_page_may_call_the_provider_only_where_that_holds_the_calls(
    web: Running, connects: str | None
) -> None:
    policy = (await web.page.get("/")).headers["content-security-policy"].split("; ")
    assert [part for part in policy if part.startswith("connect-src")] == ([connects] if connects else [])
    assert "default-src 'self'" in policy


def test_two_hosts_in_one_request_are_refused() -> None:
    guard = Guard(lambda *_: None)  # type: ignore[arg-type,return-value]
    scope = {"type": "http", "method": "GET", "headers": [(b"host", b"localhost"), (b"host", b"evil.example")]}
    assert guard.refused(scope) is not None
    assert guard.refused({**scope, "headers": []}) is not None
