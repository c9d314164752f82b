"""The server of every service: health, refusals in sentences, limits, a graceful end (E3, T1, T11)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from uuid import uuid4

import httpx2
import pytest
from chassis_app import State, lifespan, make
from fastapi import FastAPI
from starlette.requests import Request
from starlette.types import Message, Receive, Scope, Send

from chassis.background import background
from chassis.refusals import UnknownFailures
from chassis.server import health_of
from chassis.settings import ServiceSettings
from contracts.health import Ready
from contracts.turns import Refusal


@asynccontextmanager
async def reached(app: FastAPI) -> AsyncGenerator[httpx2.AsyncClient]:
    """A client of an app that runs in this process."""
    async with (
        app.router.lifespan_context(app),
        httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url="http://sample") as client,
    ):
        yield client


@pytest.fixture
async def client() -> AsyncIterator[httpx2.AsyncClient]:
    async with reached(make(ServiceSettings())) as client:
        yield client


def said(response: httpx2.Response) -> tuple[int, str, str]:
    refusal = Refusal.model_validate_json(response.content)
    return response.status_code, refusal.code, refusal.message


async def test_requests_see_what_the_lifespan_gave(client: httpx2.AsyncClient) -> None:
    assert (await client.get("/word")).json() == {"word": "amber"}


@pytest.mark.behaviour("E3")
async def test_a_service_says_that_it_lives_and_is_ready(client: httpx2.AsyncClient) -> None:
    await client.get("/word")
    assert (await client.get("/health/live")).json() == {"service": "sample", "status": "live"}
    ready = await client.get("/health/ready")
    assert ready.status_code == 200
    assert Ready.model_validate_json(ready.content).status == "ready"


@pytest.mark.behaviour("E3")
async def test_a_service_that_waits_says_for_what() -> None:
    app = make(ServiceSettings())

    async def gone() -> str | None:
        return "PostgreSQL does not answer"

    async def breaks() -> str | None:
        raise RuntimeError("postgresql://me:secret@db")

    async def hangs() -> str | None:
        await asyncio.Event().wait()

    async with reached(app) as client:
        await client.get("/word")
        health_of(app).check("postgres", gone)
        health_of(app).check("bus", breaks)
        health_of(app).check("model", hangs)
        answer = await client.get("/health/ready")
    ready = Ready.model_validate_json(answer.content)
    assert (answer.status_code, ready.status) == (503, "waiting")
    assert {waiting.on: waiting.why for waiting in ready.waits_for} == {
        "postgres": "PostgreSQL does not answer",
        "bus": "the check failed (RuntimeError)",
        "model": "no answer within 1 s",
    }
    assert "secret" not in answer.text


@pytest.mark.behaviour("E3")
async def test_while_it_starts_a_service_answers_for_its_health_and_holds_requests(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    go_on = asyncio.Event()

    @asynccontextmanager
    async def slow(app: FastAPI) -> AsyncGenerator[State]:
        await go_on.wait()
        async with lifespan(app) as state:
            yield state

    monkeypatch.setattr("chassis.gate.PATIENCE_S", 0.05)
    async with reached(make(ServiceSettings(), around=slow)) as client:
        ready = await client.get("/health/ready")
        assert ready.status_code == 503
        assert "the service is starting" in ready.text
        status, code, message = said(await client.get("/word"))
        assert (status, code) == (503, "unavailable")
        assert message.startswith("The sample is starting")
        monkeypatch.setattr("chassis.gate.PATIENCE_S", 30)
        held = asyncio.create_task(client.get("/word"))
        await asyncio.sleep(0)
        go_on.set()
        assert (await held).json() == {"word": "amber"}


@pytest.mark.behaviour("T11")
async def test_an_unknown_failure_is_one_sentence_that_tells_nothing_of_it(client: httpx2.AsyncClient) -> None:
    status, code, message = said(await client.get("/breaks"))
    assert (status, code) == (500, "internal")
    assert "secret" not in message


async def test_a_refusal_keeps_its_code_its_sentence_and_its_wait(client: httpx2.AsyncClient) -> None:
    response = await client.get("/refuses")
    assert said(response) == (429, "too_many_turns", "This chat has four questions already.")
    assert response.headers["retry-after"] == "2"


@pytest.mark.behaviour("T1")
async def test_bodies_that_do_not_fit_are_refused_in_a_sentence_that_repeats_nothing(
    client: httpx2.AsyncClient,
) -> None:
    for body, expected in (
        (b"{", "The body is not valid JSON."),
        (b"", "The body is missing."),
        (b"{}", "The field 'chat_id' is missing."),
        (b'{"chat_id": "secret", "question": "?"}', "The field 'chat_id' is wrong: "),
        (b"[1]", "The body is wrong: "),
    ):
        status, code, message = said(
            await client.post("/ask", content=body, headers={"content-type": "application/json"})
        )
        assert (status, code) == (400, "invalid_request")
        assert message.startswith(expected)
        assert "secret" not in message


@pytest.mark.behaviour("T1")
async def test_a_body_over_the_limit_is_refused_whether_it_says_its_size_or_not(client: httpx2.AsyncClient) -> None:
    async def chunks() -> AsyncIterator[bytes]:
        for _ in range(10):
            yield b" " * 1000

    headers = {"content-type": "application/json"}
    for content in (b" " * 9000, chunks()):
        status, code, message = said(await client.post("/ask", content=content, headers=headers))
        assert (status, code) == (413, "too_large")
        assert message == "The body is over 8,192 bytes; send a shorter one."
    fits = f'{{"chat_id": "{uuid4()}", "question": "why?"}}'.encode().ljust(8192)
    assert (await client.post("/ask", content=fits, headers=headers)).json() == {"question": "why?"}


def test_the_description_of_an_app_says_how_it_refuses() -> None:
    described = make(ServiceSettings()).openapi()
    asked = described["paths"]["/ask"]["post"]["responses"]
    assert set(asked) == {"200", "default"}
    assert asked["default"]["content"]["application/json"]["schema"] == {"$ref": "#/components/schemas/Refusal"}
    assert "HTTPValidationError" not in described["components"]["schemas"]
    assert make(ServiceSettings()).openapi() == described


@pytest.mark.parametrize(
    "sign",
    [
        {"origin": "http://evil.example"},
        {"sec-fetch-site": "cross-site"},
        {"host": "evil.example"},
        {"host": "127.0.0.1.evil.example:3011"},
        {"host": "[evil.example]:3011"},
    ],
)
async def test_a_private_service_serves_no_browser(client: httpx2.AsyncClient, sign: dict[str, str]) -> None:
    """Neither a form on somebody's page nor a name that points at this machine reaches it."""
    status, code, _ = said(await client.get("/word", headers=sign))
    assert (status, code) == (403, "private")


