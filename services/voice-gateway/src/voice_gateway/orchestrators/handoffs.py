"""Who has the floor, and how it changes hands (O4).

::

    a model calls `hand_over` ──┐
    a person says a phrase ─────┴──> is there an edge, and none made in this turn? ──> pending ──> active, visited

The cascade applies a pending handoff at the turn's boundary, the live orchestrator at once.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Final

from pydantic import BaseModel, StringConstraints, ValidationError

from chassis.language import all_terms, detect, words
from contracts.vocabulary import JsonObject
from voice_gateway.live.port import ToolError, ToolSpec
from voice_gateway.orchestrators.placeholders import filled
from voice_gateway.orchestrators.port import State
from voice_gateway.orchestrators.scenario import AgentSpec, Edge, Scenario

HAND_OVER: Final = "hand_over"
"""The one tool by which a model hands over."""
_WORDS: Final = re.compile(r"\w+")
_ASKED: Final = (
    "talk speak connect put get give transfer switch pass hand bring call ask take go back like want need wish please"
    " hello hi hey thanks thank okay ok right now person agent someone somebody let us"
)
_ASKING: Final = frozenset(all_terms(_ASKED, "en"))
"""Words with which somebody asks to be handed over, and says nothing else."""


@dataclass(frozen=True, slots=True)
class Handoff:
    """A handoff that an edge allows."""

    source: str
    target: str
    reason: str
    shares_context: bool = True


class _Wanted(BaseModel):
    agent: Annotated[str, StringConstraints(strip_whitespace=True, max_length=100)]
    reason: Annotated[str, StringConstraints(strip_whitespace=True, max_length=500)] = ""


class Handoffs:
    """The floor of one session; ``state`` is what the chat has of an earlier one."""

    def __init__(self, scenario: Scenario, state: State | None = None, *, start: str | None = None) -> None:
        self.scenario = scenario
        self._start = scenario.find(start) or scenario.agent(scenario.start)
        self.pending: Handoff | None = None
        self.made: Handoff | None = None
        self._active, self._visited = self._start, list[str]()
        self._handle: str | None = None
        self.restore(state or State())

    @property
    def active(self) -> AgentSpec:
        """The agent that has the floor."""
        return self._active

    @property
    def secluded(self) -> bool:
        """Whether it got the floor, in an earlier session too, without being told what was said before."""
        return bool(self._visited) and self._active != self._start and self.scenario.secluded(self._active.name)

    @property
    def state(self) -> State:
        """What is kept with the chat."""
        pending = self.pending.target if self.pending else None
        return State(self._active.name, tuple(self._visited), pending, self._handle)

    def restore(self, state: State) -> None:
        """Go on where the chat was; an agent or a handoff that the scenario does not know is ignored."""
        self._active = self.scenario.find(state.active) or self._start
        self._visited = [name for name in dict.fromkeys(state.visited) if self.scenario.find(name)]
        self._handle = state.resume_handle
        edge = self.scenario.edge(self._active.name, state.pending) if state.pending else None
        self.pending = _handoff(edge, "") if edge else None

    def resumable(self, handle: str | None) -> None:
        """The provider gave a handle by which the session can be resumed, or took it back."""
        self._handle = handle

    def begin_turn(self) -> None:
        """A new turn may have its own handoff."""
        self.made = None

    def spec(self) -> ToolSpec | None:
        """The tool by which the active agent hands over; None where it may not."""
        edges = self.scenario.edges(self._active.name)
        if not edges:
            return None
        ways = "\n".join(f"- {edge.target}: {edge.when}" for edge in edges)
        described = "Hand the conversation over to another agent, who then answers. Say nothing beside it."
        parameters: JsonObject = {
            "type": "object",
            "properties": {
                "agent": {
                    "type": "string",
                    "enum": [edge.target for edge in edges],
                    "description": "who gets the floor",
                },
                "reason": {"type": "string", "description": "why, in one sentence, for the agent who gets the floor"},
            },
            "required": ["agent", "reason"],
            "additionalProperties": False,
        }
        return ToolSpec(HAND_OVER, f"{described}\n{ways}", parameters)

    def request(self, args: JsonObject) -> Handoff:
        """Take a model's wish; :class:`ToolError` where it may not be. The first valid one of a turn wins."""
        try:
            wanted = _Wanted.model_validate(args)
        except ValidationError:
            raise ToolError("Name the `agent` to hand over to, and the `reason`, both as text.") from None
        edge = self.scenario.edge(self._active.name, wanted.agent)
        if edge is None:
            allowed = ", ".join(edge.target for edge in self.scenario.edges(self._active.name)) or "nobody"
            raise ToolError(f"`{self._active.name}` may not hand over to `{wanted.agent[:60]}`; it may to: {allowed}.")
        if self.made is not None:
            raise ToolError(f"This turn was already handed over to `{self.made.target}`; nothing more happens in it.")
        self.pending = self.made = _handoff(edge, wanted.reason)
        return self.pending

    def by_phrase(self, said: str) -> str | None:
        """Take the handoff that a person asks for in words, where no model decides; the longest phrase counts.

        Gives what the person said beside it, which is empty where they only asked to be handed over; None without one.
        """
        heard = _words(said)
        matches = [
            (len(_words(phrase)), phrase, edge)
            for edge in self.scenario.edges(self._active.name)
            for phrase in edge.phrases
            if _words(phrase) in heard
        ]
        if not matches or self.made is not None:
            return None
        _, phrase, edge = max(matches, key=lambda match: match[0])
        self.pending = self.made = _handoff(edge, "The person asked for it.")
        return _beside(said, phrase)

    def greeting(self, fields: Mapping[str, str]) -> str | None:
        """What the active agent says on getting the floor: it differs on its first visit and on a return."""
        said = self._active.return_greeting if self._active.name in self._visited else self._active.greeting
        return filled(said, {**fields, "agent": self._active.name}) if said else None

    def arrive(self) -> None:
        """The active agent speaks: from now on it has been visited."""
        if self._active.name not in self._visited:
            self._visited.append(self._active.name)

    def apply(self) -> Handoff | None:
        """Give the floor to whom the pending handoff names; what it was, or None."""
        handoff, self.pending = self.pending, None
        if handoff is not None:
            self._active = self.scenario.agent(handoff.target)
        return handoff


def _handoff(edge: Edge, reason: str) -> Handoff:
    return Handoff(edge.source, edge.target, reason, edge.shares_context)


def _beside(said: str, phrase: str) -> str:
    """What was said beside a phrase; nothing where that only asks for somebody."""
    pattern = r"\W+".join(re.escape(word) for word in _WORDS.findall(phrase))
    rest = re.sub(rf"(?i)(?<!\w){pattern}(?!\w)", " ", said, count=1)
    told = [word for word in words(rest, detect(rest)) if not word.common]
    return " ".join(rest.split()).strip(" ,.;:-!") if any(word.term not in _ASKING for word in told) else ""


def _words(text: str) -> str:
    """A text as its words in lower case, each between spaces, so that whole words are found in it."""
    return f" {' '.join(_WORDS.findall(text.casefold()))} "
