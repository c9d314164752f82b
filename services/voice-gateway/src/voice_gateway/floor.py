"""Who has the floor: the answers and readings of one session, and what a person's voice does to them (V6).

::

    speech began ------> hold: the playout stands where it is
    it was none -------> release: it plays on
    it was an utterance> interrupt: cancelled, cleared, and what was heard is kept   (interrupt_response)
                         or left to the client, which cancels and clears; released after a while if it does not

One answer is given in the conversation at a time; readings out of band wait for the voice behind each other.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

from voice_gateway.agent import Agent
from voice_gateway.conversation import Conversation
from voice_gateway.errors import EventError
from voice_gateway.playout import Playout, Speech
from voice_gateway.responding import Ending, Responding
from voice_gateway.responses import Emit

MAX_READINGS = 100
"""Readings that are in work or wait, of one session."""
UNDECIDED_S = 1.5
"""After the end of speech that nobody acted upon, what was being said goes on."""


class Floor:
    """The responses of a session, and the playout that they share."""

    def __init__(self, playout: Playout, conversation: Conversation, agent: Agent, emit: Emit) -> None:
        self._playout, self._conversation, self._agent, self._emit = playout, conversation, agent, emit
        self._answer: Responding | None = None
        self._readings: list[Responding] = []
        self._release: asyncio.TimerHandle | None = None

    @property
    def busy(self) -> bool:
        """Whether a response is being made."""
        return any(self._active())

    @property
    def speaking(self) -> bool:
        """Whether a response is being made, or played."""
        return self.busy or bool(self._playout.speeches)

    def check_answer(self) -> None:
        """Refuse a second answer in the conversation."""
        if self._answer is not None and not self._answer.done:
            raise EventError(
                "conversation_already_has_active_response",
                "An answer is being given; wait for its `response.done`, or send `response.cancel` first.",
            )

    def check_reading(self) -> None:
        """Refuse more readings than may wait."""
        if sum(not reading.done for reading in self._readings) >= MAX_READINGS:
            raise EventError(
                "too_many_responses",
                f"{MAX_READINGS} responses wait to be spoken already; wait for some to end, or cancel them.",
            )

    def give(self, responding: Responding) -> None:
        """This response is made from now on."""
        if responding.response.in_conversation:
            self._answer = responding
        else:
            self._readings = [*(reading for reading in self._readings if not reading.done), responding]

    def hold(self) -> bool:
        """Somebody speaks: say nothing for now; gives whether anything was being said."""
        self._forget_release()
        spoken_over = self._playout.speaking and not self._playout.held
        self._playout.hold()
        return spoken_over

    def release(self) -> None:
        """It was nothing: go on."""
        self._forget_release()
        self._playout.release()

    def release_later(self) -> None:
        """Go on after a while, if nothing else is decided until then; at once where nothing was being said."""
        self._forget_release()
        if not self.speaking:
            self._playout.release()
            return
        self._release = asyncio.get_running_loop().call_later(UNDECIDED_S, self.release)

    async def cancel(self, response_id: str | None) -> None:
        """The client wants no more of a response, by default the answer in the conversation."""
        for responding in self._active():
            if responding.response.id == response_id or (response_id is None and responding is self._answer):
                await responding.end("cancelled")
                if self._release is not None and not self.speaking:
                    self.release()
                return
        raise EventError("response_cancel_not_active", "No such response is active, so there is nothing to cancel.")

    async def clear(self) -> None:
        """The client wants silence: what is being spoken ends, and what waits to be played is forgotten."""
        await self._silence("cancelled", {speech.response_id for speech in self._playout.speeches})

    async def interrupt(self) -> None:
        """The person spoke: everything ends."""
        await self._silence("interrupted", {responding.response.id for responding in self._active()})

    async def end(self, why: Ending, patience_s: float = 0.0) -> None:
        """End everything as ``why`` says; it may take ``patience_s`` to end by itself first."""
        self._forget_release()
        active = list(self._active())
        if active and patience_s:
            await asyncio.wait([asyncio.ensure_future(one.wait()) for one in active], timeout=patience_s)
        for responding in active:
            await responding.end(why)

    async def _silence(self, why: Ending, responses: set[str]) -> None:
        speeches = self._playout.speeches
        making = [responding for responding in self._active() if responding.response.id in responses]
        for responding in making:
            await responding.end(why)
        self._playout.clear()
        self.release()
        told = {responding.response.id for responding in making}
        for speech in speeches:
            self._cut(speech, told=speech.response_id in told)

    def _cut(self, speech: Speech, *, told: bool) -> None:
        """Of a spoken item only the heard part stays; the agent hears of it, unless the turn's end ``told`` it."""
        item = self._conversation.find(speech.item_id)
        if item is None or item.said is None:
            return
        self._emit(item.truncate(speech.played_ms))
        if item.said.turn_id is not None and not told:
            self._agent.heard(item.said.turn_id, item.said.heard_of_answer())

    def _active(self) -> Iterator[Responding]:
        if self._answer is not None and not self._answer.done:
            yield self._answer
        yield from (reading for reading in self._readings if not reading.done)

    def _forget_release(self) -> None:
        if self._release is not None:
            self._release.cancel()
            self._release = None
