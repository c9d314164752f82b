"""The port behind which answers are written, and what crosses it.

::

    plan(conversation) -> Plan        what to search for (a model's forced tool call, or the question itself)
    write(conversation, plan, found)  -> pieces of the answer, as they come

Both raise :class:`agent.errors.TurnFailed`; neither is ever called twice for one turn.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from agent.history import PastTurn
from contracts.frames import Support
from contracts.search import Passage, SearchResult
from contracts.vocabulary import JsonObject


@dataclass(frozen=True)
class Conversation:
    """A question and what was said before it, in the order of time."""

    question: str
    past: tuple[PastTurn, ...] = ()


@dataclass(frozen=True)
class Usage:
    """Tokens as the provider counted them; never estimated."""

    input_tokens: int
    output_tokens: int

    def __add__(self, other: Usage) -> Usage:
        return Usage(self.input_tokens + other.input_tokens, self.output_tokens + other.output_tokens)


@dataclass(frozen=True)
class Plan:
    """What to search for, and what an answerer carries from its first round to its second."""

    query: str
    carried: tuple[JsonObject, ...] = ()
    usage: Usage | None = None
    notes: dict[str, str] = field(default_factory=dict[str, str])
    """What the trace should say of the first round, by attribute."""


@dataclass(frozen=True)
class Quoted:
    """A sentence taken from a source as it stands: its span in the answer, citation included, and its lines."""

    span: tuple[int, int]
    support: Support


@dataclass(frozen=True)
class Piece:
    """The next part of an answer's text; ``usage`` and ``abstained`` come with the last one.

    An answer of quotes says with every piece which of them it completes, be it none; then nothing is left to judge.
    """

    text: str = ""
    quoted: tuple[Quoted, ...] | None = None
    abstained: bool | None = None
    usage: Usage | None = None


class Answerer(Protocol):
    """Writes answers from passages."""

    @property
    def name(self) -> str:
        """``extractive``, ``scripted``, or ``responses``."""
        ...

    @property
    def model(self) -> str | None:
        """The model that is asked, or none."""
        ...

    async def plan(self, conversation: Conversation) -> Plan:
        """Decide what to search for."""
        ...

    def write(self, conversation: Conversation, plan: Plan, found: SearchResult) -> AsyncGenerator[Piece]:
        """Write the answer, piece by piece; the joined texts are the answer, citations ``[n]`` included."""
        ...


@dataclass(frozen=True)
class Judgement:
    """What a sentence rests on, by our own comparison with the passages (T9)."""

    verdict: Literal["supported", "unsupported"]
    support: tuple[Support, ...] = ()


class Judge(Protocol):
    """Compares a sentence with the passages; what the sentence itself cites is no evidence."""

    def __call__(self, sentence: str, passages: Sequence[Passage], /) -> Judgement:
        """Judge one sentence, citations already taken out."""
        ...
