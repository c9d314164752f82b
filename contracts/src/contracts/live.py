"""What the agent keeps of live conversations: state, lines, tokens, and what people said of themselves."""

from __future__ import annotations

from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field, StringConstraints

from contracts.vocabulary import NO_NUL, NO_NUL_SAID, Count, Message, Timestamp

MAX_LINE_LENGTH = 40_000
MAX_RECALLED = 50

UserId = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.@-]{0,63}$")]
"""Who a person is to Talkdown: a name of at most 64 letters, digits, and `_.@-`."""

Named = Annotated[str, StringConstraints(min_length=1, max_length=128), NO_NUL, NO_NUL_SAID]
Said = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=MAX_LINE_LENGTH), NO_NUL, NO_NUL_SAID
]
Role = Literal["user", "assistant"]
Tokens = Annotated[int, Field(ge=0, le=1_000_000_000_000)]


class ChatState(Message):
    """``GET`` and ``PUT /chats/{id}/state``: where the agents of a chat are; fresh for a chat that has none.

    ``pending`` is an agent that the floor is still to be given to, ``resume_handle`` a provider's, to go on with.
    """

    active: Named | None = None
    visited: Annotated[tuple[Named, ...], Field(max_length=100)] = ()
    pending: Named | None = None
    resume_handle: Annotated[str, StringConstraints(max_length=4096), NO_NUL, NO_NUL_SAID] | None = None


class LiveLine(Message):
    """What one side said in a turn of a live session. ``turn`` counts from 1; a side has one line a turn."""

    session_id: UUID
    turn: Annotated[int, Field(ge=1, le=1_000_000)]
    role: Role
    text: Said
    agent: Named | None = None


class LinesTold(Message):
    """``POST /chats/{id}/lines``: lines of a live session. One that is told twice is kept once."""

    lines: Annotated[tuple[LiveLine, ...], Field(min_length=1, max_length=100)]


class ChatLine(Message):
    """A line of a chat, typed or spoken."""

    role: Role
    text: str
    said_at: Timestamp
    agent: str | None = None


class ChatLines(Message):
    """``GET /chats/{id}/lines?most=``: the newest lines of a chat in the order of time, of turns and live sessions."""

    lines: tuple[ChatLine, ...] = ()


class TokensSpent(Message):
    """Tokens that a model's provider counted for one agent."""

    agent: Named
    model: Named
    input_tokens: Tokens = 0
    output_tokens: Tokens = 0


class TokensTold(Message):
    """``POST /chats/{id}/tokens``: what was spent since the last report."""

    spent: Annotated[tuple[TokensSpent, ...], Field(min_length=1, max_length=100)]


class TurnRemembered(Message):
    """``POST /people/{user_id}/memories``: a turn that is complete."""

    chat_id: UUID
    said: Said
    answered: Annotated[str, StringConstraints(max_length=MAX_LINE_LENGTH), NO_NUL, NO_NUL_SAID] = ""


class Memory(Message):
    """An earlier turn of a person, in any chat."""

    chat_id: UUID
    said: str
    answered: str
    said_at: Timestamp


class Memories(Message):
    """``GET /people/{user_id}/memories?query=&most=``: the turns that speak of the query, the most telling first.

    Without a query the newest.
    """

    memories: tuple[Memory, ...] = ()


class Fact(Message):
    """A sentence in which a person spoke of themselves."""

    text: str
    said_at: Timestamp


class ProfileCard(Message):
    """``GET /people/{user_id}/profile``: what a person said of themselves, the newest first; ``DELETE`` erases it."""

    user_id: str
    facts: tuple[Fact, ...] = ()


class Cost(Message):
    """What a chat cost: tokens by agent and model. ``price`` is None where the model has no price in the settings."""

    agent: str
    model: str
    input_tokens: Count
    output_tokens: Count
    price: float | None = None
