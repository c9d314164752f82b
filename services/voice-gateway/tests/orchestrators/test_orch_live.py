"""The live orchestrator: barge-in, handoffs that switch at once, the state and result of the cascade, its spans."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from orch_fakes import CHAT, MemoryStates, echo, scenario
from orch_provider import GEMINI, OPENAI, Provider

from chassis import telemetry
from chassis.settings import ServiceSettings
from voice_gateway.live.config import RealtimeConfig
from voice_gateway.live.events import (
    AgentChanged,
    AudioDelta,
    InputTranscript,
    Interrupted,
    OutputTranscript,
    RealtimeEvent,
    ResponseEnded,
    ResponseStarted,
    SessionUpdate,
    SpeechStarted,
    ToolCall,
    ToolResult,
    TurnComplete,
    Usage,
)
from voice_gateway.live.input_queue import InputQueue
from voice_gateway.live.port import Capabilities
from voice_gateway.live.runner import LiveSession
from voice_gateway.orchestrators.handoffs import Handoffs
from voice_gateway.orchestrators.live import Crew, LiveOrchestrator
from voice_gateway.orchestrators.measuring import Tally
from voice_gateway.orchestrators.port import Result, State
from voice_gateway.orchestrators.toolbox import Caller, Tools

QUESTION = InputTranscript(text="The valve leaks.", finished=True)
TO_SAFETY = ToolCall(id="c1", name="hand_over", args={"agent": "safety", "reason": "A valve."})
SOUND = AudioDelta(data=b"\1\0" * 240)


@dataclass
class Called:
    """A live session at work, and what it told."""

    provider: Provider
    live: LiveOrchestrator
    states: MemoryStates
    tally: Tally
    told: list[RealtimeEvent] = field(default_factory=list[RealtimeEvent])
    ended: list[tuple[str, Result, bool]] = field(default_factory=list[tuple[str, Result, bool]])

    def of(self, kind: type[RealtimeEvent]) -> list[RealtimeEvent]:
        """What was told of a kind."""
        return [event for event in self.told if isinstance(event, kind)]

    async def until(self, kind: type[RealtimeEvent], count: int = 1) -> None:
        """Wait for so many events of a kind."""
        await self.provider.until(lambda: len(self.of(kind)) >= count)


@asynccontextmanager
async def called(
    state: State | None = None, capabilities: Capabilities = OPENAI, parent: str | None = None
) -> AsyncGenerator[Called]:
    provider, states, tools = Provider(capabilities), MemoryStates(), Tools([echo()])
    ended: list[tuple[str, Result, bool]] = []
    crew = Crew(
        lambda agent, extra: tools.bound(
            agent.tools, agent.tool_tags, Caller(CHAT, "mara", agent.name), extra, lambda: live.tracing.current
        ),
        states,
        {"visitor": "Mara"},
        ("They like ferns.",),
        ("Before: hello.",),
        provider=capabilities.provider,
        voice="usual",
    )
    live = LiveOrchestrator(
        CHAT,
        Handoffs(scenario(), state),
        crew,
        lambda said, result, interrupted: ended.append((said, result, interrupted)),
        parent=parent,
    )
    part = live.begin()
    config = RealtimeConfig(instructions=part.instructions, voice=part.voice)
    session = LiveSession(provider, config, queue=InputQueue(), tools=part.tools, agent=part.agent)
    live.lead(session)
    on = Called(provider, live, states, crew.tally, ended=ended)

    async def read() -> None:
        async for event in live.events():
            on.told.append(event)

    reading = asyncio.create_task(read())
    await provider.until(lambda: provider.configs)
    try:
        yield on
    finally:
        await live.close()
        await reading


@pytest.mark.behaviour("O2")
async def test_speech_over_an_answer_tells_the_client_cancels_the_response_and_drops_what_is_late() -> None:
    async with called() as on:
        on.provider.tell(QUESTION, ResponseStarted(response_id="r1"), SOUND)
        await on.until(AudioDelta)
        on.provider.tell(SpeechStarted(), Interrupted(), SOUND, OutputTranscript(text="late"))
        on.provider.tell(ResponseEnded(response_id="r1", status="cancelled"))
        on.provider.tell(InputTranscript(text="No, wait.", finished=True), ResponseStarted(response_id="r2"), SOUND)
        await on.until(AudioDelta, 2)
        assert [event.type for event in on.told if event.type in ("speech_started", "interrupted")] == [
            "speech_started",
            "interrupted",
        ]
        assert len(on.provider.all("interrupt")) == 1
        assert not [event for event in on.of(OutputTranscript) if "late" in str(event)]
        assert (on.ended[0][0], on.ended[0][2]) == ("The valve leaks.", True)


@pytest.mark.behaviour("O4")
async def test_a_handoff_switches_at_once_and_late_sound_of_the_old_agent_is_dropped() -> None:
    async with called() as on:
        on.provider.tell(QUESTION)
        on.provider.dispatch("r1", TO_SAFETY)
        await on.until(AgentChanged)
        on.provider.tell(SOUND, OutputTranscript(text="late words of the concierge"))
        on.provider.tell(ResponseStarted(response_id="r2"), SOUND, OutputTranscript(text="Shut it.", finished=True))
        on.provider.tell(ResponseEnded(response_id="r2"))
        await on.until(TurnComplete)
        assert on.of(AgentChanged) == [AgentChanged(agent="safety", previous="concierge", reason="A valve.")]
        assert [event.type for event in on.told if isinstance(event, (AudioDelta, OutputTranscript))] == [
            "audio_delta",
            "output_transcript",
        ]
        before, after = on.provider.configs
        assert (before.voice, after.voice) == ("marin", "high")
        assert before.instructions == ("They like ferns.", "Before: hello.", "You greet Mara.")
        assert after.instructions[2] == "You keep Mara safe."
        assert "Why: A valve." in after.instructions[3]
        assert 'Begin with these words, and go on with what the person wants: "This is safety."' in after.instructions
        assert on.provider.tools[0] == ("echo", "hand_over")
        assert on.provider.tools[1] == ("hand_over",)


@pytest.mark.behaviour("O3")
async def test_the_result_and_the_state_are_those_that_the_cascade_gives() -> None:
    async with called() as on:
        on.provider.tell(QUESTION)
        on.provider.dispatch("r1", TO_SAFETY)
        await on.until(AgentChanged)
        on.provider.tell(ResponseStarted(response_id="r2"), OutputTranscript(text="Shut it.", finished=True))
        on.provider.tell(ResponseEnded(response_id="r2"))
        await on.until(TurnComplete)
        said, result, interrupted = on.ended[0]
        assert (said, interrupted) == ("The valve leaks.", False)
        assert (result.text, result.agent, result.handoff, result.new_agent) == (
            "Shut it.",
            "concierge",
            True,
            "safety",
        )
        assert [(one.name, one.failed) for one in result.calls] == [("hand_over", False)]
        await on.provider.until(lambda: on.states.saves[-1] == State("safety", ("concierge", "safety")))
    async with called(on.states.kept[CHAT]) as again:
        assert again.live.active == "safety"
        assert again.provider.configs[0].voice == "high"


@pytest.mark.behaviour("O4")
async def test_the_first_valid_handoff_of_a_turn_wins_and_one_without_an_edge_is_refused() -> None:
    async with called() as on:
        on.provider.tell(QUESTION)
        wrong = ToolCall(id="c0", name="hand_over", args={"agent": "butler", "reason": "x"})
        second = ToolCall(id="c2", name="hand_over", args={"agent": "secret", "reason": "x"})
        on.provider.dispatch("r1", wrong, TO_SAFETY, second)
        await on.until(ToolResult, 3)
        failed = {event.id: event.failed for event in on.told if isinstance(event, ToolResult)}
        assert failed == {"c0": True, "c1": False, "c2": True}
        assert len(on.of(AgentChanged)) == 1


@pytest.mark.behaviour("O4")
async def test_an_agent_that_shares_no_context_is_not_told_the_chat_and_a_return_greets_otherwise() -> None:
    async with called(capabilities=GEMINI) as on:
        on.provider.tell(QUESTION)
        to_secret = ToolCall(id="c1", name="hand_over", args={"agent": "secret", "reason": "x"})
        on.provider.dispatch("r1", to_secret)
        await on.until(AgentChanged)
        assert "Before: hello." not in on.provider.configs[-1].instructions
        assert not any("valve" in str(lines) for lines in on.provider.all("reseed"))
        on.provider.tell(ResponseStarted(response_id="r2"), OutputTranscript(text="Yes?", finished=True))
        on.provider.tell(ResponseEnded(response_id="r2"))
        await on.until(TurnComplete)
        on.provider.tell(InputTranscript(text="Back, please.", finished=True))
        back = ToolCall(id="c2", name="hand_over", args={"agent": "concierge", "reason": "x"})
        on.provider.dispatch("r3", back)
        await on.until(AgentChanged, 2)
        assert "Welcome back." in on.provider.configs[-1].instructions[-1]
        assert "Before: hello." in on.provider.configs[-1].instructions


@pytest.mark.behaviour("O4")
async def test_a_handoff_left_over_is_made_when_the_session_opens() -> None:
    async with called(State("concierge", ("concierge",), "safety")) as on:
        assert on.live.active == "safety"
        assert "This is safety." in on.provider.configs[0].instructions[-1]


@pytest.mark.behaviour("O3")
async def test_a_resume_handle_is_kept_with_the_chat_and_taken_back() -> None:
    async with called(capabilities=GEMINI) as on:
        on.provider.tell(SessionUpdate(resumption_handle="h1"))
        await on.provider.until(lambda: on.states.saves and on.states.saves[-1].resume_handle == "h1")
        on.provider.tell(SessionUpdate(resumption_handle=None))
        await on.provider.until(lambda: on.states.saves[-1].resume_handle is None)


@pytest.mark.behaviour("O6")
async def test_each_agent_has_a_span_with_the_tokens_of_its_own_responses() -> None:
    spans = InMemorySpanExporter()
    telemetry.setup("test", ServiceSettings(), SimpleSpanProcessor(spans))
    trace = "0af7651916cd43dd8448eb211c80319c"
    try:
        async with called(parent=f"00-{trace}-b7ad6b7169203331-01") as on:
            on.provider.tell(QUESTION, Usage(model="ears", input_tokens=3, output_tokens=1))
            on.provider.tell(ResponseStarted(response_id="r1"), TO_SAFETY)
            await on.until(AgentChanged)
            # The old agent's tokens are told after the floor has changed hands.
            on.provider.tell(Usage(response_id="r1", model="gpt-realtime", input_tokens=100, output_tokens=10))
            on.provider.tell(ResponseEnded(response_id="r1", calls=("c1",)), ResponseStarted(response_id="r2"), SOUND)
            on.provider.tell(Usage(response_id="r2", model="gpt-realtime", input_tokens=200, output_tokens=20))
            on.provider.tell(ResponseEnded(response_id="r2"))
            await on.until(TurnComplete)
    finally:
        telemetry.setup("test", ServiceSettings())
    assert on.tally.told() == [
        {"agent": "concierge", "model": "ears", "input_tokens": 3, "output_tokens": 1},
        {"agent": "concierge", "model": "gpt-realtime", "input_tokens": 100, "output_tokens": 10},
        {"agent": "safety", "model": "gpt-realtime", "input_tokens": 200, "output_tokens": 20},
    ]
    assert on.ended[0][1].metadata == {"tokens": on.tally.told()}
    drawn = {span.name: span for span in spans.get_finished_spans()}
    assert tokens(drawn["invoke_agent concierge"]) == (100, 10)
    assert tokens(drawn["invoke_agent safety"]) == (200, 20)
    chats = [span for span in spans.get_finished_spans() if span.name == "chat gpt-realtime"]
    assert sorted(tokens(span) for span in chats) == [(100, 10), (200, 20)]
    assert all(f"{span.context.trace_id:032x}" == trace for span in spans.get_finished_spans() if span.context)
    first = [span for span in chats if span.attributes and "talkdown.time_to_first_token" in span.attributes]
    assert len(first) == 1
    parents = {span.context.span_id: span.name for span in spans.get_finished_spans() if span.context}
    tool = drawn["execute_tool hand_over"]
    assert tool.parent is not None
    assert parents[tool.parent.span_id] == "invoke_agent concierge"
    assert on.live.tracing.current is not None


def tokens(span: ReadableSpan) -> tuple[object, object]:
    assert span.attributes is not None
    return span.attributes["gen_ai.usage.input_tokens"], span.attributes["gen_ai.usage.output_tokens"]
