"""An answerer for tests: the first sentence of each of the first passages, cited, at a pace that can be set."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import dataclass

from agent.answering import Conversation, Piece, Plan
from agent.followups import search_text
from agent.pieces import word_groups
from chassis.sentences import sentence_spans
from contracts.search import SearchResult

NOTHING_FOUND = "Nothing in your notes was found for this question."


@dataclass(frozen=True)
class Scripted:
    """Answers deterministically; ``pace`` is in deltas a second, and null writes without waiting."""

    sentences: int = 3
    pace: float | None = None
    name: str = "scripted"
    model: str | None = None

    async def plan(self, conversation: Conversation) -> Plan:
        """Search for the question, with the one before it when it points back."""
        return Plan(search_text(conversation.question, conversation.past))

    async def write(self, conversation: Conversation, plan: Plan, found: SearchResult) -> AsyncGenerator[Piece]:
        """Quote the first sentence of each of the first passages."""
        quotes: list[str] = []
        for place, passage in enumerate(found.passages[: self.sentences], start=1):
            spans = sentence_spans(passage.text)
            if spans:
                start, end = spans[0]
                quotes.append(f"{passage.text[start:end]}[{place}]")
        for text in word_groups(" ".join(quotes) or NOTHING_FOUND):
            yield Piece(text)
            if self.pace is not None:
                await asyncio.sleep(1 / self.pace)
        yield Piece(abstained=not quotes)
