"""A model that is asked directly, behind Chat Completions, for compatible servers that have no Responses API."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from chassis.conventions import CHAT
from chassis.model_calls import model_call
from contracts.vocabulary import JsonObject
from voice_gateway.errors import AnswerFailed
from voice_gateway.orchestrators import model_errors
from voice_gateway.orchestrators.models import PROVIDER, arguments
from voice_gateway.orchestrators.port import Called
from voice_gateway.orchestrators.text_agent import Asked, Call, Calling, Delta, Spent, Writing, Written

if TYPE_CHECKING:
    from openai import AsyncOpenAI
    from openai.types.chat import ChatCompletionMessageParam, ChatCompletionToolUnionParam
    from openai.types.chat.chat_completion_chunk import ChoiceDelta


class ChatModel:
    """A model behind ``/v1/chat/completions``."""

    decides = True

    def __init__(self, client: AsyncOpenAI, model: str) -> None:
        self._client, self._model = client, model

    def begin(self, asked: Asked) -> Writing:
        """A turn with it."""
        return _ChatTurn(self._client, asked.model or self._model, asked)


@dataclass(slots=True)
class _Building:
    """A call while its parts come."""

    id: str = ""
    name: str = ""
    arguments: str = ""


class _ChatTurn:
    def __init__(self, client: AsyncOpenAI, model: str, asked: Asked) -> None:
        self._client, self._model, self._asked = client, model, asked
        self._messages: list[JsonObject] = [{"role": "system", "content": "\n\n".join(asked.instructions)}]
        self._messages += [{"role": line.role, "content": line.text} for line in asked.history]
        self._messages.append({"role": "user", "content": asked.text})

    async def round(self, results: Sequence[Called], *, tools: bool = True) -> AsyncGenerator[Written]:
        from openai import omit

        self._messages += [
            {"role": "tool", "tool_call_id": called.id, "content": json.dumps(called.result)} for called in results
        ]
        offered = [
            cast(
                "ChatCompletionToolUnionParam",
                {
                    "type": "function",
                    "function": {"name": spec.name, "description": spec.description, "parameters": spec.parameters},
                },
            )
            for spec in self._asked.tools
        ]
        text, calls, ended = "", dict[int, _Building](), False
        with model_call(CHAT, PROVIDER, self._model) as call:
            try:
                stream = await self._client.chat.completions.create(
                    model=self._model,
                    messages=cast("list[ChatCompletionMessageParam]", self._messages),
                    tools=offered or omit,
                    tool_choice=("auto" if tools else "none") if offered else omit,
                    store=False,
                    stream=True,
                    stream_options={"include_usage": True},
                )
                async with stream:
                    async for chunk in stream:
                        if chunk.usage is not None:
                            call.used(chunk.usage.prompt_tokens, chunk.usage.completion_tokens)
                            yield Spent(self._model, chunk.usage.prompt_tokens, chunk.usage.completion_tokens)
                        for choice in chunk.choices:
                            if choice.delta.refusal:
                                raise model_errors.refused()
                            if choice.delta.tool_calls and not calls:
                                yield Calling()
                            _collect(choice.delta, calls)
                            if choice.delta.content:
                                text += choice.delta.content
                                yield Delta(choice.delta.content)
                            if choice.finish_reason in ("length", "content_filter"):
                                cut = choice.finish_reason == "length"
                                raise model_errors.of_incomplete("max_output_tokens" if cut else "content_filter")
                            ended = ended or choice.finish_reason is not None
            except Exception as error:
                raise model_errors.of_exception(error) from None
            if not ended:
                raise AnswerFailed(model_errors.CUT, failure="model_failed")
        for part in self._called(text, calls):
            yield part

    def heard(self, characters: int) -> None:
        """A model keeps nothing between turns."""

    def _called(self, text: str, calls: dict[int, _Building]) -> list[Call]:
        if not calls:
            return []
        built = [calls[index] for index in sorted(calls)]
        for number, one in enumerate(built):
            one.id = one.id or f"call_{number}"
        made = [
            {"id": one.id, "type": "function", "function": {"name": one.name, "arguments": one.arguments or "{}"}}
            for one in built
        ]
        self._messages.append({"role": "assistant", "content": text or None, "tool_calls": made})
        return [Call(one.id, one.name, arguments(one.arguments)) for one in built]


def _collect(delta: ChoiceDelta, calls: dict[int, _Building]) -> None:
    for part in delta.tool_calls or ():
        building = calls.setdefault(part.index, _Building())
        building.id = part.id or building.id
        if part.function is not None:
            building.name += part.function.name or ""
            building.arguments += part.function.arguments or ""
