"""What a provider tells, taken one event at a time: turns, tools and transcripts come of it (L4, L5).

A response's sound and words are passed on until it calls a tool or is interrupted; what it says after that is not.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from voice_gateway.live.dispatch import Dispatch
from voice_gateway.live.events import (
    OUTPUT_RATE,
    AgentChanged,
    AudioDelta,
    Failure,
    GoAway,
    InputTranscript,
    Interrupted,
    OutputTranscript,
    RealtimeEvent,
    ResponseEnded,
    ResponseStarted,
    SessionUpdate,
    SpeechDismissed,
    SpeechStarted,
    SpeechStopped,
    ToolCall,
    ToolResult,
    TurnComplete,
    TurnStarted,
    Usage,
)
from voice_gateway.live.port import Toolbox
from voice_gateway.live.resampling import Resampler
from voice_gateway.live.turns import Turns
from voice_gateway.live.unheard import Unheard

REMEMBERED = 256
"""Responses whose end is remembered, so that a second end is known as one."""


class EventPump:
    """Takes a client's events, and tells those that are the session's."""

    def __init__(
        self,
        turns: Turns,
        dispatch: Dispatch,
        unheard: Unheard,
        tell: Callable[[RealtimeEvent], None],
        *,
        output_rate: int,
        orchestrates: bool = False,
        transcribes: bool = True,
    ) -> None:
        self._turns, self._dispatch, self._unheard, self._tell = turns, dispatch, unheard, tell
        self._orchestrates, self._transcribes = orchestrates, transcribes
        self._output = Resampler(output_rate, OUTPUT_RATE)
        self._ended: deque[str] = deque(maxlen=REMEMBERED)
        self._cut: deque[str | None] = deque(maxlen=REMEMBERED)
        self._dropping_calls = False
        self._sounded = False
        self._to_come = 0
        self.response: str | None = None
        self.muted = False
        self.toolbox: Toolbox
        self.allowed: frozenset[str] = frozenset()

    @property
    def idle(self) -> bool:
        """Whether no turn, no tool and no response is at work."""
        return not (self._turns.open or self._dispatch.busy or self.response)

    @property
    def owed(self) -> bool:
        """Whether the provider is to go on: a turn is open, nobody speaks, and no tool keeps it waiting."""
        return self._turns.open and not self._dispatch.busy and not self._unheard.speaking

    @property
    def quiet(self) -> bool:
        """Whether, beside that, nobody speaks."""
        return self.idle and not self._unheard.speaking

    async def take(self, event: RealtimeEvent) -> None:
        """Take the next event of the provider."""
        match event:
            case AudioDelta():
                await self._sound(event)
            case OutputTranscript():
                if not self.muted:
                    await self._turns.said(event)
                    self._tell(event)
            case InputTranscript():
                await self._heard(event)
            case ResponseStarted():
                await self._started(event)
            case ResponseEnded():
                await self._end(event)
            case ToolCall() | ToolResult() | AgentChanged() if self._orchestrates:
                self._tell(event)
            case ToolCall():
                await self._call(event)
            case Interrupted():
                await self.interrupted()
            case TurnStarted():
                await self._turns.begin(event.turn_id, event.trace_id)
            case SpeechStarted():
                self._unheard.speech_started()
                self._tell(event)
            case SpeechStopped():
                self._unheard.speech_stopped()
                self._to_come += self._transcribes
                self._tell(event)
            case SpeechDismissed():
                self._unheard.dismissed()
                self._to_come = max(0, self._to_come - 1)
                self._tell(event)
            case Usage() | SessionUpdate() | GoAway() | Failure():
                self._tell(event)
            case TurnComplete() | ToolResult() | AgentChanged() | _:
                pass  # the session's own to tell

    async def interrupted(self) -> None:
        """The person spoke over the answer, or stopped it: its turn is over, and nothing more of it is passed on."""
        self._cut.append(self.response)
        self.response, self.muted, self._dropping_calls = None, True, True
        self._dispatch.interrupt()
        self._output.end()
        if self._turns.open:
            await self._turns.interrupt(owed=self._to_come > 0 and not self._turns.log.question)
        self._tell(Interrupted())

    def lost(self, *, known: bool) -> None:
        """The connection is gone; with ``known`` its successor knows the calls that are at work."""
        self.response, self.muted, self._dropping_calls = None, False, False
        self._to_come = 0
        self._ended.clear()
        self._cut.clear()
        self._unheard.lost()
        self._output.end()
        self._turns.lost()
        if not known:
            self._dispatch.abandon()

    async def _sound(self, event: AudioDelta) -> None:
        if self.muted:
            return
        await self._turns.begin()
        pcm = self._output.take(event.data)
        if pcm:
            self._turns.spoken = True
            if not self._sounded:
                self._sounded = True
                self._unheard.answered()
            self._tell(AudioDelta(data=pcm))

    async def _heard(self, event: InputTranscript) -> None:
        if await self._turns.heard(event):
            self._dispatch.new_input()
        if event.finished:
            self._to_come = max(0, self._to_come - 1)
            self._unheard.understood()
        elif event.text.strip():
            self._unheard.words_began()
        self._tell(event)

    async def _started(self, event: ResponseStarted) -> None:
        if event.response_id in self._ended or event.response_id == self.response:
            return
        self.response = event.response_id
        self.muted = self._dropping_calls = self._sounded = False
        await self._turns.begin()
        self._tell(event)

    async def _call(self, event: ToolCall) -> None:
        if self._dropping_calls:
            return
        self.muted = True
        if self._dispatch.call(event, self.toolbox, self.allowed):
            await self._turns.begin()
            self._tell(event)

    async def _end(self, event: ResponseEnded) -> None:
        if event.response_id in self._ended:
            return
        self._ended.append(event.response_id)
        late = self.response not in (None, event.response_id)
        cut = event.response_id in self._cut
        if not late and not cut:
            self.response = None
            await self._rest()
        self._tell(event)
        if event.calls:
            await self._dispatch.response_ended()
        elif not late and not cut and not self._dispatch.busy:
            await self._turns.complete()

    async def _rest(self) -> None:
        rest = self._output.end()
        if rest and not self.muted:
            self._tell(AudioDelta(data=rest))
