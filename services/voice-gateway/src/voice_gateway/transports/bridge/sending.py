"""What a session tells, on its way to one client: events at once, sound in real time, words beside the sound they say.

::

    put(event) --> at once:  speech_started, turn_started, tools, transcripts of the person, errors
               `-> in order: response_started, sound, its words, response_ended, turn_complete   200 ms ahead of time

Sound comes as fast as it is made, and leaves as it is heard: so that an interruption has little to take back, words
are read when they are said, and it is known how far playback can have come. A client that does not take what is due
for it is closed.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Callable

from voice_gateway.live.events import (
    OUTPUT_RATE,
    AgentChanged,
    AudioDelta,
    Interrupted,
    OutputTranscript,
    RealtimeEvent,
    ResponseEnded,
    ResponseStarted,
    SpeechDismissed,
    SpeechStarted,
    SpeechStopped,
    TurnComplete,
    TurnStarted,
)
from voice_gateway.outbox import TOO_SLOW, Close
from voice_gateway.transports.bridge import messages

BYTES_A_S = OUTPUT_RATE * 2
LEAD_S = 0.2
"""Sound is with the client so long before it is due."""
PIECE_BYTES = BYTES_A_S // 25
MOST_WAITING_BYTES = 600 * BYTES_A_S
"""Ten minutes of sound that wait to be due; nobody listens to more of one answer."""
UNDECIDED_S = 1.5
"""After the end of speech of which nothing came, what was being said goes on."""
IN_ORDER = (ResponseStarted, AudioDelta, OutputTranscript, ResponseEnded, TurnComplete, AgentChanged)
SPOKEN = (AudioDelta, OutputTranscript)


class Downstream:
    """Events for one client; at most ``limit`` bytes of what is due wait. Iterating ends when it is closed and empty.
    An interruption is told once, whoever finds it: the client, the session, the provider.

    ``over`` is set as soon as it is known why it will end.
    """

    def __init__(self, limit: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._limit, self._clock = limit, clock
        self._at_once: deque[str] = deque()
        self._in_order: deque[RealtimeEvent] = deque()
        self._urgent_bytes = self._sound_bytes = 0
        self._until = 0.0
        """When the sound that was sent will have been played."""
        self._since = 0.0
        """Since when there is sound that may leave."""
        self._held_until: float | None = None
        self._changed = asyncio.Event()
        self._hushed = self._interrupted = False
        self._response, self._sent_bytes = "", 0
        self._told: tuple[str, int] | None = None
        self.close_with: Close | None = None
        self.over = asyncio.Event()

    @property
    def speaking(self) -> bool:
        """Whether sound waits, or plays at the other end."""
        return self._sound_bytes > 0 or self._until > self._clock()

    @property
    def held(self) -> bool:
        """Whether somebody speaks, or holds the key, and it is not known yet what it comes to."""
        return self._held_until == float("inf")

    @property
    def waiting_bytes(self) -> int:
        """Of sound that is not due yet, or was not taken."""
        return self._sound_bytes

    def played_ms(self) -> int | None:
        """How much of the newest response was heard: as the client tells, or else as its sound was sent."""
        if not self._sent_bytes:
            return None
        sent_ms = self._sent_bytes * 1000 // BYTES_A_S
        if self._told is not None and self._told[0] == self._response:
            return min(self._told[1], sent_ms)
        return max(0, sent_ms - max(0, round((self._until - self._clock()) * 1000)))

    def told(self, response_id: str, ms: int) -> None:
        """The client played so much of a response."""
        self._told = (response_id, ms)

    def put(self, event: RealtimeEvent) -> None:
        """Send ``event`` when its time has come; after the close nothing more is sent."""
        if self.close_with is not None:
            return
        match event:
            case SpeechStarted():
                self._held_until = float("inf")
            case SpeechStopped() if self._held_until is not None:
                self._held_until = self._clock() + UNDECIDED_S
            case SpeechDismissed():
                self._release()
            case Interrupted():
                self.silence()
                if self._interrupted:
                    return
                self._interrupted = True
            case TurnStarted():
                self._interrupted = False
            case AudioDelta() | OutputTranscript() if not self._hushed:
                self._interrupted = False
            case ResponseStarted():
                self._interrupted = False
                self._hushed = False
                self._release()
            case _:
                pass
        if isinstance(event, IN_ORDER):
            self._put_in_order(event)
        else:
            self.say(messages.written(event))
        self._changed.set()

    def say(self, text: str) -> None:
        """Send ``text`` before anything else."""
        if self.close_with is not None:
            return
        self._at_once.append(text)
        self._urgent_bytes += len(text.encode())
        self._check()
        self._changed.set()

    def silence(self) -> None:
        """Forget the sound that was not sent, and its words; what else waited behind it is told now."""
        for event in self._in_order:
            if not isinstance(event, SPOKEN):
                self.say(messages.written(event))
        self._in_order.clear()
        self._sound_bytes = 0
        self._until = self._clock()
        self._held_until = None

    def hush(self) -> None:
        """As :meth:`silence`, and nothing more of the response that speaks; whoever wished it is told once more."""
        self.silence()
        self._hushed, self._interrupted = True, False

    def look(self) -> None:
        """See what is due now."""
        self._changed.set()

    def close(self, why: Close) -> None:
        """Send what waits, and nothing after it; the first reason is the one that counts."""
        self.close_with = self.close_with or why
        self.over.set()
        self._changed.set()

    async def __aiter__(self) -> AsyncIterator[str | bytes]:
        """Each message as it becomes due, until the close."""
        while True:
            while self._at_once:
                text = self._at_once.popleft()
                yield text
                self._urgent_bytes = max(0, self._urgent_bytes - len(text.encode()))
            wait_s = self._next_in()
            if wait_s is not None and wait_s <= 0:
                yield self._next()
            elif wait_s is None and self.close_with is not None:
                return
            else:
                await self._wait(wait_s)

    async def _wait(self, seconds: float | None) -> None:
        self._changed.clear()
        try:
            async with asyncio.timeout(seconds):
                await self._changed.wait()
        except TimeoutError:
            pass

    def _put_in_order(self, event: RealtimeEvent) -> None:
        if self._hushed and isinstance(event, SPOKEN):
            return
        if not isinstance(event, AudioDelta):
            self._in_order.append(event)
            return
        if not self._sound_bytes:
            self._since = self._clock()
        room = max(0, MOST_WAITING_BYTES - self._sound_bytes)
        pcm = event.data[:room]
        for start in range(0, len(pcm), PIECE_BYTES):
            self._in_order.append(AudioDelta(data=pcm[start : start + PIECE_BYTES]))
        self._sound_bytes += len(pcm)
        self._check()

    def _next_in(self) -> float | None:
        """In how many seconds the next of what is in order is due; None when nothing is to be waited for."""
        if not self._in_order:
            return None
        now = self._clock()
        if self._held_until is not None:
            if now < self._held_until:
                return None if self._held_until == float("inf") else self._held_until - now
            self._release()
        if not isinstance(self._in_order[0], AudioDelta):
            return 0.0
        return self._until - now - LEAD_S

    def _release(self) -> None:
        if self._held_until is not None:
            self._held_until, self._since = None, self._clock()

    def _next(self) -> str | bytes:
        event = self._in_order.popleft()
        if not isinstance(event, AudioDelta):
            if isinstance(event, ResponseStarted):
                self._response, self._sent_bytes = event.response_id, 0
            return messages.written(event)
        self._until = max(self._until, self._clock()) + len(event.data) / BYTES_A_S
        self._sound_bytes -= len(event.data)
        self._sent_bytes += len(event.data)
        return event.data

    def _check(self) -> None:
        due = (
            0 if self._held_until is not None else (self._clock() - max(self._until, self._since) + LEAD_S) * BYTES_A_S
        )
        if self._urgent_bytes + min(self._sound_bytes, max(0.0, due)) > self._limit:
            self._at_once.clear()
            self._in_order.clear()
            self._sound_bytes = 0
            self.close(TOO_SLOW)
