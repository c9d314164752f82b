"""What a new connection is told, so that the conversation goes on as if it had been there all along (L3)."""

from __future__ import annotations

from itertools import count

from voice_gateway.live.input_queue import Activity
from voice_gateway.live.port import RealtimeClient
from voice_gateway.live.transcripts import lines_of
from voice_gateway.live.turns import Turns
from voice_gateway.live.unheard import Unheard

GO_ON = (
    "(The connection broke while you were speaking. What you said so far was heard."
    " Go on from exactly there, without repeating any of it and without mentioning this.)"
)
MAX_LOSSES = 5
"""How many connections may be lost in a row over the same words of an answer."""
BROKEN = (
    "(The connection broke in the middle of a turn, and this may be new to you. The person had asked: {question}\n"
    "You had said so far, and it was heard: {answer}\n"
    "Go on from exactly there, without repeating any of it and without mentioning this.)"
)
HANDED = "(The conversation has just been handed to you. Go on with it.)"


class Seeding:
    """Keeps the handle by which the session can be resumed, and tells a new connection what it does not know.

    An utterance that was not understood is said again as sound. A question without an answer is asked again in writing.
    An answer that was cut is gone on with, its beginning told.
    """

    def __init__(self, client: RealtimeClient, turns: Turns, unheard: Unheard, handle: str | None) -> None:
        self._client, self._turns, self._unheard = client, turns, unheard
        self._order = count()
        self._called_at = -1
        self._handle_at = -1
        self._place: tuple[str, str] | None = None
        self._losses = 0
        self.handle = handle
        self.handed: bool | None = None

    def update(self, handle: str | None) -> None:
        """The provider gave a handle, or took the last one back."""
        self.handle, self._handle_at = handle, next(self._order)

    def called(self) -> None:
        """The provider asked for a tool."""
        self._called_at = next(self._order)

    @property
    def knows_calls(self) -> bool:
        """Whether a session resumed by the handle knows the calls that are at work."""
        return self.handle is not None and self._handle_at > self._called_at

    def hand_over(self, *, shares_context: bool) -> None:
        """The next connection is another agent's."""
        self.handle, self.handed = None, shares_context
        if not shares_context:
            self._turns.log.forget(in_turn=self._turns.open)

    def lost(self) -> None:
        """The connection is gone; how often it goes at the same place of the same turn is counted."""
        log = self._turns.log
        place = (log.question, log.answer) if self._turns.open else None
        self._losses = self._losses + 1 if place is not None and place == self._place else 1
        self._place = place

    @property
    def cut(self) -> bool:
        """Whether an answer is to be given up: nobody can go on with it, or connections break whenever it is asked for.

        Nobody can go on with an answer of which nothing is known in words.
        """
        if self._turns.open and self._losses > MAX_LOSSES:
            return True
        turns = self._turns
        return self.handed is None and turns.open and turns.spoken and not turns.log.answer and not self._unheard.frames

    def _rest(self, *, resumed: bool) -> str:
        """What asks for the rest of an answer; a resumed session is as old as its handle, and may know of none."""
        log = self._turns.log
        return BROKEN.format(question=log.question, answer=log.answer) if resumed else GO_ON

    async def seed(self, *, resumed: bool, waiting: bool) -> None:
        """Tell the connection that was just opened; ``waiting``: it still waits for tools that it called."""
        turns, log = self._turns, self._turns.log
        handed = self.handed
        lines, said = list(log.known) if handed is not False else [], ""
        frames = self._unheard.frames
        if turns.open and handed is not None:
            said = (log.question if handed else "") or HANDED
        elif turns.open and not waiting:
            if turns.spoken or frames:
                lines += lines_of(log.question, log.answer)
            if not frames:
                said = self._rest(resumed=resumed) if turns.spoken else log.question
        if lines and not resumed:
            await self._client.reseed(lines)
        for frame in frames:
            if isinstance(frame, Activity):
                await self._client.send_activity(frame.kind)
            else:
                await self._client.send_audio(frame.pcm)
        if said:
            await self._client.send_text(said)
        self.handed = None
