"""The turns of a live session: their numbers, their hooks, and the lines that they leave (L5, L6)."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Sequence
from uuid import UUID

from voice_gateway.live.events import InputTranscript, OutputTranscript, RealtimeEvent, TurnComplete, TurnStarted
from voice_gateway.live.hooks import HookList
from voice_gateway.live.port import Line, TranscriptStore
from voice_gateway.live.transcripts import TranscriptLog

log = logging.getLogger(__name__)

STORE_S = 10.0


class Turns:
    """Opens and ends turns one after the other. ``spoken`` says that the person has heard something of the answer."""

    def __init__(
        self,
        hooks: HookList,
        tell: Callable[[RealtimeEvent], None],
        store: TranscriptStore | None = None,
        history: Sequence[Line] = (),
    ) -> None:
        self._hooks, self._tell, self._store = hooks, tell, store
        self._alone = asyncio.Lock()
        self._count = 0
        self._unstored: deque[tuple[int, Line]] = deque(maxlen=200)
        self._owed: int | None = None
        self._keeping: asyncio.Task[None] | None = None
        self.log = TranscriptLog(history)
        self.open = False
        self.spoken = False

    async def begin(self, turn_id: UUID | None = None, trace_id: str | None = None) -> None:
        """Open a turn where none is open; with an id tell of its place in the chat or its trace."""
        async with self._alone:
            if not self.open:
                self.open, self.spoken = True, False
                self._count += 1
                await self._hooks.start_turn(self._count)
            elif turn_id is None and trace_id is None:
                return
            self._tell(TurnStarted(turn=self._count, turn_id=turn_id, trace_id=trace_id))

    async def heard(self, event: InputTranscript) -> bool:
        """Words of the person; true when they are complete and not blank, and so belong to a turn."""
        if event.finished and self._owed is not None:
            turn, self._owed = self._owed, None
            if event.text.strip():
                self._to_store((turn, self.log.add_late(event.text.strip())))
            return False
        complete = event.finished and bool(event.text.strip())
        if complete:
            await self.begin()
        self.log.heard(event.text, finished=event.finished)
        return complete

    async def said(self, event: OutputTranscript) -> None:
        """Words of the agent."""
        await self.begin()
        self.spoken = self.spoken or bool(event.text.strip())
        self.log.said(event.text, finished=event.finished)

    async def complete(self) -> None:
        """The answer is whole."""
        if await self._end(interrupted=False):
            self._tell(TurnComplete(turn=self._count))

    async def interrupt(self, *, owed: bool = False) -> None:
        """The person spoke, or stopped the answer; ``owed``: the words of the question are still to come."""
        turn = self._count
        if await self._end(interrupted=True) and owed:
            self._owed = turn

    def lost(self) -> None:
        """The connection is gone, and with it whatever words it still owed."""
        self._owed = None
        self.log.forget_partials()

    async def close(self) -> None:
        """Wait until the last lines are stored, 10 s at most."""
        if self._keeping is not None:
            await asyncio.wait({self._keeping}, timeout=STORE_S)

    async def _end(self, *, interrupted: bool) -> bool:
        async with self._alone:
            if not self.open:
                return False
            self.open = False
            self._to_store(*((self._count, line) for line in self.log.end_turn(interrupted=interrupted)))
            await self._hooks.end_turn()
            return True

    def _to_store(self, *lines: tuple[int, Line]) -> None:
        self._unstored.extend(lines)
        if self._unstored and self._keeping is None:
            self._keeping = asyncio.create_task(self._keep())

    async def _keep(self) -> None:
        while self._unstored and self._store is not None:
            turn, line = self._unstored.popleft()
            try:
                async with asyncio.timeout(STORE_S):
                    await self._store.store(turn, line)
            except Exception as error:
                log.warning("a line of a call was not stored", extra={"role": line.role, "error": type(error).__name__})
        self._keeping = None
