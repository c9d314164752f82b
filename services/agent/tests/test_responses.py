"""T6: answers by a model in two rounds, against a real server that replays the API's documented events."""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncIterator
from typing import Any

import pytest
from agent_fakes import AMBER, CODE, found
from responses_server import (
    Json,
    Reply,
    ResponsesServer,
    error,
    function_call,
    in_order,
    message,
    reasoning,
    response,
    responses_server,
    streamed,
)

from agent.answering import Conversation, Plan, Usage
from agent.errors import ModelFailed, ModelRefused, RateLimited, TurnFailed
from agent.history import INTERRUPTED_HERE, PastTurn
from agent.responses import Provider, Responses
from agent.rounds import ASK_TO_ANSWER, NOTHING_FOUND

pytestmark = pytest.mark.behaviour("T6")
QUESTION = Conversation("And its recovery code?", (PastTurn("What is the amber valve?", "It closes the north line."),))
CALLED = response("completed", [function_call('{"query": "recovery code of the amber valve"}')])
FOUND = found(AMBER, CODE)


@pytest.fixture
async def server() -> AsyncIterator[ResponsesServer]:
    async with responses_server() as serving:
        yield serving


@pytest.fixture
async def model(server: ResponsesServer) -> AsyncIterator[Responses]:
    answerer = Responses(Provider("sk-secret", server.base_url), model="gpt-4.1-mini", max_output_tokens=500)
    yield answerer
    await answerer.close()


async def written(model: Responses, plan: Plan | None = None, conversation: Conversation = QUESTION) -> tuple[str, Any]:
    pieces = [piece async for piece in model.write(conversation, plan or Plan("q"), FOUND)]
    return "".join(piece.text for piece in pieces), pieces[-1].usage


async def test_the_first_round_forces_exactly_one_call_and_stores_nothing(
    server: ResponsesServer, model: Responses
) -> None:
    server.replies = [Reply(json=CALLED)]
    plan = await model.plan(QUESTION)
    assert plan.query == "recovery code of the amber valve"
    assert plan.usage == Usage(11, 7)
    (request,) = server.requests
    assert request["tool_choice"] == {"type": "function", "name": "retrieve_documents"}
    assert [tool["name"] for tool in request["tools"]] == ["retrieve_documents"]
    assert request["parallel_tool_calls"] is False
    assert request["store"] is False
    assert "include" not in request
    assert request["input"] == [
        {"role": "user", "content": "What is the amber valve?"},
        {"role": "assistant", "content": "It closes the north line."},
        {"role": "user", "content": "And its recovery code?"},
    ]
    assert server.headers[0]["authorization"] == "Bearer sk-secret"


async def test_the_second_round_streams_the_answer_without_tools_from_what_was_found(
    server: ResponsesServer, model: Responses
) -> None:
    server.replies = [Reply(json=CALLED), Reply(events=streamed("The code ", "is ORCHID-47", ".[2]"))]
    plan = await model.plan(QUESTION)
    text, usage = await written(model, plan)
    assert text == "The code is ORCHID-47.[2]"
    assert usage == Usage(11, 7)
    request = server.requests[1]
    assert "tools" not in request
    assert request["store"] is False
    assert request["stream"] is True
    assert request["instructions"] == ASK_TO_ANSWER
    assert request["max_output_tokens"] == 500
    call, output = request["input"][-2:]
    assert call == CALLED["output"][0]
    assert output == {"type": "function_call_output", "call_id": "call_1", "output": FOUND.context}


async def test_reasoning_is_asked_for_and_carried_to_the_second_round(server: ResponsesServer) -> None:
    model = Responses(Provider("sk-secret", server.base_url), model="gpt-5.4-mini")
    output = [reasoning(), function_call('{"query": "code"}')]
    server.replies = [Reply(json=response("completed", output)), Reply(events=streamed("ORCHID-47."))]
    await written(model, await model.plan(QUESTION))
    await model.close()
    assert [request["include"] for request in server.requests] == [["reasoning.encrypted_content"]] * 2
    carried = server.requests[1]["input"][-3:]
    assert [item["type"] for item in carried] == ["reasoning", "function_call", "function_call_output"]
    assert carried[0]["encrypted_content"] == "c2VjcmV0"


