"""A model that is asked directly, behind the Responses API: text and tools in rounds, reasoning carried between them.

::

    round 1   instructions, history, question, tools  -> text, calls, reasoning items, usage
    round n   all of it, the items, the calls' outputs -> text, calls, usage
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final, cast

from chassis.conventions import CHAT
from chassis.model_calls import model_call, returns_reasoning
from contracts.vocabulary import JsonObject
from voice_gateway.errors import AnswerFailed
from voice_gateway.live.port import ToolSpec
from voice_gateway.orchestrators import model_errors
from voice_gateway.orchestrators.port import Called
from voice_gateway.orchestrators.text_agent import Asked, Call, Calling, Delta, Spent, TextAgent, Writing, Written
from voice_gateway.settings import Settings

if TYPE_CHECKING:
    from openai import AsyncOpenAI
    from openai.types.responses import Response, ResponseInputParam, ToolParam

PROVIDER: Final = "openai"
"""By its protocol, whoever serves it."""


@asynccontextmanager
async def open_model(settings: Settings) -> AsyncGenerator[TextAgent]:
    """The model that the settings name, its client closed at the end."""
    from openai import AsyncOpenAI

    from voice_gateway.orchestrators.chat_models import ChatModel

    key = settings.openai_api_key
    client = AsyncOpenAI(
        api_key=key.get_secret_value() if key else "",
        base_url=settings.openai_base_url,
        timeout=settings.cascade_timeout_s,
        max_retries=0,
    )
    chat = settings.cascade_answers == "chat"
    # What is imported at the first use costs more than a second, which no question should wait for.
    await asyncio.to_thread(lambda: client.chat.completions if chat else client.responses)
    try:
        yield (ChatModel if chat else ResponsesModel)(client, settings.cascade_model)
    finally:
        await client.close()


class ResponsesModel:
    """A model behind ``/v1/responses``."""

    decides = True

    def __init__(self, client: AsyncOpenAI, model: str) -> None:
        self._client, self._model = client, model

    def begin(self, asked: Asked) -> Writing:
        """A turn with it."""
        return _ResponsesTurn(self._client, asked.model or self._model, asked)


class _ResponsesTurn:
    def __init__(self, client: AsyncOpenAI, model: str, asked: Asked) -> None:
        self._client, self._model, self._asked = client, model, asked
        self._input: list[JsonObject] = [{"role": line.role, "content": line.text} for line in asked.history]
        self._input.append({"role": "user", "content": asked.text})

    async def round(self, results: Sequence[Called], *, tools: bool = True) -> AsyncGenerator[Written]:
        from openai import omit

        self._input += [
            {"type": "function_call_output", "call_id": called.id, "output": json.dumps(called.result)}
            for called in results
        ]
        offered = [cast("ToolParam", _tool(spec)) for spec in self._asked.tools]
        with model_call(CHAT, PROVIDER, self._model) as call:
            try:
                stream = await self._client.responses.create(
                    model=self._model,
                    instructions="\n\n".join(self._asked.instructions),
                    input=cast("ResponseInputParam", self._input),
                    tools=offered or omit,
                    tool_choice=("auto" if tools else "none") if offered else omit,
                    include=["reasoning.encrypted_content"] if returns_reasoning(self._model) else omit,
                    store=False,
                    stream=True,
                )
                async with stream:
                    async for event in stream:
                        match event.type:
                            case "response.output_text.delta":
                                yield Delta(event.delta)
                            case "response.refusal.delta":
                                raise model_errors.refused()
                            case "response.output_item.added" if event.item.type == "function_call":
                                yield Calling()
                            case "error":
                                raise model_errors.of_code(event.code)
                            case "response.completed" | "response.incomplete" | "response.failed":
                                for part in self._ended(event.response, call):
                                    yield part
                                return
                            case _:
                                pass
            except Exception as error:
                raise model_errors.of_exception(error) from None
            raise AnswerFailed(model_errors.CUT, failure="model_failed")

    def heard(self, characters: int) -> None:
        """A model keeps nothing between turns."""

    def _ended(self, response: Response, call: model_call) -> list[Written]:
        parts: list[Written] = []
        if response.usage is not None:
            call.used(response.usage.input_tokens, response.usage.output_tokens)
            parts.append(Spent(self._model, response.usage.input_tokens, response.usage.output_tokens))
        model_errors.check(response)
        for item in response.output:
            if item.type in ("reasoning", "function_call", "message"):
                self._input.append(item.model_dump(mode="json", exclude_none=True))
            if item.type == "function_call":
                parts.append(Call(item.call_id, item.name, arguments(item.arguments)))
        return parts


def arguments(text: str) -> JsonObject | None:
    """The arguments of a call; None when they are no JSON object."""
    try:
        read: object = json.loads(text or "{}")
    except (ValueError, RecursionError):
        return None
    return cast(JsonObject, read) if isinstance(read, dict) else None


def _tool(spec: ToolSpec) -> JsonObject:
    about: JsonObject = {"name": spec.name, "description": spec.description, "parameters": spec.parameters}
    return {"type": "function", **about, "strict": False}
