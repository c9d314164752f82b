"""T6, T10: a provider that names a time to wait is asked once more then, but only before the first word."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
from agent_fakes import AMBER, found
from responses_server import Reply, ResponsesServer, error, function_call, response, responses_server, streamed

from agent import patience
from agent.answering import Conversation, Plan
from agent.chat import ChatCompletions
from agent.errors import ModelFailed, RateLimited, TurnFailed
from agent.responses import Provider, Responses

pytestmark = pytest.mark.behaviour("T6")
QUESTION = Conversation("What is the code?")
CALLED = response("completed", [function_call('{"query": "code"}')])


@pytest.fixture
async def server() -> AsyncIterator[ResponsesServer]:
    async with responses_server() as serving:
        yield serving


@pytest.fixture
async def model(server: ResponsesServer) -> AsyncIterator[Responses]:
    answerer = Responses(Provider("sk-secret", server.base_url), model="gpt-4.1-mini")
    yield answerer
    await answerer.close()


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How long was waited, without waiting."""
    waited: list[float] = []

    async def sleep(seconds: float) -> None:
        waited.append(seconds)

    monkeypatch.setattr(patience, "asyncio", type("Clock", (), {"sleep": staticmethod(sleep)}))
    return waited


def limited(wait: str, name: str = "retry-after") -> Reply:
    return Reply(429, json=error("rate_limit_exceeded"), headers={name: wait})


async def written(model: Responses | ChatCompletions) -> str:
    return "".join([piece.text async for piece in model.write(QUESTION, Plan("q"), found(AMBER))])


async def test_both_rounds_wait_as_long_as_the_provider_says_and_ask_once_more(
    server: ResponsesServer, model: Responses, waits: list[float]
) -> None:
    server.replies = [
        limited("2"),
        Reply(json=CALLED),
        limited("250", "retry-after-ms"),
        Reply(events=streamed("Yes.")),
    ]
    assert (await model.plan(QUESTION)).query == "code"
    assert await written(model) == "Yes."
    assert waits == [2.0, 0.25]
    assert len(server.requests) == 4


async def test_a_second_refusal_is_told_with_its_time(
    server: ResponsesServer, model: Responses, waits: list[float]
) -> None:
    server.replies = [limited("1"), limited("30")]
    with pytest.raises(RateLimited, match=r"ask again in 30 seconds\."):
        await written(model)
    assert waits == [1.0]


@pytest.mark.parametrize("wait", ["9", "3601", "-1", "soon", "nan", "Wed, 21 Oct 2026 07:28:00 GMT"])
async def test_a_wait_that_is_too_long_or_no_number_is_not_waited_for(
    server: ResponsesServer, model: Responses, waits: list[float], wait: str
) -> None:
    server.replies = [limited(wait)]
    with pytest.raises(RateLimited, match="takes no more questions for now"):
        await written(model)
    assert (waits, len(server.requests)) == ([], 1)


async def test_no_credit_is_not_waited_for(server: ResponsesServer, model: Responses, waits: list[float]) -> None:
    server.replies = [Reply(429, json=error("insufficient_quota"), headers={"retry-after": "1"})]
    with pytest.raises(RateLimited, match="credit"):
        await written(model)
    assert waits == []


async def test_after_the_first_word_nothing_is_asked_again(
    server: ResponsesServer, model: Responses, waits: list[float]
) -> None:
    failed = response("failed", usage=None, error={"code": "rate_limit_exceeded", "message": "No."})
    server.replies = [Reply(events=streamed("OR", last={"type": "response.failed", "response": failed}))]
    with pytest.raises(RateLimited):
        await written(model)
    server.replies = [Reply(events=streamed("ORCHID")[:6], cut=True)]
    with pytest.raises(ModelFailed):
        await written(model)
    assert (waits, len(server.requests)) == ([], 2)


async def test_a_chat_server_is_waited_for_too(server: ResponsesServer, waits: list[float]) -> None:
    server.path = "/v1/chat/completions"
    model = ChatCompletions(Provider("sk-secret", server.base_url), model="m")
    server.replies = [limited("1"), limited("1")]
    with pytest.raises(TurnFailed, match="in 1 second"):
        await written(model)
    await model.close()
    assert (waits, len(server.requests)) == ([1.0], 2)


async def test_a_turn_that_is_cancelled_stops_waiting(server: ResponsesServer, model: Responses) -> None:
    server.replies = [limited("8")]
    turn = asyncio.create_task(written(model))
    async with asyncio.timeout(5):
        while not server.requests:  # noqa: ASYNC110 - the server tells nobody
            await asyncio.sleep(0.01)
        turn.cancel()
        with pytest.raises(asyncio.CancelledError):
            await turn
    assert len(server.requests) == 1
