"""Who may answer: agents, and the handoffs between them, as one YAML file describes them.

``scenario.schema.json`` beside the shipped scenarios is made from these models, for editors; :mod:`.reading` reads a
file and names the line of each mistake, :mod:`.graph` finds those that only the whole shows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

ProviderName = Literal["local", "openai", "gemini"]
Name = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_-]{0,39}$")]
Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=16_384)]
Sentence = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=1000)]
Phrase = Annotated[str, StringConstraints(strip_whitespace=True, min_length=2, max_length=100)]
Word = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=128)]

RETRIEVE = "retrieve_documents"
"""The built-in tool that every agent has unless its ``tools`` say otherwise."""
GIVEN_FIELDS = frozenset({"agent", "scenario", "today", "user_id"})
"""Placeholders that every session fills by itself."""


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)


class Voices(_Part):
    """The name of a voice at each provider; one that is left out speaks with its usual voice."""

    local: Word | None = None
    openai: Word | None = None
    gemini: Word | None = None


class AgentSpec(_Part):
    """One agent."""

    name: Name = Field(description="a lower-case word, by which handoffs name the agent")
    instructions: Text = Field(
        description="who the agent is and how it answers; `{field}` stands for a field of the session"
    )
    greeting: Sentence | None = Field(default=None, description="what it says when it first gets the floor")
    return_greeting: Sentence | None = Field(default=None, description="what it says when the floor comes back to it")
    voice: Word | Voices | None = Field(default=None, description="a voice's name, or one for each provider")
    tools: tuple[Word, ...] = Field(default=(RETRIEVE,), description="names of the tools that it may call")
    tool_tags: tuple[Word, ...] | None = Field(
        default=None, description="of its tools only those with one of these; unset: all of them"
    )
    model: Word | None = Field(default=None, description="the model that answers for it; unset: the session's")
    folders: tuple[Word, ...] = Field(default=(), description="it searches in these folders alone; none: in all notes")

    def voice_at(self, provider: ProviderName) -> str | None:
        """The name of its voice at a provider; None is the usual one."""
        if isinstance(self.voice, Voices):
            named: str | None = getattr(self.voice, provider)
            return named
        return self.voice


class Edge(_Part):
    """A handoff that is allowed."""

    source: Name = Field(alias="from", description="the agent that may hand over")
    target: Name = Field(alias="to", description="the agent that gets the floor")
    when: Sentence = Field(description="when to hand over, as a model is told it")
    phrases: tuple[Phrase, ...] = Field(
        default=(), description="what a person says for it to happen where no model decides"
    )
    shares_context: bool = Field(default=True, description="whether the new agent knows what was said before")


class Scenario(_Part):
    """Agents, and the handoffs between them."""

    name: Name
    start: Name = Field(description="the agent that has the floor first")
    fields: Mapping[Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]*$")], str] = Field(
        default_factory=dict[str, str], description="what a `{field}` of a text says where a session does not"
    )
    agents: tuple[AgentSpec, ...] = Field(min_length=1, max_length=50)
    handoffs: tuple[Edge, ...] = ()

    def agent(self, name: str) -> AgentSpec:
        """The agent of this name; KeyError where there is none."""
        found = self.find(name)
        if found is None:
            raise KeyError(name)
        return found

    def find(self, name: str | None) -> AgentSpec | None:
        """The agent of this name, or None."""
        return next((agent for agent in self.agents if agent.name == name), None)

    def edges(self, source: str) -> tuple[Edge, ...]:
        """The handoffs that an agent may make."""
        return tuple(edge for edge in self.handoffs if edge.source == source)

    def secluded(self, name: str) -> bool:
        """Whether nobody who hands over to an agent lets it know what was said before."""
        ways = [edge for edge in self.handoffs if edge.target == name]
        return bool(ways) and not any(edge.shares_context for edge in ways)

    def edge(self, source: str, target: str) -> Edge | None:
        """The handoff from one agent to another, where it is allowed."""
        return next((edge for edge in self.edges(source) if edge.target == target), None)
