"""The spans of a live session: a turn of an agent, the responses of its model, and their tokens (O6).

::

    invoke_agent concierge
      ├─ chat gpt-realtime        the response that calls hand_over
      └─ execute_tool hand_over
    invoke_agent safety
      └─ chat gpt-realtime
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from uuid import UUID

from opentelemetry.trace import Span

from chassis import conventions, telemetry
from chassis.model_calls import TOKENS, call_of
from voice_gateway.live.events import (
    AgentChanged,
    AudioDelta,
    Interrupted,
    OutputTranscript,
    RealtimeEvent,
    ResponseEnded,
    ResponseStarted,
    TurnComplete,
    TurnStarted,
    Usage,
)
from voice_gateway.orchestrators.measuring import FIRST_TOKEN, Tally
from voice_gateway.orchestrators.scenario import ProviderName

UNNAMED = "realtime"
"""A model that its provider did not name."""
MOST_RESPONSES = 50


@dataclass(slots=True)
class _Invocation:
    """An agent's part of a turn; its span ends when the part is over and each of its responses is counted."""

    agent: str
    span: Span
    input_tokens: int = 0
    output_tokens: int = 0
    responses: int = 0
    over: bool = False

    def settle(self) -> None:
        if self.over and self.responses == 0:
            self.span.end()


@dataclass(slots=True)
class _Response:
    of: _Invocation
    span: Span
    began: float
    first: bool = False
    ended: bool = False
    counted: bool = False


class LiveTracing:
    """The spans of one session, drawn from its events. ``parent`` is the trace that its turns continue."""

    def __init__(self, chat_id: UUID, tally: Tally, provider: ProviderName, parent: str | None = None) -> None:
        self._chat_id, self._tally, self._provider, self._parent = chat_id, tally, provider, parent
        self._invoked: _Invocation | None = None
        self._responses: dict[str, _Response] = {}
        self._newest: str | None = None

    @property
    def current(self) -> str | None:
        """The ``traceparent`` under which a tool is run now."""
        return telemetry.traceparent_of(self._invoked.span) if self._invoked else self._parent

    def see(self, event: RealtimeEvent, active: str) -> None:
        """Draw what an event says; ``active`` is the agent that has the floor."""
        match event:
            case TurnStarted():
                self._invoke(active)
            case AgentChanged():
                self._invoke(event.agent)
            case ResponseStarted():
                self._begin(event.response_id, active)
            case AudioDelta() | OutputTranscript():
                self._first()
            case Usage():
                self._count(event, active)
            case ResponseEnded():
                self._end(event.response_id)
            case TurnComplete() | Interrupted():
                self._finish()
            case _:
                pass

    def close(self) -> None:
        """The session is over."""
        self._finish()
        for name in [*self._responses]:
            self._forget(name)

    def _invoke(self, agent: str) -> _Invocation:
        if self._invoked is not None and self._invoked.agent == agent:
            return self._invoked
        self._finish()
        attributes = {
            conventions.GEN_AI_OPERATION: conventions.INVOKE_AGENT,
            conventions.GEN_AI_AGENT_NAME: agent,
            conventions.GEN_AI_CONVERSATION_ID: str(self._chat_id),
        }
        span = telemetry.start(f"{conventions.INVOKE_AGENT} {agent}", attributes, parent=self._parent)
        self._invoked = _Invocation(agent, span)
        return self._invoked

    def _begin(self, response_id: str, agent: str) -> None:
        of = self._invoked or self._invoke(agent)
        self._settle()
        while len(self._responses) >= MOST_RESPONSES:
            self._forget(next(iter(self._responses)))
        span = telemetry.start(
            conventions.CHAT,
            {conventions.GEN_AI_OPERATION: conventions.CHAT, conventions.GEN_AI_PROVIDER: self._provider},
            kind=telemetry.CLIENT,
            parent=telemetry.traceparent_of(of.span),
        )
        self._forget(response_id)
        self._responses[response_id] = _Response(of, span, time.perf_counter())
        self._newest = response_id
        of.responses += 1

    def _first(self) -> None:
        response = self._responses.get(self._newest or "")
        if response is None or response.first:
            return
        response.first = True
        waited = time.perf_counter() - response.began
        response.span.set_attribute(conventions.FIRST_TOKEN_S, round(waited, 6))
        FIRST_TOKEN.record(waited, {conventions.GEN_AI_AGENT_NAME: response.of.agent})

    def _count(self, usage: Usage, active: str) -> None:
        """Tokens of a response count for the agent that it spoke for; those of a transcription for who listens."""
        response = self._responses.get(usage.response_id or "")
        agent, model = response.of.agent if response else active, usage.model or UNNAMED
        taken, given = usage.input_tokens or 0, usage.output_tokens or 0
        if taken or given:
            self._tally.add(agent, model, taken, given)
            of = call_of(conventions.CHAT, self._provider, model)
            TOKENS.record(taken, {**of, conventions.GEN_AI_TOKEN_TYPE: "input"})
            TOKENS.record(given, {**of, conventions.GEN_AI_TOKEN_TYPE: "output"})
        if response is None:
            return
        response.counted = True
        response.span.update_name(f"{conventions.CHAT} {model}")
        response.span.set_attribute(conventions.GEN_AI_REQUEST_MODEL, model)
        response.span.set_attributes(_tokens(taken, given))
        response.of.input_tokens += taken
        response.of.output_tokens += given
        response.of.span.set_attributes(_tokens(response.of.input_tokens, response.of.output_tokens))
        if response.ended:
            self._forget(usage.response_id or "")

    def _end(self, response_id: str) -> None:
        response = self._responses.get(response_id)
        if response is not None:
            response.ended = True
            if response.counted:
                self._forget(response_id)

    def _settle(self) -> None:
        """What has ended and was not counted by now will not be."""
        for name in [name for name, response in self._responses.items() if response.ended]:
            self._forget(name)

    def _forget(self, response_id: str) -> None:
        response = self._responses.pop(response_id, None)
        if response is not None:
            response.span.end()
            response.of.responses -= 1
            response.of.settle()

    def _finish(self) -> None:
        invoked, self._invoked = self._invoked, None
        if invoked is not None:
            invoked.over = True
            invoked.settle()


def _tokens(taken: int, given: int) -> dict[str, int]:
    return {conventions.GEN_AI_INPUT_TOKENS: taken, conventions.GEN_AI_OUTPUT_TOKENS: given}
