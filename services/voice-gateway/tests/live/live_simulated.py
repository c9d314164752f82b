"""A provider that lives in virtual time: it hears questions in frames of sound, and speaks its answers word by word.

A frame of speech holds the number of its question in every sample, so that what was heard can be told to the frame. The
answer to question 7 is ``a7-1 a7-2 ...``. What it is told of the past is all that a new connection knows.
"""

from __future__ import annotations

import asyncio
import re
from array import array
from collections.abc import AsyncIterator, Sequence

from contracts.vocabulary import JsonObject
from voice_gateway.live.config import RealtimeConfig
from voice_gateway.live.errors import ConnectionLost
from voice_gateway.live.events import (
    AudioDelta,
    InputTranscript,
    Interrupted,
    OutputTranscript,
    RealtimeEvent,
    ResponseEnded,
    ResponseStarted,
    SessionUpdate,
    SpeechStarted,
    SpeechStopped,
    ToolCall,
)
from voice_gateway.live.port import Activity, Capabilities, Line, ToolSpec
from voice_gateway.live.seeding import BROKEN, GO_ON

RATE = 24_000
FRAME_S = 0.02
SAMPLES = int(RATE * FRAME_S)
SPEECH_FRAMES = 75
SILENT_FRAMES = 25
WORDS = 12
WORD_S = 0.2
NUMBER = re.compile(r"question (\d+)")
SPOKEN = re.compile(r"a(\d+)-(\d+)")


def frame(question: int) -> bytes:
    """20 ms of a question, or of silence for 0."""
    return array("h", [question] * SAMPLES).tobytes()


def words(question: int) -> list[str]:
    """The whole answer."""
    return [f"a{question}-{n}" for n in range(1, WORDS + 1)]


