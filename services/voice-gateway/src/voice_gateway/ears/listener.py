"""The ears of one session: sound goes in, what was heard comes out, in the order of the sound.

::

    hear, playing --> waiting sound (bounded) --> Senses.windows --> Endpointer --> SpeechStarted
    tune, commit, clear, in their place --^                             | a pause
                                                      Transcript.words, Senses.melody --> Words, PerhapsOver
                                                                        | over
                                                          Utterance, Dismissed, Failed
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any, Final

from voice_gateway.ears.endpointer import ONSET_WINDOWS, WINDOW_MS, Endpointer, Told
from voice_gateway.ears.port import Dismissed, Failed, Heard, SpeechStarted, Tuning
from voice_gateway.ears.turn import Senses, Turn
from voice_gateway.ears.windows import Window
from voice_gateway.errors import ModelError

log = logging.getLogger(__name__)

_BYTES_A_MS: Final = 48
_PIECE_BYTES: Final = 200 * _BYTES_A_MS
_LEAST_BYTES: Final = WINDOW_MS * _BYTES_A_MS
MOST_WAITING_BYTES: Final = 10_000 * _BYTES_A_MS
_MOST_PLAYED_BYTES: Final = 1_000 * _BYTES_A_MS
_MOST_BY_HAND_MS: Final = 120_000
_MOST_UNREAD: Final = 1_000
_ONSET_MS: Final = ONSET_WINDOWS * WINDOW_MS


class LocalListener:
    """See :class:`voice_gateway.ears.port.Listener`."""

    def __init__(self, senses: Senses, tuning: Tuning | None, leave: Callable[[], None]) -> None:
        self._senses = senses
        self._leave = leave
        self._tuning = tuning
        self._waiting: deque[bytes | Callable[[], Coroutine[Any, Any, None]]] = deque()
        self._waiting_bytes = 0
        self._odd = b""
        self._dropping = False
        self._played = bytearray()
        self._more = asyncio.Event()
        self._told: asyncio.Queue[Heard | None] = asyncio.Queue()
        self._now_ms = 0
        self._before: deque[Window] = deque()
        self._endpointer = Endpointer(tuning or Tuning())
        self._turn: Turn | None = None
        self._work = asyncio.create_task(self._listen(), name="ears")
        # Not in the task itself: one that is cancelled before its first step never runs.
        self._work.add_done_callback(self._ended)

    def hear(self, pcm: bytes) -> None:
        """See the port."""
        pcm = self._odd + pcm
        self._odd = pcm[len(pcm) // 2 * 2 :]
        pcm = pcm[: len(pcm) // 2 * 2]
        room = MOST_WAITING_BYTES - self._waiting_bytes
        if len(pcm) > room:
            if not self._dropping:
                log.warning("the ears are %d s behind; sound is dropped", MOST_WAITING_BYTES // _BYTES_A_MS // 1000)
            self._dropping = True
            pcm = pcm[:room]
        else:
            self._dropping = False
        for start in range(0, len(pcm), _PIECE_BYTES):
            self._waiting.append(pcm[start : start + _PIECE_BYTES])
        self._waiting_bytes += len(pcm)
        if self._waiting_bytes >= _LEAST_BYTES:
            self._more.set()

    def playing(self, pcm: bytes) -> None:
        """See the port."""
        self._played += pcm[: len(pcm) // 2 * 2]
        del self._played[:-_MOST_PLAYED_BYTES]

    def tune(self, tuning: Tuning | None) -> None:
        """See the port."""
        self._do(lambda: self._tune(tuning))

    def commit(self) -> None:
        """See the port."""
        self._do(self._commit)

    def clear(self) -> None:
        """See the port."""
        self._do(self._clear)

    async def __aiter__(self) -> AsyncIterator[Heard]:
        """See the port."""
        while (heard := await self._told.get()) is not None:
            yield heard

    async def close(self) -> None:
        """See the port."""
        if self._work.done():
            return
        self._work.cancel()
        await asyncio.wait({self._work})

    @property
    def waiting_bytes(self) -> int:
        """Of sound that was given and not heard yet."""
        return self._waiting_bytes

    def when_heard(self, call: Callable[[], None]) -> None:
        """Call it when all sound that was given so far is heard."""

        async def order() -> None:
            call()

        self._do(order)

    def _do(self, order: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self._waiting.append(order)
        self._more.set()

    async def _listen(self) -> None:
        while True:
            await self._more.wait()
            self._more.clear()
            while self._waiting and (callable(self._waiting[-1]) or self._waiting_bytes >= _LEAST_BYTES):
                await self._next()

    def _ended(self, work: asyncio.Task[None]) -> None:
        if not work.cancelled() and (error := work.exception()) is not None:
            log.error("the ears of a session broke", exc_info=error)
        self._end_turn()
        self._senses.close()
        self._leave()
        self._told.put_nowait(None)

    async def _next(self) -> None:
        """One order, or a piece of sound, joined from what came in small ones."""
        heard = bytearray()
        while self._waiting and len(heard) < _LEAST_BYTES:
            if callable(first := self._waiting[0]):
                break
            self._waiting.popleft()
            heard += first
        if heard:
            self._waiting_bytes -= len(heard)
            await self._sound(bytes(heard))
        elif callable(order := self._waiting.popleft()):
            await order()

    async def _sound(self, heard: bytes) -> None:
        played = bytes(self._played)
        self._played.clear()
        try:
            windows = await self._senses.windows(heard, played)
        except ModelError:
            log.warning("%d ms of sound were not heard", len(heard) // _BYTES_A_MS)
            self._now_ms += len(heard) // _BYTES_A_MS
            self._fail()
            return
        for window in windows:
            self._now_ms += WINDOW_MS
            if self._tuning is None:
                self._by_hand(window)
            else:
                await self._window(window)

    async def _window(self, window: Window) -> None:
        if self._turn is not None and self._endpointer.undecided:
            likelihood = await self._turn.likelihood()
            if self._endpointer.judge(likelihood) is Told.ENDED:
                await self._finish(self._turn)
        told = self._endpointer.hear(0.0 if window.echo else window.probability)
        self._keep(window)
        if told is Told.STARTED:
            self._start()
        elif self._turn is None:
            return
        elif told is Told.LOOK:
            self._turn.look()
        elif told is Told.RESUMED:
            self._turn.go_on()
        elif told is Told.ENDED:
            await self._finish(self._turn)
        elif self._endpointer.silence_ms == 0:
            self._turn.guess()

    def _keep(self, window: Window) -> None:
        if self._turn is not None:
            self._turn.add(window)
            return
        self._before.append(window)
        padding_ms = self._tuning.prefix_padding_ms if self._tuning else 0
        while (len(self._before) - 1) * WINDOW_MS >= padding_ms + _ONSET_MS:
            self._before.popleft()

    def _start(self) -> None:
        # What is kept is the padding and the windows in which the speech proved to be speech.
        start_ms = self._now_ms - len(self._before) * WINDOW_MS
        self._turn = Turn(self._senses, start_ms, self._tell)
        for window in self._before:
            self._turn.add(window)
        self._before.clear()
        self._tell(SpeechStarted(start_ms))

    def _by_hand(self, window: Window) -> None:
        if self._turn is None:
            self._turn = Turn(self._senses, self._now_ms - WINDOW_MS, self._tell)
        if self._turn.length_ms < _MOST_BY_HAND_MS:
            self._turn.add(window)
            self._turn.guess()

    async def _tune(self, tuning: Tuning | None) -> None:
        if tuning == self._tuning:
            return
        if self._turn is not None and self._tuning is not None:
            self._tell(Dismissed(self._now_ms, "noise"))
        self._end_turn()
        self._tuning = tuning
        self._endpointer = Endpointer(tuning or Tuning(), self._now_ms)

    async def _commit(self) -> None:
        if self._turn is None:
            self._tell(Dismissed(self._now_ms, "noise"))
        else:
            await self._finish(self._turn, by_hand=True)

    async def _clear(self) -> None:
        if self._turn is not None and self._tuning is not None:
            self._tell(Dismissed(self._now_ms, "noise"))
        self._end_turn()
        self._before.clear()

    async def _finish(self, turn: Turn, *, by_hand: bool = False) -> None:
        if by_hand:
            self._tell(await turn.outcome_by_hand(self._now_ms))
        else:
            self._tell(await turn.outcome(self._endpointer.end_ms))
        self._end_turn()

    def _fail(self) -> None:
        if self._turn is not None and self._tuning is not None:
            self._tell(Failed(self._now_ms))
        self._end_turn()
        self._endpointer = Endpointer(self._tuning or Tuning(), self._now_ms)

    def _end_turn(self) -> None:
        if self._turn is not None:
            self._turn.close()
        self._turn = None
        self._endpointer.end()

    def _tell(self, heard: Heard) -> None:
        if self._told.qsize() >= _MOST_UNREAD:
            return  # Whoever does not read loses what is new; their session is closed for it elsewhere.
        self._told.put_nowait(heard)
