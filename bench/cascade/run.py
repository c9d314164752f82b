"""How soon the first sound of a cascade's answer leaves: with the first sentence, or after the whole answer.

A question is typed into a live session on this machine. A model behind the Responses API (a server here, at a fixed
pace, usually that of a small model on a laptop) writes ten sentences; the cascade cuts them into chunks, and the
gateway's own mouth speaks them. The same is done with an agent that waits for the whole answer. What counts is the
ratio of the two times from the question to the first frame of sound; the goal is at most 0.35. Beside it stands what
the trace shows: from the beginning of the agent's span to its first chunk.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import sys
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from uuid import UUID, uuid4

sys.path.insert(0, str(Path(__file__).parents[2]))

from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from pydantic import SecretStr

from bench.cascade.paced_model import paced_model
from bench.machine import machine
from chassis import telemetry
from chassis.settings import ServiceSettings
from voice_gateway.live.clients.local import LocalClient
from voice_gateway.live.config import RealtimeConfig
from voice_gateway.live.events import AudioDelta
from voice_gateway.live.input_queue import InputQueue
from voice_gateway.live.runner import LiveSession
from voice_gateway.mouth.local import open_mouth
from voice_gateway.mouth.port import Mouth
from voice_gateway.opening import Senses
from voice_gateway.orchestrators.cascade import FIRST_CHUNK, CascadeOrchestrator, Company
from voice_gateway.orchestrators.handoffs import Handoffs
from voice_gateway.orchestrators.models import open_model
from voice_gateway.orchestrators.port import Called, State
from voice_gateway.orchestrators.reading import load
from voice_gateway.orchestrators.text_agent import Asked, Delta, TextAgent, Writing, Written
from voice_gateway.orchestrators.toolbox import Caller, Tools
from voice_gateway.scripted import ScriptedEars, ScriptedMouth
from voice_gateway.settings import Settings

RESULTS = Path(__file__).parents[1] / "results" / "cascade.json"
GOAL = 0.35
ANSWER = (
    "The amber valve stands in the pump room, behind the second tank. It joins the cistern of rain water to the mains."
    " It closes by itself when the pressure falls below one point eight bar. A small flag on its spindle then turns"
    " from white to red. While it is closed the Fern House has water for about forty minutes. Wait until the gauge"
    " above it has stood at two point four bar for a minute. Then enter the recovery code on the keypad beside the"
    " gauge. Turn the spindle a quarter turn to the left. The flag turns white again within ten seconds. If it does"
    " not, leave the valve closed and ring the duty engineer."
)


@dataclass(frozen=True, slots=True)
class Turn:
    """One question, in milliseconds: to the first sound, and in the trace to the first chunk."""

    first_sound: float
    first_chunk: float


class WholeAnswer:
    """A text agent that gives nothing before it has everything."""

    decides = True

    def __init__(self, agent: TextAgent) -> None:
        self._agent = agent

    def begin(self, asked: Asked) -> Writing:
        """A turn of the agent behind it."""
        return _Whole(self._agent.begin(asked))


class _Whole:
    def __init__(self, writing: Writing) -> None:
        self._writing = writing

    async def round(self, results: Sequence[Called], *, tools: bool = True) -> AsyncGenerator[Written]:
        parts = [part async for part in self._writing.round(results, tools=tools)]
        yield Delta("".join(part.text for part in parts if isinstance(part, Delta)))
        for part in parts:
            if not isinstance(part, Delta):
                yield part

    def heard(self, characters: int) -> None:
        self._writing.heard(characters)


class _Nowhere:
    """Keeps no state."""

    async def load(self, chat_id: UUID) -> State:
        return State()

    async def save(self, chat_id: UUID, state: State) -> None:
        return None


async def turn(agent: TextAgent, mouth: Mouth, spans: InMemorySpanExporter) -> Turn:
    """Ask one question, and wait for the first sound of its answer."""
    spans.clear()
    chat_id, tools = uuid4(), Tools()
    company = Company(
        lambda _: agent, lambda spec, extra: tools.bound((), None, Caller(chat_id, "bench"), extra), _Nowhere()
    )
    cascade = CascadeOrchestrator(Handoffs(load("notes")), company)
    client = LocalClient(Senses(ScriptedEars((), 1), mouth), cascade, chat_id)
    queue = InputQueue()
    session = LiveSession(client, RealtimeConfig(), queue=queue, tools=tools.bound((), None, Caller(chat_id, "bench")))
    first: float | None = None
    began = time.perf_counter()
    queue.send_text("How is the amber valve opened again?")
    try:
        async for event in session.events():
            if isinstance(event, AudioDelta):
                first = (time.perf_counter() - began) * 1000
                break
    finally:
        await session.close()
    span = _agent_span(spans)
    assert first is not None
    assert span is not None
    assert span.start_time
    chunk = next(event.timestamp for event in span.events if event.name == FIRST_CHUNK)
    return Turn(first, (chunk - span.start_time) / 1e6)


def _agent_span(spans: InMemorySpanExporter) -> ReadableSpan | None:
    return next((span for span in spans.get_finished_spans() if span.name.startswith("invoke_agent")), None)


@asynccontextmanager
async def opened(kind: str) -> AsyncGenerator[Mouth]:
    """The mouth: the gateway's own, or one that speaks tones a quarter of a second after it was asked."""
    if kind == "scripted":
        yield ScriptedMouth(0.25)
        return
    async with open_mouth() as mouth:
        while not mouth.ready:  # noqa: ASYNC110 - it tells nobody
            await asyncio.sleep(0.1)
        yield mouth


