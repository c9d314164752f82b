"""What writes the answers of a cascade, whoever it is: our own agent, or a model that is asked directly.

::

    begin(asked) -> Writing
    Writing.round(results) -> Delta | Call | Spent ...      and another round with their results, if there were calls
"""

from __future__ import annotations

import datetime as dt
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from typing import Protocol
from uuid import UUID

from contracts.search import Filter
from contracts.vocabulary import JsonObject
from voice_gateway.agent import EVERYWHERE
from voice_gateway.live.port import Line, ToolSpec
from voice_gateway.orchestrators.port import Called


@dataclass(frozen=True, slots=True)
class Asked:
    """A turn as a text agent is asked. ``since`` bars what was said before it from whoever keeps the history itself."""

    chat_id: UUID
    text: str
    instructions: tuple[str, ...]
    history: tuple[Line, ...] = ()
    tools: tuple[ToolSpec, ...] = ()
    model: str | None = None
    within: Filter = EVERYWHERE
    since: dt.datetime | None = None


@dataclass(frozen=True, slots=True)
class Accepted:
    """The turn has an id, by which others find it."""

    turn_id: UUID
    trace_id: str


@dataclass(frozen=True, slots=True)
class Delta:
    """The next piece of the answer, Markdown and citations as they are written."""

    text: str


@dataclass(frozen=True, slots=True)
class Calling:
    """A tool call begins: what is written behind it, and what is not yet spoken, is not meant for the person."""


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call is complete; ``args`` is None when its arguments were no JSON object."""

    id: str
    name: str
    args: JsonObject | None


@dataclass(frozen=True, slots=True)
class Spent:
    """Tokens of one round as the provider counted them."""

    model: str
    input_tokens: int
    output_tokens: int


Written = Accepted | Delta | Calling | Call | Spent


class Writing(Protocol):
    """One turn with a text agent: what it carries from round to round is its own."""

    def round(self, results: Sequence[Called], *, tools: bool = True) -> AsyncGenerator[Written]:
        """The next round, with the results of the calls of the one before; without ``tools`` it may call none.

        Raises :class:`~voice_gateway.errors.AnswerFailed` with a sentence for the person. Closing it early stops the
        work behind it.
        """
        ...

    def heard(self, characters: int) -> None:
        """The person interrupted, and heard so many code points of what was written."""
        ...


class TextAgent(Protocol):
    """A text agent, shared by all sessions."""

    @property
    def decides(self) -> bool:
        """Whether it can call tools, and so hand over by itself; otherwise the phrases of the edges do."""
        ...

    def begin(self, asked: Asked) -> Writing:
        """A turn with it; nothing is asked before the first round."""
        ...
