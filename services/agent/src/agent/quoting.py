"""The extractive answerer: no model, no network; whole sentences of what was found, or that they do not say."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import dataclass

from agent.answering import Conversation, Piece, Plan
from agent.extractive import ExtractiveAnswer, answer
from agent.followups import search_text
from agent.pieces import word_groups
from contracts.search import SearchResult


@dataclass(frozen=True)
class Extractive:
    """Quotes the sentences that answer best."""

    name: str = "extractive"
    model: str | None = None

    async def plan(self, conversation: Conversation) -> Plan:
        """Search for the question, with the one before it when it points back."""
        return Plan(search_text(conversation.question, conversation.past))

    async def write(self, conversation: Conversation, plan: Plan, found: SearchResult) -> AsyncGenerator[Piece]:
        """Answer in one or two sentences, or say that the notes do not."""
        # Some tens of milliseconds of work, which must not hold up the frames of other turns.
        answered = await asyncio.to_thread(_answer, conversation.question, plan.query, found)
        for text in word_groups(answered.text):
            yield Piece(text)
        yield Piece(abstained=answered.abstained)


def _answer(question: str, query: str, found: SearchResult) -> ExtractiveAnswer:
    """Answer the question's own words; what it points back at has already led the search to its passages."""
    answered = answer(question, found)
    return answer(query, found) if answered.abstained and query != question else answered
