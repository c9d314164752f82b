"""Models that a cascade asks directly: tools in rounds, streaming, usage from the stream, each failure its sentence."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Literal

import pytest
from openai.types.chat import ChatCompletionChunk
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from orch_fakes import CHAT, Stage, echo, scenario, stage
from pydantic import SecretStr
from responses_server import (
    Json,
    Reply,
    ResponsesServer,
    error,
    function_call,
    reasoning,
    response,
    responses_server,
    streamed,
)

from chassis import telemetry
from chassis.settings import ServiceSettings
from voice_gateway.errors import AnswerFailed
from voice_gateway.live.port import Line
from voice_gateway.orchestrators.cascade import CascadeOrchestrator, Company
from voice_gateway.orchestrators.handoffs import Handoffs
from voice_gateway.orchestrators.models import open_model
from voice_gateway.orchestrators.port import Called
from voice_gateway.orchestrators.text_agent import Asked, Call, Delta, Spent, TextAgent
from voice_gateway.orchestrators.toolbox import Caller, Tools
from voice_gateway.settings import Settings

Way = Literal["responses", "chat"]
HISTORY = (Line("user", "What is the amber valve?"), Line("assistant", "It joins two lines."))
ASKED = Asked(CHAT, "And its code?", ("Be brief.", "Use the notes."), HISTORY, (echo().spec,))


@pytest.fixture
async def server() -> AsyncIterator[ResponsesServer]:
    async with responses_server() as serving:
        yield serving


def chunked(*deltas: Json, finish: str | None = "stop", usage: tuple[int, int] | None = (11, 7)) -> Reply:
    """An answer in the chunks of a chat completion."""
    about: Json = {"id": "c1", "object": "chat.completion.chunk", "created": 1767225600, "model": "m"}
    made = [{**about, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    if finish:
        made.append({**about, "choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
    if usage:
        counted = {"prompt_tokens": usage[0], "completion_tokens": usage[1], "total_tokens": sum(usage)}
        made.append({**about, "choices": [], "usage": counted})
    for chunk in made:
        ChatCompletionChunk.model_validate(chunk)
    return Reply(events=made, raw=b"data: [DONE]\n\n")


@asynccontextmanager
async def model(server: ResponsesServer, way: Way = "responses", **more: Any) -> AsyncGenerator[TextAgent]:
    server.path = "/v1/chat/completions" if way == "chat" else "/v1/responses"
    settings = Settings(
        openai_api_key=SecretStr("sk-secret"), openai_base_url=server.base_url, cascade_answers=way, **more
    )
    async with open_model(settings) as opened:
        yield opened


async def written(turn: Any, results: tuple[Called, ...] = (), tools: bool = True) -> list[Any]:
    return [part async for part in turn.round(results, tools=tools)]


async def test_a_response_is_streamed_and_its_tokens_are_those_of_the_stream(server: ResponsesServer) -> None:
    server.replies = [Reply(events=streamed("It is ", "ORCHID-47."))]
    async with model(server) as opened:
        parts = await written(opened.begin(ASKED))
    assert parts == [Delta("It is "), Delta("ORCHID-47."), Spent("gpt-4.1-mini", 11, 7)]
    (request,) = server.requests
    assert request["instructions"] == "Be brief.\n\nUse the notes."
    assert request["input"] == [
        {"role": "user", "content": "What is the amber valve?"},
        {"role": "assistant", "content": "It joins two lines."},
        {"role": "user", "content": "And its code?"},
    ]
    assert (request["store"], request["stream"], request["tool_choice"]) == (False, True, "auto")
    assert [tool["name"] for tool in request["tools"]] == ["echo"]
    assert "include" not in request


async def test_reasoning_and_calls_are_carried_to_the_next_round_with_their_results(
    server: ResponsesServer,
) -> None:
    calls = [function_call('{"a": 1}', name="echo"), function_call("[", name="echo", call_id="call_2")]
    server.replies = [Reply(events=streamed(calls=calls, before=[reasoning()])), Reply(events=streamed("Done."))]
    async with model(server, cascade_model="gpt-5.4-mini") as opened:
        turn = opened.begin(ASKED)
        parts = await written(turn)
        made = [part for part in parts if isinstance(part, Call)]
        assert made == [Call("call_1", "echo", {"a": 1}), Call("call_2", "echo", None)]
        results = tuple(Called(call.id, call.name, call.args or {}, {"ok": call.id}) for call in made)
        await written(turn, results, tools=False)
    first, second = server.requests
    assert first["include"] == second["include"] == ["reasoning.encrypted_content"]
    kinds = [item.get("type", item.get("role")) for item in second["input"][3:]]
    assert kinds == ["reasoning", "function_call", "function_call", "function_call_output", "function_call_output"]
    assert second["input"][3]["encrypted_content"] == "c2VjcmV0"
    assert second["input"][-2] == {"type": "function_call_output", "call_id": "call_1", "output": '{"ok": "call_1"}'}
    assert second["tool_choice"] == "none"


async def test_a_chat_server_is_asked_with_tools_and_its_calls_come_in_parts(server: ResponsesServer) -> None:
    parts = [
        {"role": "assistant", "content": "Let me see. "},
        {"tool_calls": [{"index": 0, "id": "c1", "type": "function", "function": {"name": "echo", "arguments": ""}}]},
        {"tool_calls": [{"index": 0, "function": {"arguments": '{"a":'}}]},
        {"tool_calls": [{"index": 1, "id": "c2", "function": {"name": "echo", "arguments": "{}"}}]},
        {"tool_calls": [{"index": 0, "function": {"arguments": " 1}"}}]},
    ]
    server.replies = [chunked(*parts, finish="tool_calls"), chunked({"content": "Done."})]
    async with model(server, "chat", cascade_model="qwen3") as opened:
        turn = opened.begin(ASKED)
        made = [part for part in await written(turn) if isinstance(part, (Call, Spent, Delta))]
        assert made == [
            Delta("Let me see. "),
            Spent("qwen3", 11, 7),
            Call("c1", "echo", {"a": 1}),
            Call("c2", "echo", {}),
        ]
        results = (Called("c1", "echo", {}, {"ok": 1}), Called("c2", "echo", {}, {"ok": 2}))
        assert await written(turn, results) == [Delta("Done."), Spent("qwen3", 11, 7)]
    first, second = server.requests
    assert first["stream_options"] == {"include_usage": True}
    assert first["messages"][0] == {"role": "system", "content": "Be brief.\n\nUse the notes."}
    assistant, *tools = second["messages"][-3:]
    assert [call["id"] for call in assistant["tool_calls"]] == ["c1", "c2"]
    assert [(tool["role"], tool["tool_call_id"]) for tool in tools] == [("tool", "c1"), ("tool", "c2")]


CUT_OFF = {
    "type": "response.incomplete",
    "response": response("incomplete", incomplete_details={"reason": "max_output_tokens"}),
}
FILTERED = {
    "type": "response.incomplete",
    "response": response("incomplete", incomplete_details={"reason": "content_filter"}),
}


@pytest.mark.parametrize(
    ("reply", "failure", "says"),
    [
        (Reply(status=429, json=error("rate_limit_exceeded")), "rate_limited", "ask again in a minute"),
        (Reply(status=429, json=error(None), headers={"retry-after": "7"}), "rate_limited", "again in 7 seconds"),
        (Reply(status=429, json=error("insufficient_quota")), "rate_limited", "no credit left"),
        (Reply(status=401, json=error(None)), "model_failed", "refused the key"),
        (Reply(status=404, json=error(None)), "model_failed", "does not know this model"),
        (Reply(status=500, json=error(None)), "model_failed", "a fault of its own"),
        (Reply(status=400, json=error("content_filter")), "model_refused", "put it in other words"),
        (Reply(status=400, json=error("context_length_exceeded")), "model_failed", "too long for this model"),
        (Reply(events=streamed("Hm", last=CUT_OFF)), "model_failed", "cut off"),
        (Reply(events=streamed("Hm", last=FILTERED)), "model_refused", "content rules"),
        (Reply(events=streamed("Hm")[:-1]), "model_failed", "stopped before its answer was complete"),
        (Reply(events=streamed("Hm")[:-1], cut=True), "model_failed", "The connection"),
        (Reply(events=streamed("Hm")[:-1], hang=True), "model_failed", "took too long"),
    ],
)
async def test_each_way_to_fail_is_its_own_sentence_and_nothing_of_the_providers_words(
    server: ResponsesServer, reply: Reply, failure: str, says: str
) -> None:
    server.replies = [reply]
    async with model(server, cascade_timeout_s=0.3) as opened:
        with pytest.raises(AnswerFailed) as caught:
            await written(opened.begin(ASKED))
    assert caught.value.failure == failure
    assert says in caught.value.message
    assert "secret" not in caught.value.message
    assert len(server.requests) == 1  # nothing is asked twice


@pytest.mark.parametrize(
    ("reply", "failure"),
    [
        (chunked({"content": "Hm"}, finish="length"), "model_failed"),
        (chunked({"content": "Hm"}, finish="content_filter"), "model_refused"),
        (chunked({"refusal": "No."}), "model_refused"),
        (chunked({"content": "Hm"}, finish=None, usage=None), "model_failed"),
        (Reply(status=429, json=error(None), headers={"retry-after": "7"}), "rate_limited"),
    ],
)
async def test_a_chat_servers_failures_too(server: ResponsesServer, reply: Reply, failure: str) -> None:
    server.replies = [reply]
    async with model(server, "chat") as opened:
        with pytest.raises(AnswerFailed) as caught:
            await written(opened.begin(ASKED))
    assert caught.value.failure == failure


def with_model(writer: TextAgent) -> Stage:
    on = stage()
    tools = Tools([echo()])
    company = Company(
        lambda _: writer,
        lambda spec, extra: tools.bound(spec.tools, None, Caller(CHAT, "mara", spec.name), extra),
        on.states,
        {"visitor": "Mara"},
    )
    on.handoffs = Handoffs(scenario())
    on.cascade = CascadeOrchestrator(on.handoffs, company)
    return on


@pytest.mark.behaviour("O4", "O6")
async def test_a_model_hands_over_and_the_trace_shows_both_agents_with_their_tokens(server: ResponsesServer) -> None:
    arguments = '{"agent": "safety", "reason": "A valve."}'
    server.replies = [
        Reply(events=streamed("I will look at once, one moment. ", calls=[function_call("{}", name="echo")])),
        Reply(events=streamed("Well", calls=[function_call(arguments, name="hand_over")])),
        Reply(events=streamed("Shut the valve at once.")),
    ]
    spans = InMemorySpanExporter()
    telemetry.setup("test", ServiceSettings(), SimpleSpanProcessor(spans))
    try:
        async with model(server) as opened:
            on = with_model(opened)
            with telemetry.span("turn"):
                result = await on.turn("The valve leaks.")
    finally:
        telemetry.setup("test", ServiceSettings())
    assert on.spoken == ["I will look at once, one moment.", "This is safety.", "Shut the valve at once."]
    assert result.new_agent == "safety"
    finished = spans.get_finished_spans()
    names = {span.context.span_id: span.name for span in finished if span.context}
    tree = [(span.name, names[span.parent.span_id] if span.parent else None) for span in finished]
    assert tree == [
        ("chat gpt-4.1-mini", "invoke_agent concierge"),
        ("execute_tool echo", "invoke_agent concierge"),
        ("chat gpt-4.1-mini", "invoke_agent concierge"),
        ("execute_tool hand_over", "invoke_agent concierge"),
        ("invoke_agent concierge", "turn"),
        ("chat gpt-4.1-mini", "invoke_agent safety"),
        ("invoke_agent safety", "turn"),
        ("turn", None),
    ]
    agents = [span for span in finished if span.name.startswith("invoke_agent")]
    counted = [dict(span.attributes or {}) for span in agents]
    assert [one["gen_ai.usage.input_tokens"] for one in counted] == [22, 11]
    assert [one["gen_ai.usage.output_tokens"] for one in counted] == [14, 7]
    assert all("talkdown.time_to_first_token" in one for one in counted)
    assert [event.name for event in agents[0].events] == ["first_chunk"]
