"""Answers by a model behind the Responses API, in two rounds (T6), never asked twice for one turn (T10).

::

    round one   create(tool_choice = retrieve_documents)         -> one call, its arguments, reasoning items
    round two   create(stream, no tools, the call's output)      -> deltas, usage

The ``openai`` package is imported at the first use: it costs more than a second, and `local` never needs it.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from agent import provider_errors, rounds
from agent.answering import Conversation, Piece, Plan, Usage
from agent.errors import ModelFailed, ModelRefused
from agent.patience import patiently
from agent.pieces import gathered
from chassis.conventions import CHAT
from chassis.model_calls import model_call, returns_reasoning
from contracts.search import SearchResult

if TYPE_CHECKING:
    from openai import AsyncOpenAI
    from openai.types.responses import Response, ResponseInputParam, ResponseUsage, ToolParam

PROVIDER = "openai"
"""By its protocol, whoever serves it: https://opentelemetry.io/docs/specs/semconv/registry/attributes/gen-ai/."""


@dataclass(frozen=True)
class Provider:
    """Where the model is; ``timeout_s`` bounds the wait for each part of an answer, in seconds."""

    api_key: str
    base_url: str | None = None
    timeout_s: float = 20.0

    def client(self) -> AsyncOpenAI:
        """Make a client that tries once."""
        from openai import AsyncOpenAI

        return AsyncOpenAI(api_key=self.api_key, base_url=self.base_url, timeout=self.timeout_s, max_retries=0)


class Responses:
    """An answerer that asks a model, first what to search for and then what the passages say."""

    name = "responses"

    def __init__(
        self,
        provider: Provider,
        *,
        model: str,
        max_output_tokens: int | None = None,
        reasoning: bool | None = None,
        interval_s: float = 0.02,
    ) -> None:
        self.model = model
        self._provider = provider
        self._client: AsyncOpenAI | None = None
        self._max_output_tokens = max_output_tokens
        self._reasoning = returns_reasoning(model) if reasoning is None else reasoning
        self._interval_s = interval_s

    async def plan(self, conversation: Conversation) -> Plan:
        """Round one: force one call of ``retrieve_documents`` and read its arguments."""
        from openai import omit

        with model_call(CHAT, PROVIDER, self.model) as call:
            try:
                response = await patiently(
                    lambda: self._open().responses.create(
                        model=self.model,
                        instructions=rounds.ASK_TO_SEARCH,
                        input=cast("ResponseInputParam", rounds.spoken(conversation)),
                        tools=[cast("ToolParam", rounds.TOOL)],
                        tool_choice={"type": "function", "name": rounds.TOOL_NAME},
                        parallel_tool_calls=False,
                        include=["reasoning.encrypted_content"] if self._reasoning else omit,
                        store=False,
                    )
                )
            except Exception as error:
                raise provider_errors.of_exception(error) from None
            usage = _usage(response.usage)
            _count(call, usage)
            _check_ended(response)
            items = [item.model_dump(mode="json", exclude_none=True) for item in response.output]
            plan = rounds.plan_of(conversation.question, items)
            call.current.set_attributes(plan.notes)
        return Plan(plan.query, plan.carried, usage, plan.notes)

    async def write(self, conversation: Conversation, plan: Plan, found: SearchResult) -> AsyncGenerator[Piece]:
        """Round two: stream the answer to what was found."""
        async with aclosing(gathered(self._stream(conversation, plan, found), self._interval_s)) as pieces:
            async for piece in pieces:
                yield piece

    async def _stream(self, conversation: Conversation, plan: Plan, found: SearchResult) -> AsyncGenerator[Piece]:
        from openai import omit

        with model_call(CHAT, PROVIDER, self.model) as call:
            try:
                stream = await patiently(
                    lambda: self._open().responses.create(
                        model=self.model,
                        instructions=rounds.ASK_TO_ANSWER,
                        input=cast(
                            "ResponseInputParam", rounds.answer_input(conversation, plan.carried, found.context)
                        ),
                        include=["reasoning.encrypted_content"] if self._reasoning else omit,
                        max_output_tokens=self._max_output_tokens if self._max_output_tokens is not None else omit,
                        store=False,
                        stream=True,
                    )
                )
                async with stream:
                    async for event in stream:
                        match event.type:
                            case "response.output_text.delta":
                                yield Piece(event.delta)
                            case "response.refusal.delta":
                                raise ModelRefused
                            case "error":
                                raise provider_errors.of_code(event.code)
                            case "response.completed" | "response.incomplete" | "response.failed":
                                usage = _usage(event.response.usage)
                                _count(call, usage)
                                _check_ended(event.response)
                                yield Piece(usage=usage)
                                return
                            case _:
                                pass
            except Exception as error:
                raise provider_errors.of_exception(error) from None
            raise ModelFailed("The model stopped before its answer was complete; ask again.")

    def warm(self) -> None:
        """Import and connect nothing yet, but be ready to: more than a second that no question should wait for."""
        _ = self._open().responses

    async def close(self) -> None:
        """Close the connections to the provider."""
        if self._client is not None:
            await self._client.close()

    def _open(self) -> AsyncOpenAI:
        if self._client is None:
            self._client = self._provider.client()
        return self._client


def _usage(usage: ResponseUsage | None) -> Usage | None:
    return None if usage is None else Usage(usage.input_tokens, usage.output_tokens)


def _count(call: model_call, usage: Usage | None) -> None:
    if usage is not None:
        call.used(usage.input_tokens, usage.output_tokens)


def _check_ended(response: Response) -> None:
    if response.status == "failed" or response.error is not None:
        raise provider_errors.of_code(response.error.code if response.error else None)
    if response.status == "incomplete":
        raise provider_errors.of_incomplete(response.incomplete_details.reason if response.incomplete_details else None)