async def test_prose_of_the_first_round_is_neither_shown_nor_carried(server: ResponsesServer, model: Responses) -> None:
    output = [message("Let me look."), function_call('{"query": "code"}')]
    server.replies = [Reply(json=response("completed", output)), Reply(events=streamed("ORCHID-47."))]
    text, _ = await written(model, await model.plan(QUESTION))
    assert text == "ORCHID-47."
    assert "Let me look" not in json.dumps(server.requests[1])


async def test_of_two_calls_only_the_first_counts(server: ResponsesServer, model: Responses) -> None:
    output = [function_call('{"query": "one"}'), function_call('{"query": "two"}', call_id="call_2")]
    server.replies = [Reply(json=response("completed", output))]
    plan = await model.plan(QUESTION)
    assert plan.query == "one"
    assert [item["call_id"] for item in plan.carried] == ["call_1"]


@pytest.mark.parametrize(
    ("output", "note"),
    [
        ([message("It is ORCHID-47.")], "ignored"),
        ([], "ignored"),
        ([reasoning()], "ignored"),
        ([function_call("{}", name="something_else")], "ignored"),
        ([function_call('{"query": ')], "invalid_arguments"),
        ([function_call("{}")], "invalid_arguments"),
        ([function_call('{"query": "  "}')], "invalid_arguments"),
        ([function_call('{"query": 7}')], "invalid_arguments"),
        ([function_call(json.dumps({"query": "x" * 2001}))], "invalid_arguments"),
    ],
)
async def test_a_call_that_was_ignored_or_is_invalid_means_a_search_for_the_question_itself_and_is_noted(
    server: ResponsesServer, model: Responses, output: list[Json], note: str
) -> None:
    server.replies = [Reply(json=response("completed", output)), Reply(events=streamed("ORCHID-47."))]
    plan = await model.plan(QUESTION)
    assert (plan.query, plan.carried) == ("And its recovery code?", ())
    assert plan.notes == {"talkdown.tool_call": note}
    await written(model, plan)
    last = server.requests[1]["input"][-1]
    assert last["role"] == "user"
    assert json.loads(last["content"]) == {"question": "And its recovery code?", "passages": FOUND.context}


async def test_nothing_found_is_told_to_the_model(server: ResponsesServer, model: Responses) -> None:
    server.replies = [Reply(json=CALLED), Reply(events=streamed("The notes do not say."))]
    plan = await model.plan(QUESTION)
    assert [piece async for piece in model.write(QUESTION, plan, found())]
    assert server.requests[1]["input"][-1]["output"] == NOTHING_FOUND


@pytest.mark.behaviour("T4")
async def test_an_answer_that_was_cut_short_is_told_with_the_part_that_was_heard(
    server: ResponsesServer, model: Responses
) -> None:
    past = (PastTurn("Tell me of valves.", "Amber closes. Blue opens.", "interrupted", heard=13),)
    server.replies = [Reply(json=CALLED)]
    await model.plan(Conversation("Continue.", past))
    assert server.requests[0]["input"][1]["content"] == f"Amber closes.\n{INTERRUPTED_HERE}"


def _failed(code: str) -> Json:
    body = response("failed", usage=None, error={"code": code, "message": "It quotes the notes."})
    return {"type": "response.failed", "response": body}


def _incomplete(reason: str) -> Json:
    return {"type": "response.incomplete", "response": response("incomplete", incomplete_details={"reason": reason})}


def _refusal() -> Json:
    at = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
    return {"type": "response.refusal.delta", **at, "delta": "I cannot."}


