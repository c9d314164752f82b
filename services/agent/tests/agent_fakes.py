"""Hand-written stand-ins for what the agent talks to, and passages to talk about."""

from __future__ import annotations

import asyncio
import datetime as dt
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from uuid import UUID

from agent.answering import Conversation, Judgement, Piece, Plan
from agent.errors import SearchFailed
from chassis.sentences import sentence_spans
from contracts.documents import chunk_id
from contracts.frames import Support
from contracts.search import Filter, Passage, SearchResult, SentenceScore

SAVED = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
SHA = "ab" * 32


def passage(text: str, *, path: str = "valves.md", ordinal: int = 0, line: int = 3) -> Passage:
    """A passage as the retriever gives it, on one line."""
    return Passage(
        id=chunk_id(path, SHA, ordinal),
        path=path,
        ordinal=ordinal,
        heading=("Valves",),
        lines=(line, line),
        text=text,
        version=SHA,
        saved_at=SAVED,
        runs=((0, 0, line),),
        sentences=tuple(SentenceScore(span=span, similarity=0.5) for span in sentence_spans(text)),
        score=1.0,
    )


AMBER = passage("The amber valve closes the north line. It is tested on Mondays.")
CODE = passage("The recovery code of the amber valve is ORCHID-47.", ordinal=1, line=7)


def found(*passages: Passage, version: int = 1) -> SearchResult:
    """A search's result, its context as the contract says."""
    headers = (
        f"[{place}] {one.path}:{one.lines[0]}-{one.lines[1]} > {' > '.join(one.heading)}\n{one.text}"
        for place, one in enumerate(passages, start=1)
    )
    return SearchResult(corpus_version=version, language="en", passages=passages, context="\n\n".join(headers))


@dataclass
class FakeSearch:
    """Finds what it was given, and remembers what it was asked."""

    passages: tuple[Passage, ...] = (AMBER, CODE)
    version: int = 1
    asked: list[tuple[str, Filter]] = field(default_factory=list[tuple[str, Filter]])
    fails: bool = False
    hold: asyncio.Event | None = None

    async def find(self, query: str, filter: Filter) -> SearchResult:  # noqa: A002
        """Find the same passages for every query."""
        self.asked.append((query, filter))
        if self.hold is not None:
            await self.hold.wait()
        if self.fails:
            raise SearchFailed
        return found(*self.passages, version=self.version)

    async def is_current(self, corpus_version: int) -> bool:
        """Compare with the version of now."""
        return corpus_version == self.version


@dataclass
class PiecewiseAnswerer:
    """Writes the pieces that it was given, one at a time, each when the test lets it."""

    pieces: Sequence[str] = ("The recovery code ", "is ORCHID-47.[2] ", "It is tested ", "on Mondays.[1]")
    gate: asyncio.Semaphore | None = None
    fails: Callable[[], Exception] | None = None
    name: str = "piecewise"
    model: str | None = None
    asked: list[Conversation] = field(default_factory=list[Conversation])

    async def plan(self, conversation: Conversation) -> Plan:
        """Search for the question."""
        self.asked.append(conversation)
        return Plan(conversation.question)

    async def write(self, conversation: Conversation, plan: Plan, found: SearchResult) -> AsyncGenerator[Piece]:
        """Write."""
        for piece in self.pieces:
            if self.gate is not None:
                await self.gate.acquire()
            yield Piece(piece)
        if self.fails is not None:
            raise self.fails()


def judge_by_words(sentence: str, passages: Sequence[Passage], /) -> Judgement:
    """Support a sentence by the passages that hold its last word."""
    words = sentence.rstrip(".!? ").split()
    support = tuple(Support(source_id=one.id, lines=one.lines) for one in passages if words and words[-1] in one.text)
    return Judgement("supported" if support else "unsupported", support)


async def no_history(chat_id: UUID, since: dt.datetime | None = None) -> tuple[()]:
    """Nothing was said before."""
    return ()