class SimulatedProvider:
    """See :class:`~voice_gateway.live.port.RealtimeClient`. Every ``with_tool``-th question is answered after a tool.

    With ``resumes`` it gives a handle after each answer, by which a new connection knows what it knew then.
    """

    def __init__(self, *, with_tool: int = 3, resumes: bool = False) -> None:
        self.capabilities = Capabilities("openai", RATE, RATE, truncation=True, changes_agent=True, resumption=resumes)
        self._with_tool = with_tool
        self._kept: dict[str, list[Line]] = {}
        self.resumed = 0
        self._names = iter(range(1, 100_000))
        self._up = False
        self.drops = 0
        self.connections = 0
        self.wrong: list[str] = []

    def drop(self) -> None:
        """Lose the connection, or fail the one that is being opened."""
        self.drops += 1
        self._end()

    async def connect(self, config: RealtimeConfig, tools: Sequence[ToolSpec], resume_handle: str | None) -> None:
        before = self.drops
        await asyncio.sleep(0.1)
        if self.drops != before:
            raise ConnectionLost
        self.connections += 1
        self._up = True
        self._inbox: asyncio.Queue[RealtimeEvent | None] = asyncio.Queue()
        self._past: list[Line] = list(self._kept[resume_handle]) if resume_handle else []
        self.resumed += resume_handle is not None
        self._heard: list[int] = []
        self._silent = 0
        self._calls: dict[str, int] = {}
        self._answer: asyncio.Task[None] | None = None
        self._later: set[asyncio.Task[None]] = set()

    async def update(self, config: RealtimeConfig, tools: Sequence[ToolSpec]) -> None:
        self._check()

    async def send_audio(self, pcm: bytes) -> None:
        self._check()
        (question,) = set(array("h", pcm))
        if question:
            if not any(self._heard):
                self._heard = []
                self._emit(SpeechStarted())
                if self._stop_answer():
                    self._emit(Interrupted())
            self._silent = 0
            self._heard.append(question)
        elif self._heard:
            self._silent += 1
            if self._silent == SILENT_FRAMES:
                self._understand()

    async def send_text(self, text: str) -> None:
        self._check()
        if text == GO_ON or text.startswith(BROKEN[:30]):
            question, word = map(int, (SPOKEN.findall(text) or SPOKEN.findall(self._past[-1].text))[-1])
            self._begin(question, word, asked=True)
        else:
            self._begin(self._number(text), 0, asked=True)

    async def send_image(self, data: bytes, mime_type: str) -> None:
        self._check()
        self.wrong.append("a picture, which nobody showed")

    async def send_activity(self, kind: Activity) -> None:
        self._check()
        self.wrong.append(f"a mark of {kind}, though it finds the turns itself")

    async def send_tool_result(self, call_id: str, name: str, result: JsonObject) -> None:
        self._check()
        if call_id not in self._calls:
            self.wrong.append(f"a result for {call_id}, which this connection did not call")

    async def respond(self) -> None:
        self._check()
        self._begin(self._calls[max(self._calls)], 0, asked=True, looked=True)

    async def interrupt(self, played_ms: int | None = None) -> None:
        self._check()
        self._stop_answer()

    async def reseed(self, lines: Sequence[Line]) -> None:
        self._check()
        if self._past:
            self.wrong.append("a session that was resumed is told its history")
        self._past = list(lines)

    async def receive(self) -> AsyncIterator[RealtimeEvent]:
        while True:
            event = await self._inbox.get()
            if event is None:
                raise ConnectionLost
            yield event

    async def close(self) -> None:
        self._end()

    def _end(self) -> None:
        if self._up:
            self._up = False
            self._stop_answer()
            for task in self._later:
                task.cancel()
            self._inbox.put_nowait(None)

    def _check(self) -> None:
        if not self._up:
            raise ConnectionLost

    def _emit(self, event: RealtimeEvent) -> None:
        if self._up:
            self._inbox.put_nowait(event)

    def _number(self, text: str) -> int:
        found = NUMBER.fullmatch(text)
        if found is None:
            self.wrong.append(f"asked {text!r}")
            return 0
        return int(found[1])

    def _understand(self) -> None:
        heard, self._heard, self._silent = self._heard, [], 0
        self._emit(SpeechStopped())
        for question in dict.fromkeys(heard):
            if heard.count(question) != SPEECH_FRAMES:
                self.wrong.append(
                    f"{heard.count(question)} of {SPEECH_FRAMES} frames of question {question} were heard"
                )
        self._after(0.3, *(InputTranscript(text=f"question {q}", finished=True) for q in dict.fromkeys(heard)))
        self._begin(heard[-1], 0, asked=False)

    def _after(self, seconds: float, *events: RealtimeEvent) -> None:
        async def later() -> None:
            await asyncio.sleep(seconds)
            for event in events:
                self._emit(event)

        task = asyncio.create_task(later())
        self._later.add(task)
        task.add_done_callback(self._later.discard)

    def _stop_answer(self) -> bool:
        task, self._answer = getattr(self, "_answer", None), None
        if task is None or task.done():
            return False
        task.cancel()
        return True

    def _begin(self, question: int, word: int, *, asked: bool, looked: bool = False) -> None:
        if self._answer is not None and not self._answer.done():
            self.wrong.append("two answers at once")
        self._answer = asyncio.create_task(self._speak(question, word, 0.0 if asked else 0.4, looked=looked))

    async def _speak(self, question: int, word: int, wait_s: float, *, looked: bool) -> None:
        await asyncio.sleep(wait_s)
        response = f"r{next(self._names)}"
        self._emit(ResponseStarted(response_id=response))
        if question % self._with_tool == 0 and not looked and not word:
            call = f"call-{next(self._names):06}"
            self._calls[call] = question
            self._emit(ToolCall(id=call, name="look", args={"question": question}))
            self._emit(ResponseEnded(response_id=response, calls=(call,)))
            return
        for text in words(question)[word:]:
            self._emit(AudioDelta(data=frame(question)))
            self._emit(OutputTranscript(text=f" {text}"))
            await asyncio.sleep(WORD_S)
        self._emit(ResponseEnded(response_id=response))
        if self.capabilities.resumption:
            handle = f"handle-{next(self._names)}"
            self._past += (Line("user", f"question {question}"), Line("assistant", " ".join(words(question))))
            self._kept[handle] = list(self._past)
            self._emit(SessionUpdate(resumption_handle=handle))