async def measured(kind: str, pace: float, runs: int) -> dict[str, list[Turn]]:
    """So many questions each way, in turns, so that both see the same machine."""
    spans = InMemorySpanExporter()
    telemetry.setup("bench", ServiceSettings(log_level="error"), SimpleSpanProcessor(spans))
    turns: dict[str, list[Turn]] = {"by sentences": [], "whole answer": []}
    async with paced_model(ANSWER, pace) as url, opened(kind) as mouth:
        settings = Settings().model_copy(
            update={"openai_api_key": SecretStr("none"), "openai_base_url": url, "cascade_answers": "responses"}
        )
        async with open_model(settings) as model:
            wrapped: dict[str, Callable[[], TextAgent]] = {
                "by sentences": lambda: model,
                "whole answer": lambda: WholeAnswer(model),
            }
            for _ in range(runs):
                for name, agent in wrapped.items():
                    turns[name].append(await turn(agent(), mouth, spans))
    return turns


def main() -> int:
    """Measure, print, and say whether the goal is met."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--runs", type=int, default=5)
    options.add_argument("--pace", type=float, default=20.0, help="tokens a second")
    options.add_argument("--mouth", choices=("local", "scripted"), default="local")
    chosen = options.parse_args()
    print(machine())
    turns = asyncio.run(measured(chosen.mouth, chosen.pace, chosen.runs))
    print(f"\nten sentences at {chosen.pace:g} tokens a second, {chosen.runs} questions (medians, ms)")
    print(f"  {'':16} {'first sound':>12} {'trace: first chunk':>20} {'the mouth alone':>17}")
    for name, each in turns.items():
        medians = [statistics.median(getattr(one, field) for one in each) for field in Turn.__dataclass_fields__]
        print(f"  {name:16} {medians[0]:12.0f} {medians[1]:20.0f} {medians[0] - medians[1]:17.0f}")
    first, whole = (statistics.median(one.first_sound for one in each) for each in turns.values())
    ratio = first / whole
    print(f"  ratio {ratio:.2f}; goal at most {GOAL}: {'met' if ratio <= GOAL else 'missed'}\n")
    RESULTS.parent.mkdir(exist_ok=True)
    told = {name: [asdict(one) for one in each] for name, each in turns.items()}
    RESULTS.write_text(json.dumps({"machine": machine(), "ratio": ratio, "turns": told}, indent=1))
    return 0 if ratio <= GOAL else 1


if __name__ == "__main__":
    sys.exit(main())
