"""E2: one question is one connected trace, in whichever process it is answered."""

from __future__ import annotations

from collections.abc import Generator

import pytest
from agent_fakes import FakeSearch, PiecewiseAnswerer
from agent_rig import rig, until
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from redis.asyncio import Redis

from agent.answering import Plan, Usage
from chassis import telemetry
from chassis.postgres import Pool
from chassis.settings import ServiceSettings
from contracts.frames import Accepted

pytestmark = pytest.mark.behaviour("E2")


@pytest.fixture
def spans() -> Generator[InMemorySpanExporter]:
    exporter = InMemorySpanExporter()
    provider = telemetry.setup("agent", ServiceSettings(), SimpleSpanProcessor(exporter))
    yield exporter
    provider.shutdown()
    telemetry.setup("agent", ServiceSettings())


def named(spans: InMemorySpanExporter, name: str) -> ReadableSpan:
    return next(span for span in spans.get_finished_spans() if span.name == name)


async def test_a_turn_that_another_agent_runs_continues_the_trace_of_the_question(
    pool: Pool, redis: Redis, spans: InMemorySpanExporter
) -> None:
    async with rig(pool, redis, works=False, sweeps=False) as front, rig(pool, redis):
        accepted = await front.ask()
        await front.ended(accepted.turn_id)
        first = (await front.frames(accepted.turn_id))[0]
        await until(lambda: _true("invoke_agent talkdown" in {span.name for span in spans.get_finished_spans()}))
    asked, run, retrieval = (named(spans, name) for name in ("POST /turns", "invoke_agent talkdown", "retrieval"))
    assert asked.context
    assert run.parent
    assert run.parent.span_id == asked.context.span_id
    assert {f"{span.context.trace_id:032x}" for span in (asked, run, retrieval) if span.context} == {accepted.trace_id}
    assert isinstance(first, Accepted)
    assert first.trace_id == accepted.trace_id
    assert run.attributes
    assert run.attributes["gen_ai.operation.name"] == "invoke_agent"
    assert run.attributes["gen_ai.conversation.id"] == str(accepted.chat_id)


async def test_a_model_s_search_is_a_tool_that_it_called(pool: Pool, redis: Redis, spans: InMemorySpanExporter) -> None:
    async with rig(pool, redis, answerer=PiecewiseAnswerer(model="gpt-test")) as agent:
        await agent.ended((await agent.ask()).turn_id)
    tool, retrieval = named(spans, "execute_tool retrieve_documents"), named(spans, "retrieval")
    assert tool.context
    assert retrieval.parent
    assert retrieval.parent.span_id == tool.context.span_id
    assert tool.attributes
    assert tool.attributes["gen_ai.tool.name"] == "retrieve_documents"


@pytest.mark.behaviour("T11")
async def test_a_failed_turn_is_marked_in_its_trace_by_the_kind_of_failure_alone(
    pool: Pool, redis: Redis, spans: InMemorySpanExporter
) -> None:
    async with rig(pool, redis, search=FakeSearch(fails=True)) as agent:
        await agent.ended((await agent.ask("Where is the secret?")).turn_id)
        await until(lambda: _true("invoke_agent talkdown" in {span.name for span in spans.get_finished_spans()}))
    run = named(spans, "invoke_agent talkdown")
    assert run.attributes
    assert run.attributes["error.type"] == "SearchFailed"
    assert all("secret" not in span.to_json() for span in spans.get_finished_spans())


def test_the_tokens_of_both_rounds_are_added() -> None:
    plan = Plan("q", usage=Usage(1, 2))
    assert plan.usage
    assert plan.usage + Usage(3, 4) == Usage(4, 6)


async def _true(value: object) -> bool:
    return bool(value)
