"""The voice of one session: phrases of a response become sound in the playout, one response behind the other.

::

    phrase --> mouth.speak --> (text, pcm) ... --> response: transcript
                                               --> speech:   frames, and which characters they say
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from uuid import UUID

from voice_gateway.errors import MouthFailed
from voice_gateway.heard import Passage, Said
from voice_gateway.mouth.port import Manner, Mouth, Spoken
from voice_gateway.playout import Playout
from voice_gateway.responses import Response

PIECE_S = 25.0
"""A mouth that is silent for so long in the middle of a phrase has failed."""


@dataclass(slots=True)
class Speaker:
    """The voice, lent to one response."""

    response: Response
    said: Said
    _mouth: Mouth
    _manner: Manner
    _moment: Callable[[str], None]

    async def say(self, passage: Passage) -> None:
        """Speak the phrase; back as soon as all its sound waits to be played."""
        gap = " " if self.said.transcript else ""
        self.said.add(gap + passage.text, passage)
        async with contextlib.aclosing(self._mouth.speak(passage.text, self._manner)) as spoken:
            while (piece := await next_piece(spoken)) is not None:
                self._moment("first_sound_made")
                self.response.say(gap + piece.text)
                self.said.speech.add(piece.pcm, len(gap) + len(piece.text))
                gap = ""
                await self.said.speech.room()


class Voice:
    """Lends itself to one response at a time, in the order in which they ask.

    ``moment`` is told of what happens. ``paced``: the client gets the sound in events, so that a response is not over
    before its last frame is sent.
    """

    def __init__(self, mouth: Mouth, playout: Playout, moment: Callable[[str], None], *, paced: bool) -> None:
        self._mouth, self._playout, self._moment, self._paced = mouth, playout, moment, paced
        self._free = asyncio.Lock()

    @asynccontextmanager
    async def lent(self, response: Response, manner: Manner, turn_id: UUID | None = None) -> AsyncGenerator[Speaker]:
        """The voice, when it is free; what was spoken with it is played to its end, unless its use is broken off."""
        async with self._free:
            item = response.item
            speech = self._playout.open(response.id, item.id)
            item.said = Said(speech, turn_id)
            try:
                yield Speaker(response, item.said, self._mouth, manner, self._moment)
            except asyncio.CancelledError:
                # Events of a response end with it; on a track what waits is played until the buffer is cleared.
                if self._paced:
                    self._playout.clear(response.id)
                speech.end()
                raise
            except Exception:
                await self._deliver(item.said)
                raise
            await self._deliver(item.said)

    async def _deliver(self, said: Said) -> None:
        said.speech.end()
        if self._paced:
            try:
                await said.speech.delivered.wait()
            except asyncio.CancelledError:
                self._playout.clear(said.speech.response_id)
                raise


async def next_piece(spoken: AsyncGenerator[Spoken]) -> Spoken | None:
    """What comes next of a phrase, None at its end; :class:`MouthFailed` when nothing comes for too long."""
    try:
        async with asyncio.timeout(PIECE_S):
            return await anext(spoken, None)
    except TimeoutError as error:
        raise MouthFailed from error
