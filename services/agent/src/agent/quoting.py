"""The extractive answerer: no model, no network; whole sentences of what was found, or that they do not say."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator
from dataclasses import dataclass

from agent.answering import Conversation, Piece, Plan, Quoted
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
        for piece in _pieces(answered):
            yield piece
        yield Piece(abstained=answered.abstained)


def _answer(question: str, query: str, found: SearchResult) -> ExtractiveAnswer:
    """Answer the question's own words; what it points back at has already led the search to its passages."""
    answered = answer(question, found)
    return answer(query, found) if answered.abstained and query != question else answered


def _pieces(answered: ExtractiveAnswer) -> Iterator[Piece]:
    """Cut an answer into pieces; the last one of each quote and its citation says that it is complete."""
    if answered.abstained:
        yield from (Piece(text) for text in word_groups(answered.text))
        return
    end = 0
    for quote in answered.quotes:
        start, end = end, quote.cited_span[1]
        *groups, last = word_groups(answered.text[start:end])
        yield from (Piece(group, quoted=()) for group in groups)
        yield Piece(last, quoted=(Quoted(quote.cited_span, quote.support),))