@pytest.mark.parametrize(
    "host", ["127.0.0.1:3011", "[::1]:3011", "localhost", "retriever:3011", "10.0.0.7", "retriever.talkdown.internal"]
)
async def test_a_private_service_serves_the_services_around_it(client: httpx2.AsyncClient, host: str) -> None:
    assert (await client.get("/word", headers={"host": host})).json() == {"word": "amber"}


async def test_unknown_addresses_and_methods_are_refused_in_sentences(client: httpx2.AsyncClient) -> None:
    assert said(await client.get("/nowhere")) == (404, "not_found", "There is nothing at this address.")
    assert said(await client.get("/word/")) == (404, "not_found", "There is nothing at this address.")
    assert said(await client.post("/word"))[:2] == (405, "method_not_allowed")


async def test_a_client_that_leaves_while_it_speaks_is_no_failure(caplog: pytest.LogCaptureFixture) -> None:
    async def listening(scope: Scope, receive: Receive, send: Send) -> None:
        await Request(scope, receive).body()

    async def receive() -> Message:
        return {"type": "http.disconnect"}

    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    await UnknownFailures(listening)({"type": "http", "path": "/ask"}, receive, send)
    assert sent == []
    assert [record for record in caplog.records if record.levelname == "ERROR"] == []


@pytest.mark.behaviour("E3")
async def test_work_in_the_background_ends_as_soon_as_the_service_begins_to_stop() -> None:
    ended = asyncio.Event()

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    @asynccontextmanager
    async def working(app: FastAPI) -> AsyncGenerator[State]:
        async with background(health_of(app), work()):
            yield {"word": "busy"}

    app = make(ServiceSettings(), around=working)
    async with reached(app) as client:
        await client.get("/word")
        health_of(app).stopping.set()
        async with asyncio.timeout(60):
            await ended.wait()
        assert (await client.get("/word")).json() == {"word": "busy"}


async def test_work_that_fails_takes_the_service_with_it() -> None:
    async def fails() -> None:
        raise OSError("the disk is gone")

    @asynccontextmanager
    async def working(app: FastAPI) -> AsyncGenerator[State]:
        async with background(health_of(app), fails()):
            yield {"word": "busy"}

    app = make(ServiceSettings(), around=working)

    async def until_it_stops() -> None:
        async with reached(app), asyncio.timeout(5):
            await health_of(app).stopping.wait()

    with pytest.raises(ExceptionGroup):
        await until_it_stops()
