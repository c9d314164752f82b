"""Answers by a model behind Chat Completions, for compatible servers that have no Responses API; the same two rounds.

::

    round one   create(tool_choice = retrieve_documents)         -> one call and its arguments
    round two   create(stream, no tools, the call's output)      -> deltas, usage
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import TYPE_CHECKING, cast

from agent import provider_errors, rounds
from agent.answering import Conversation, Piece, Plan, Usage
from agent.errors import ModelFailed, ModelRefused
from agent.patience import patiently
from agent.pieces import gathered
from agent.responses import PROVIDER, Provider
from chassis.conventions import CHAT
from chassis.model_calls import model_call
from contracts.search import SearchResult
from contracts.vocabulary import JsonObject

if TYPE_CHECKING:
    from openai import AsyncOpenAI
    from openai.types import CompletionUsage
    from openai.types.chat import ChatCompletionMessageParam, ChatCompletionToolUnionParam


class ChatCompletions:
    """An answerer that asks a model, first what to search for and then what the passages say."""

    name = "chat"

    def __init__(
        self, provider: Provider, *, model: str, max_output_tokens: int | None = None, interval_s: float = 0.02
    ) -> None:
        self.model = model
        self._provider = provider
        self._client: AsyncOpenAI | None = None
        self._max_output_tokens = max_output_tokens
        self._interval_s = interval_s

    async def plan(self, conversation: Conversation) -> Plan:
        """Round one: force one call of ``retrieve_documents`` and read its arguments."""
        with model_call(CHAT, PROVIDER, self.model) as call:
            try:
                completion = await patiently(
                    lambda: self._open().chat.completions.create(
                        model=self.model,
                        messages=_messages(rounds.ASK_TO_SEARCH, rounds.spoken(conversation)),
                        tools=[cast("ChatCompletionToolUnionParam", rounds.CHAT_TOOL)],
                        tool_choice={"type": "function", "function": {"name": rounds.TOOL_NAME}},
                        parallel_tool_calls=False,
                        store=False,
                    )
                )
            except Exception as error:
                raise provider_errors.of_exception(error) from None
            usage = _usage(completion.usage)
            _count(call, usage)
            choice = completion.choices[0] if completion.choices else None
            _check_ended(choice.finish_reason if choice else None)
            message = choice.message.model_dump(mode="json", exclude_none=True) if choice else {}
            plan = rounds.plan_of_chat(conversation.question, message)
            call.current.set_attributes(plan.notes)
        return Plan(plan.query, plan.carried, usage, plan.notes)

    async def write(self, conversation: Conversation, plan: Plan, found: SearchResult) -> AsyncGenerator[Piece]:
        """Round two: stream the answer to what was found."""
        async with aclosing(gathered(self._stream(conversation, plan, found), self._interval_s)) as pieces:
            async for piece in pieces:
                yield piece

    async def _stream(self, conversation: Conversation, plan: Plan, found: SearchResult) -> AsyncGenerator[Piece]:
        from openai import omit

        ended = False
        with model_call(CHAT, PROVIDER, self.model) as call:
            try:
                stream = await patiently(
                    lambda: self._open().chat.completions.create(
                        model=self.model,
                        messages=_messages(
                            rounds.ASK_TO_ANSWER, rounds.chat_answer_input(conversation, plan.carried, found.context)
                        ),
                        max_completion_tokens=self._max_output_tokens if self._max_output_tokens is not None else omit,
                        store=False,
                        stream=True,
                        stream_options={"include_usage": True},
                    )
                )
                async with stream:
                    async for chunk in stream:
                        if chunk.usage is not None:
                            usage = _usage(chunk.usage)
                            _count(call, usage)
                            yield Piece(usage=usage)
                        for choice in chunk.choices:
                            if choice.delta.refusal:
                                raise ModelRefused
                            if choice.delta.content:
                                yield Piece(choice.delta.content)
                            _check_ended(choice.finish_reason)
                            ended = ended or choice.finish_reason is not None
            except Exception as error:
                raise provider_errors.of_exception(error) from None
            if not ended:
                raise ModelFailed("The model stopped before its answer was complete; ask again.")

    def warm(self) -> None:
        """Import what the first question would otherwise wait for."""
        _ = self._open().chat.completions

    async def close(self) -> None:
        """Close the connections to the provider."""
        if self._client is not None:
            await self._client.close()

    def _open(self) -> AsyncOpenAI:
        if self._client is None:
            self._client = self._provider.client()
        return self._client


def _messages(instructions: str, messages: list[JsonObject]) -> list[ChatCompletionMessageParam]:
    return cast("list[ChatCompletionMessageParam]", [{"role": "system", "content": instructions}, *messages])


def _usage(usage: CompletionUsage | None) -> Usage | None:
    return None if usage is None else Usage(usage.prompt_tokens, usage.completion_tokens)


def _count(call: model_call, usage: Usage | None) -> None:
    if usage is not None:
        call.used(usage.input_tokens, usage.output_tokens)


def _check_ended(reason: str | None) -> None:
    if reason in ("length", "content_filter"):
        raise provider_errors.of_incomplete("max_output_tokens" if reason == "length" else reason)
