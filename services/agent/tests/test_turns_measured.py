"""The metrics of turns and of the models behind them, by real turns on a real database."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from agent_fakes import FakeSearch, PiecewiseAnswerer, found
from agent_rig import rig, until
from redis.asyncio import Redis
from responses_server import Reply, function_call, in_order, response, responses_server, streamed

from agent.accepting import Limits
from agent.answering import Conversation
from agent.errors import RateLimited
from agent.responses import Provider, Responses
from chassis.postgres import Pool

Measured = Callable[[str], list[Any]]


def counted(points: list[Any]) -> dict[tuple[Any, ...], int]:
    """How often each combination of attributes was counted, their values in the order of their names."""
    return {tuple(value for _, value in sorted(point.attributes.items())): point.count for point in points}


async def test_an_answered_turn_is_timed_from_its_acceptance_on(pool: Pool, redis: Redis, measured: Measured) -> None:
    async with rig(pool, redis) as agent:
        await agent.ended((await agent.ask()).turn_id)
        await until(lambda: _true(measured("talkdown.turn.duration")))
    assert counted(measured("talkdown.turn.duration")) == {("completed",): 1}
    (whole,), (first,), (searched,), (waited,) = (
        measured(f"talkdown.turn.{what}")
        for what in ("duration", "time_to_first_delta", "search.duration", "wait.duration")
    )
    assert 0 <= waited.sum <= first.sum <= whole.sum
    assert 0 < searched.sum <= whole.sum
    assert {point.attributes.get("talkdown.turn.id") for point in (whole, first, searched, waited)} == {None}
    (running,) = measured("talkdown.turn.running")
    assert running.value == 0


async def test_a_running_turn_is_counted_while_it_runs(pool: Pool, redis: Redis, measured: Measured) -> None:
    async with rig(pool, redis, answerer=PiecewiseAnswerer(gate=asyncio.Semaphore(1))) as agent:
        await agent.deltas((await agent.ask()).turn_id, 1)
        (running,) = measured("talkdown.turn.running")
        assert running.value == 1


@pytest.mark.behaviour("T11")
async def test_a_failed_turn_is_counted_under_its_code_alone(pool: Pool, redis: Redis, measured: Measured) -> None:
    async with rig(pool, redis, search=FakeSearch(fails=True)) as agent:
        await agent.ended((await agent.ask("Where is the secret?")).turn_id)
        await until(lambda: _true(measured("talkdown.turn.duration")))
    assert counted(measured("talkdown.turn.duration")) == {("search_failed", "failed"): 1}
    assert measured("talkdown.turn.time_to_first_delta") == []


@pytest.mark.behaviour("T3")
async def test_a_turn_that_nobody_began_in_time_is_counted_too(pool: Pool, redis: Redis, measured: Measured) -> None:
    async with rig(pool, redis, works=False, limits=Limits(deadline_s=0.2)) as agent:
        await agent.ended((await agent.ask()).turn_id)
    (point,) = measured("talkdown.turn.duration")
    assert dict(point.attributes) == {"talkdown.turn.status": "failed", "error.type": "deadline"}
    assert point.sum >= 0.2


async def test_a_model_is_timed_and_its_tokens_are_those_that_it_counted(measured: Measured) -> None:
    conversation = Conversation("Which code?")
    async with responses_server() as server:
        model = Responses(Provider("sk-secret", server.base_url), model="gpt-4.1-mini")
        server.replies = [
            Reply(json=response("completed", [function_call('{"query": "code"}')])),
            Reply(events=in_order(streamed("ORCHID-47."))),
            Reply(status=429, json={"error": {"code": "rate_limit_exceeded", "message": "slow down"}}),
        ]
        plan = await model.plan(conversation)
        pieces = [piece async for piece in model.write(conversation, plan, found())]
        with pytest.raises(RateLimited):
            await model.plan(conversation)
        await model.close()
    usages = [plan.usage, *(piece.usage for piece in pieces)]
    read = sum(usage.input_tokens for usage in usages if usage)
    written = sum(usage.output_tokens for usage in usages if usage)
    assert min(read, written) > 0
    called = {"gen_ai.operation.name": "chat", "gen_ai.provider.name": "openai", "gen_ai.request.model": "gpt-4.1-mini"}
    tokens = measured("gen_ai.client.token.usage")
    assert {point.attributes["gen_ai.token.type"]: point.sum for point in tokens} == {"input": read, "output": written}
    assert all(called.items() <= point.attributes.items() for point in tokens)
    timed = [(dict(point.attributes), point.count) for point in measured("gen_ai.client.operation.duration")]
    assert sorted(timed, key=len) == [(called, 2), ({**called, "error.type": "RateLimited"}, 1)]


async def _true(value: object) -> bool:
    return bool(value)