STOPS = [
    pytest.param(Reply(429, json=error("rate_limit_exceeded")), RateLimited, "wait a minute", id="429"),
    pytest.param(Reply(429, json=error("insufficient_quota")), RateLimited, "credit", id="no credit"),
    pytest.param(Reply(401, json=error("invalid_api_key")), ModelFailed, "OPENAI_API_KEY", id="401"),
    pytest.param(Reply(404, json=error("model_not_found")), ModelFailed, "TALKDOWN_ANSWER_MODEL", id="404"),
    pytest.param(Reply(400, json=error("context_length_exceeded")), ModelFailed, "too long", id="too long"),
    pytest.param(Reply(400, json=error("content_policy_violation")), ModelRefused, "other words", id="policy"),
    pytest.param(Reply(503, json=error("overloaded")), ModelFailed, "fault of its own", id="503"),
    pytest.param(
        Reply(events=streamed("ORCHID", last=_failed("rate_limit_exceeded"))), RateLimited, "wait", id="failed: rate"
    ),
    pytest.param(Reply(events=streamed("OR", last=_failed("server_error"))), ModelFailed, "did not", id="failed"),
    pytest.param(Reply(events=streamed("OR", last=_incomplete("content_filter"))), ModelRefused, "cut", id="filter"),
    pytest.param(Reply(events=streamed("OR", last=_incomplete("max_output_tokens"))), ModelFailed, "longer", id="long"),
    pytest.param(Reply(events=in_order([_refusal()])), ModelRefused, "other words", id="refusal"),
    pytest.param(
        Reply(events=in_order([{"type": "error", "code": "server_error", "message": "notes", "param": None}])),
        ModelFailed,
        "did not finish",
        id="error event",
    ),
    pytest.param(Reply(events=streamed("ORCHID")[:6]), ModelFailed, "before its answer was complete", id="ends early"),
    pytest.param(Reply(events=streamed("ORCHID")[:6], cut=True), ModelFailed, "connection", id="cut off"),
    pytest.param(Reply(raw=b"data: {not json}\n\n"), ModelFailed, "could not be read", id="malformed"),
]


@pytest.mark.behaviour("T11")
@pytest.mark.parametrize(("reply", "kind", "says"), STOPS)
async def test_each_way_to_stop_has_its_own_plain_sentence_and_is_not_tried_again(
    server: ResponsesServer,
    model: Responses,
    caplog: pytest.LogCaptureFixture,
    reply: Reply,
    kind: type[TurnFailed],
    says: str,
) -> None:
    server.replies = [reply]
    with caplog.at_level(logging.DEBUG, logger="agent"), pytest.raises(kind) as stopped:
        await written(model)
    assert says in stopped.value.message
    assert "secret" not in stopped.value.message
    assert "notes" not in stopped.value.message.replace("notes do", "")
    assert "secret" not in caplog.text
    assert len(server.requests) == 1


@pytest.mark.parametrize("reply", [Reply(hang=True), Reply(events=streamed("ORCHID")[:6], hang=True)])
async def test_a_model_that_falls_silent_is_not_waited_for_forever(server: ResponsesServer, reply: Reply) -> None:
    model = Responses(Provider("sk-secret", server.base_url, timeout_s=1.0), model="gpt-4.1-mini")
    server.replies = [reply]
    with pytest.raises(ModelFailed, match="took too long"):
        await written(model)
    await model.close()
    assert len(server.requests) == 1


async def test_a_provider_that_cannot_be_reached_is_said_to_be_so(server: ResponsesServer) -> None:
    model = Responses(Provider("sk-secret", "http://127.0.0.1:9/v1"), model="gpt-4.1-mini")
    with pytest.raises(ModelFailed, match="check the network"):
        await model.plan(QUESTION)
    await model.close()


async def test_a_first_round_that_fails_ends_the_turn_with_its_sentence(
    server: ResponsesServer, model: Responses
) -> None:
    server.replies = [Reply(429, json=error("rate_limit_exceeded"))]
    with pytest.raises(RateLimited):
        await model.plan(QUESTION)
    server.replies = [Reply(json=response("incomplete", incomplete_details={"reason": "content_filter"}))]
    with pytest.raises(ModelRefused):
        await model.plan(QUESTION)
