"""Which answerer serves, by the settings."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from agent.answering import Answerer
from agent.chat import ChatCompletions
from agent.quoting import Extractive
from agent.responses import Provider, Responses
from agent.scripted import Scripted
from agent.settings import Settings


@asynccontextmanager
async def open_answerer(settings: Settings) -> AsyncGenerator[Answerer]:
    """Make the answerer that the settings choose, and close it."""
    match settings.chosen_answers:
        case "extractive":
            yield Extractive()
        case "scripted":
            yield Scripted(sentences=settings.scripted_sentences, pace=settings.scripted_pace)
        case "responses" | "chat":
            key = settings.openai_api_key
            provider = Provider(
                key.get_secret_value() if key else "", settings.openai_base_url, settings.answer_timeout_s
            )
            model, tokens = settings.answer_model, settings.answer_tokens
            answerer = (
                Responses(provider, model=model, max_output_tokens=tokens, reasoning=settings.answer_reasoning)
                if settings.chosen_answers == "responses"
                else ChatCompletions(provider, model=model, max_output_tokens=tokens)
            )
            await asyncio.to_thread(answerer.warm)
            try:
                yield answerer
            finally:
                await answerer.close()


def free_of_charge(answerer: Answerer, settings: Settings) -> Answerer | None:
    """The answerer, when neither it nor the search that it needs asks a paid model."""
    return answerer if answerer.model is None and settings.chosen_embeddings != "openai" else None
