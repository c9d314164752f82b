"""One session on the bridge: a client's frames go in, what it is told comes out, and its end is one of a few.

::

    client --frames--> Carrying.take --> input ---> LiveSession
    client <-- Downstream <------------- events <------'

    close             the input ends; what is being said is said, for DRAIN_S at most     1000
    the client left   everything ends                                                     --
    a fatal error     told, then                                                          1011
    the process stops what is being said may be said, for a while                         1001
"""

from __future__ import annotations

import asyncio
import logging

from voice_gateway.live.events import (
    Failure,
    Interrupted,
    RealtimeEvent,
    SpeechDismissed,
    SpeechStarted,
    SpeechStopped,
    TurnComplete,
    TurnStarted,
)
from voice_gateway.live.port import Activity
from voice_gateway.orchestrators.opening import Session
from voice_gateway.outbox import LAST_WORDS_S, NORMAL, Close
from voice_gateway.responding import Ending
from voice_gateway.transports.bridge import messages
from voice_gateway.transports.bridge.messages import (
    INPUT_RATE,
    MAX_FRAME_BYTES,
    BadMessage,
    End,
    Interrupt,
    Played,
    Text,
    error,
)
from voice_gateway.transports.bridge.sending import Downstream

log = logging.getLogger(__name__)

DRAIN_S = 30.0
INTERNAL = 1011
CODES = {"invalid_config": 1008, "too_many_sessions": 1013}
"""Of what only opening the session finds out."""
FULL = "Too much waits to be answered here, and this was not taken; wait a moment and send it again."
FAILED = "Something unexpected went wrong here; connect again."


class Carrying:
    """What one client and its session say to each other."""

    def __init__(self, down: Downstream, drain_s: float = DRAIN_S) -> None:
        self.down = down
        self._drain_s = drain_s
        self._session: Session | None = None
        self._by_hand = self._gives_way = self._pressed = False
        self._open_turns: set[int] = set()
        self._why = NORMAL
        self._deadline: float | None = None
        self._ending: asyncio.Task[None] | None = None
        self._half = b""

    @property
    def busy(self) -> bool:
        """Whether an answer is being made or said."""
        return bool(self._open_turns) or self.down.speaking

    def begin(self, session: Session, *, by_hand: bool, gives_way: bool) -> None:
        """From now on the client's frames go to ``session``.

        ``by_hand``: turns are marked by the client. ``gives_way``: the session itself holds its voice for such a turn.
        """
        self._session, self._by_hand, self._gives_way = session, by_hand, gives_way

    async def tell(self) -> None:
        """Tell the client what the session tells, until it is over."""
        assert self._session is not None
        try:
            async for event in self._session.events():
                self._note(event)
                self.down.put(event)
                if isinstance(event, Failure) and event.fatal:
                    self.down.silence()
                    self.down.close(Close(CODES.get(event.code, INTERNAL), event.message))
                    return
        except Exception:
            log.exception("a live session failed unforeseen")
            self.down.put(error("internal", FAILED, fatal=True))
            self.down.close(Close(INTERNAL, FAILED))
            return
        self.down.close(self._why)

    async def take(self, frame: str | bytes) -> None:
        """Do what a frame of the client says; whatever it is, the session goes on."""
        if self._session is None or self._deadline is not None:
            return
        size = len(frame) if isinstance(frame, bytes) else len(frame.encode("utf-8", "surrogatepass"))
        if size > MAX_FRAME_BYTES:
            self._mistake("frame_too_large", f"A frame has at most {MAX_FRAME_BYTES:,} bytes, and this has {size:,}.")
        elif isinstance(frame, bytes):
            self._hear(frame)
        else:
            try:
                await self._do(messages.read(frame), self._session)
            except BadMessage as wrong:
                self._mistake(wrong.code, wrong.message)

    def patience_s(self) -> float:
        """How long what is still to be sent may take, now that the end is known."""
        left = self._drain_s if self._deadline is None else self._deadline - asyncio.get_running_loop().time()
        return max(left, LAST_WORDS_S) if self.down.speaking else LAST_WORDS_S

    async def leave(self, why: Close = NORMAL, *, answer: Ending = "left", patience_s: float = 0.0) -> None:
        """End it: what is being said may take ``patience_s`` more."""
        self._why = why
        if patience_s and self.busy:
            await self._drain(patience_s)
        else:
            self.down.silence()
            self.down.close(why)

    async def close(self) -> None:
        """Nothing of it is left."""
        if self._ending is not None:
            self._ending.cancel()
            await asyncio.wait({self._ending})

    async def _do(self, said: messages.Said, session: Session) -> None:
        match said:
            case Text():
                if self.down.speaking:
                    await self._silence(session)
                self._took(session, session.queue.send_text(said.text))
            case Interrupt():
                await self._silence(session, said.played_ms)
            case Played():
                self.down.told(said.response_id, said.ms)
            case End():
                self._ending = asyncio.create_task(self._drain(self._drain_s))
            case _:
                await self._activity(said.type, session)

    async def _silence(self, session: Session, played_ms: int | None = None) -> None:
        """Nothing more is said of the answer: the client is told at once, the session what was heard of it."""
        heard_ms = self.down.played_ms() if played_ms is None else played_ms
        self.down.hush()
        self.down.put(Interrupted())
        await session.interrupt(heard_ms)

    async def _activity(self, name: str, session: Session) -> None:
        if not self._by_hand:
            raise BadMessage(
                "not_by_hand", "This session finds turns itself; open it with `vad.enabled` off to mark them."
            )
        kind: Activity = "start" if name == "activity_start" else "end" if name == "activity_end" else "cancel"
        self._pressed = kind == "start"
        if not self._gives_way:
            await self._give_way(kind, session)
        self._took(session, session.queue.send_activity(kind))

    async def _give_way(self, kind: Activity, session: Session) -> None:
        """What is being said waits while the person holds the key, and ends when they have said something."""
        if kind == "start":
            self.down.put(SpeechStarted())
            return
        self.down.put(SpeechStopped())
        if kind == "cancel":
            self.down.put(SpeechDismissed())
        elif self.busy:
            await self._silence(session)

    def _hear(self, pcm: bytes) -> None:
        assert self._session is not None
        pcm = self._half + pcm
        whole = len(pcm) - len(pcm) % 2
        self._half = pcm[whole:]
        if whole:
            self._session.queue.send_audio(pcm[:whole], INPUT_RATE)

    def _took(self, session: Session, took: bool) -> None:
        if not took and not session.queue.closed:
            self._mistake("input_full", FULL)

    def _mistake(self, code: str, message: str) -> None:
        self.down.put(error(code, message))

    def _note(self, event: RealtimeEvent) -> None:
        match event:
            case TurnStarted():
                self._open_turns.add(event.turn)
            case TurnComplete():
                self._open_turns.discard(event.turn)
            case Interrupted():
                self._open_turns.clear()
            case _:
                pass

    async def _let_go(self, session: Session) -> None:
        """Nobody holds the answer any longer; what our own ears have heard by now is theirs to decide."""
        if self._pressed:
            await self._activity("activity_cancel", session)
        elif self.down.held and not self._gives_way:
            self.down.put(SpeechDismissed())

    async def _drain(self, seconds: float) -> None:
        """Take nothing more, and let what is being said come to its end."""
        self._deadline = asyncio.get_running_loop().time() + seconds
        if self._session is not None:
            await self._let_go(self._session)
            self._session.queue.close()
        try:
            async with asyncio.timeout(seconds):
                await self.down.over.wait()
        except TimeoutError:
            self.down.silence()
            self.down.close(self._why)
