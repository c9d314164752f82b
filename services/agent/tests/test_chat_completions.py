"""T6 for compatible servers without the Responses API: the same two rounds over Chat Completions, on real sockets."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Sequence
from typing import Any

import pytest
from agent_fakes import AMBER, CODE, found
from openai.types.chat import ChatCompletion, ChatCompletionChunk
from responses_server import Json, Reply, ResponsesServer, error, responses_server

from agent.answering import Conversation, Plan, Usage
from agent.chat import ChatCompletions
from agent.errors import ModelFailed, ModelRefused, RateLimited, TurnFailed
from agent.history import PastTurn
from agent.responses import Provider

pytestmark = pytest.mark.behaviour("T6")
QUESTION = Conversation("And its recovery code?", (PastTurn("What is the amber valve?", "It closes the north line."),))
FOUND = found(AMBER, CODE)
USAGE = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}


def call(arguments: str, name: str = "retrieve_documents") -> Json:
    return {"id": "call_1", "type": "function", "function": {"name": name, "arguments": arguments}}


def completion(message: Json, finish_reason: str = "tool_calls") -> Json:
    body: Json = {
        "id": "c1",
        "object": "chat.completion",
        "created": 1767225600,
        "model": "local",
        "choices": [
            {
                "index": 0,
                "finish_reason": finish_reason,
                "message": {"role": "assistant", "content": None, **message},
                "logprobs": None,
            }
        ],
        "usage": USAGE,
    }
    ChatCompletion.model_validate(body)
    return body


def chunk(delta: Json, finish_reason: str | None = None) -> Json:
    body: Json = {
        "id": "c1",
        "object": "chat.completion.chunk",
        "created": 1767225600,
        "model": "local",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish_reason}],
    }
    ChatCompletionChunk.model_validate(body)
    return body


def streamed(*deltas: str, finish_reason: str = "stop") -> Reply:
    chunks = [chunk({"role": "assistant", "content": ""}), *(chunk({"content": delta}) for delta in deltas)]
    counted: Json = {**chunk({}), "choices": [], "usage": USAGE}
    return Reply(events=[*chunks, chunk({}, finish_reason), counted], raw=b"data: [DONE]\n\n")


@pytest.fixture
async def server() -> AsyncGenerator[ResponsesServer]:
    async with responses_server() as serving:
        serving.path = "/v1/chat/completions"
        yield serving


@pytest.fixture
async def model(server: ResponsesServer) -> AsyncGenerator[ChatCompletions]:
    answerer = ChatCompletions(Provider("any", server.base_url), model="local", max_output_tokens=500)
    yield answerer
    await answerer.close()


async def written(model: ChatCompletions, plan: Plan) -> tuple[str, Sequence[Usage]]:
    pieces = [piece async for piece in model.write(QUESTION, plan, FOUND)]
    return "".join(piece.text for piece in pieces), [piece.usage for piece in pieces if piece.usage]


async def test_the_call_is_forced_and_its_output_answered_without_tools(
    server: ResponsesServer, model: ChatCompletions
) -> None:
    asked = call('{"query": "recovery code of the amber valve"}')
    server.replies = [Reply(json=completion({"tool_calls": [asked]})), streamed("The code is ", "ORCHID-47.[2]")]
    plan = await model.plan(QUESTION)
    assert (plan.query, plan.usage) == ("recovery code of the amber valve", Usage(11, 7))
    text, usages = await written(model, plan)
    assert text == "The code is ORCHID-47.[2]"
    assert usages == [Usage(11, 7)]
    first, second = server.requests
    assert first["tool_choice"] == {"type": "function", "function": {"name": "retrieve_documents"}}
    assert (first["parallel_tool_calls"], first["store"]) == (False, False)
    assert [message["role"] for message in first["messages"]] == ["system", "user", "assistant", "user"]
    assert "tools" not in second
    assert second["stream_options"] == {"include_usage": True}
    assert second["messages"][-2] == {"role": "assistant", "tool_calls": [asked]}
    assert second["messages"][-1] == {"role": "tool", "tool_call_id": "call_1", "content": FOUND.context}


@pytest.mark.parametrize(
    ("message", "note"),
    [
        ({"content": "It is ORCHID-47."}, "ignored"),
        ({"tool_calls": [call("{}", "other")]}, "ignored"),
        ({"tool_calls": [call('{"query": ')]}, "invalid_arguments"),
    ],
)
async def test_a_call_that_was_ignored_or_is_invalid_means_a_search_for_the_question_itself(
    server: ResponsesServer, model: ChatCompletions, message: Json, note: str
) -> None:
    server.replies = [Reply(json=completion(message, "stop")), streamed("ORCHID-47.")]
    plan = await model.plan(QUESTION)
    assert (plan.query, plan.notes) == ("And its recovery code?", {"talkdown.tool_call": note})
    await written(model, plan)
    asked: Any = json.loads(server.requests[1]["messages"][-1]["content"])
    assert asked == {"question": "And its recovery code?", "passages": FOUND.context}


@pytest.mark.behaviour("T11")
@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (Reply(429, json=error("rate_limit_exceeded")), RateLimited),
        (streamed("OR", finish_reason="length"), ModelFailed),
        (streamed("OR", finish_reason="content_filter"), ModelRefused),
        (Reply(events=[chunk({"refusal": "I cannot."})]), ModelRefused),
        (Reply(events=[chunk({"content": "OR"})]), ModelFailed),
        (Reply(events=[chunk({"content": "OR"})], cut=True), ModelFailed),
        (Reply(raw=b"data: {not json}\n\n"), ModelFailed),
    ],
)
async def test_each_way_to_stop_ends_the_turn_with_a_plain_sentence_and_is_not_tried_again(
    server: ResponsesServer, model: ChatCompletions, reply: Reply, kind: type[TurnFailed]
) -> None:
    server.replies = [reply]
    with pytest.raises(kind) as stopped:
        await written(model, Plan("q"))
    assert stopped.value.message.endswith(".")
    assert len(server.requests) == 1
