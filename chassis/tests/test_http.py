"""Asking another service: typed answers, and each failure as its own error with a plain sentence."""

from __future__ import annotations

from collections.abc import Callable

import httpx2
import pytest

from chassis.http import Nonsense, Refused, ServiceClient, Unreachable, open_client
from contracts.health import Live


def answering(answer: Callable[[httpx2.Request], httpx2.Response]) -> ServiceClient:
    client = httpx2.AsyncClient(transport=httpx2.MockTransport(answer), base_url="http://agent:8000")
    return ServiceClient(client, "agent")


async def test_an_answer_is_read_as_its_contract() -> None:
    def answer(request: httpx2.Request) -> httpx2.Response:
        assert request.headers["traceparent"].startswith("00-")
        return httpx2.Response(200, content=request.content or b'{"service": "agent"}')

    agent = answering(answer)
    assert await agent.get("/health/live", Live) == Live(service="agent")
    assert await agent.post("/echo", Live, Live(service="me")) == Live(service="me")
    await agent.raw.aclose()


async def test_a_refusal_is_raised_with_what_the_service_said() -> None:
    body = {"code": "too_many_turns", "message": "This chat has four questions already."}
    agent = answering(lambda request: httpx2.Response(429, json=body, headers={"retry-after": "3"}))
    with pytest.raises(Refused, match="four questions") as refused:
        await agent.get("/", Live)
    assert (refused.value.status, refused.value.code, refused.value.retry_after) == (429, "too_many_turns", 3.0)
    await agent.raw.aclose()


async def test_an_error_without_a_reason_gets_a_sentence_that_repeats_nothing() -> None:
    agent = answering(lambda request: httpx2.Response(502, text="<html>secret"))
    with pytest.raises(Refused, match=r"^The agent answered 502\.$"):
        await agent.get("/", Live)
    await agent.raw.aclose()


async def test_an_answer_that_does_not_fit_is_said_to_be_nonsense() -> None:
    agent = answering(lambda request: httpx2.Response(200, text="secret"))
    with pytest.raises(Nonsense, match="does not fit its contract") as nonsense:
        await agent.get("/", Live)
    assert "secret" not in str(nonsense.value)
    await agent.raw.aclose()


async def test_a_service_that_is_not_there_is_unreachable(unused_tcp_port: int) -> None:
    async with open_client(f"http://127.0.0.1:{unused_tcp_port}", "agent") as agent:
        with pytest.raises(Unreachable, match=r"The agent does not answer \(no connection\)\."):
            await agent.get("/", Live)


async def test_a_service_that_is_too_slow_is_unreachable() -> None:
    def slow(request: httpx2.Request) -> httpx2.Response:
        raise httpx2.ReadTimeout("slow", request=request)

    agent = answering(slow)
    with pytest.raises(Unreachable, match="no answer in time"):
        await agent.get("/", Live, timeout=0.1)
    await agent.raw.aclose()
