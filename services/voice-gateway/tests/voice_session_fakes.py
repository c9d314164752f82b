"""A session without a transport, and an agent without a network, for tests that look at events alone."""

from __future__ import annotations

import asyncio
import datetime as dt
import json
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID, uuid4

from voice_wire import check

from contracts.frames import AnyFrame, Delta, Done
from contracts.search import Filter
from contracts.turns import CancelRequested, TurnAccepted
from voice_gateway.agent import EVERYWHERE
from voice_gateway.calls import Calls
from voice_gateway.credentials import Grant
from voice_gateway.ears.port import Ears
from voice_gateway.errors import AnswerFailed
from voice_gateway.opening import Senses
from voice_gateway.scripted import ScriptedEars, ScriptedMouth, tone
from voice_gateway.session import Around, Session
from voice_gateway.settings import Settings

WHOLE: tuple[AnyFrame, ...] = (
    Delta(text="The code "),
    Delta(text="is ORCHID-47 [1]."),
    Done(answer="The code is ORCHID-47 [1].", sources=()),
)


@dataclass
class HandAgent:
    """Answers with ``frames``; an answer without its last stays open, and ``hold`` keeps a question on its way."""

    frames: Sequence[AnyFrame] = WHOLE
    failure: AnswerFailed | None = None
    hold: asyncio.Event | None = None
    asked: list[str] = field(default_factory=list[str])
    within: list[Filter] = field(default_factory=list[Filter])
    since: list[dt.datetime | None] = field(default_factory=list[dt.datetime | None])
    turns: list[UUID] = field(default_factory=list[UUID])
    withdrawn: list[UUID] = field(default_factory=list[UUID])
    how: list[CancelRequested] = field(default_factory=list[CancelRequested])
    reported: list[tuple[UUID, int]] = field(default_factory=list[tuple[UUID, int]])
    guessed: list[str] = field(default_factory=list[str])
    guess: str | None = None
    following: int = 0
    tasks: set[asyncio.Task[Any]] = field(default_factory=set[asyncio.Task[Any]])

    def ask(
        self, chat_id: UUID, question: str, within: Filter = EVERYWHERE, since: dt.datetime | None = None
    ) -> asyncio.Task[TurnAccepted]:
        """Take the question."""
        self.within.append(within)
        self.since.append(since)
        return self._keep(asyncio.create_task(self._ask(chat_id, question)))

    def withdraw(self, asking: asyncio.Task[TurnAccepted], how: CancelRequested) -> None:
        """Note which turn was stopped, and how."""
        self.how.append(how)
        self._keep(asyncio.create_task(self._withdraw(asking)))

    def heard(self, turn_id: UUID, characters: int) -> None:
        """Note how much was heard."""
        self.reported.append((turn_id, characters))

    async def prefetch(self, chat_id: UUID, question: str) -> str | None:
        """Note the guess."""
        self.guessed.append(question)
        return self.guess

    async def follow(self, turn_id: UUID) -> AsyncGenerator[AnyFrame]:
        """Play the frames."""
        self.following += 1
        try:
            for frame in self.frames:
                yield frame
            if not isinstance(self.frames[-1] if self.frames else None, Done):
                await asyncio.Event().wait()
        finally:
            self.following -= 1

    async def _ask(self, chat_id: UUID, question: str) -> TurnAccepted:
        self.asked.append(question)
        if self.hold is not None:
            await self.hold.wait()
        if self.failure is not None:
            raise self.failure
        self.turns.append(uuid4())
        return TurnAccepted(turn_id=self.turns[-1], chat_id=chat_id, trace_id="0" * 31 + "1")

    async def _withdraw(self, asking: asyncio.Task[TurnAccepted]) -> None:
        self.withdrawn.append((await asking).turn_id)

    def _keep(self, task: asyncio.Task[Any]) -> asyncio.Task[Any]:
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)
        return task


class Client:
    """The other end of a session: what it says goes in, what it hears is checked against the provider's types."""

    def __init__(
        self,
        agent: HandAgent | None = None,
        senses: Senses | None = None,
        *,
        sound_in_events: bool = False,
        **changed: Any,
    ) -> None:
        self.agent = agent or HandAgent()
        self.settings = Settings(**changed)
        self.calls = Calls()
        around = Around(self.settings, self.agent, self.calls, senses)
        self.grant = grant = Grant("sess_0123456789", uuid4(), around.means.first())
        self.session = Session(grant, around, sound_in_events=sound_in_events)
        self._heard = self.session.outbox.__aiter__()

    async def say(self, kind: str, **fields: object) -> None:
        """Send an event."""
        await self.session.receive(json.dumps({"type": kind, **fields}))

    async def hear(self) -> dict[str, Any]:
        """The next event."""
        async with asyncio.timeout(5):
            event: dict[str, Any] = json.loads(await anext(self._heard))
        check(event)
        return event

    async def hear_until(self, kind: str) -> list[dict[str, Any]]:
        """The events up to the next one of this kind."""
        events: list[dict[str, Any]] = []
        while not events or events[-1]["type"] != kind:
            events.append(await self.hear())
        return events

    async def hear_all(self) -> list[dict[str, Any]]:
        """The events until nothing more comes by itself."""
        events: list[dict[str, Any]] = []
        for _ in range(200):
            await asyncio.sleep(0)
            while self.session.outbox.unread:
                events.append(await self.hear())
        return events

    async def put_question(self, text: str = "What is the code?", **fields: object) -> None:
        """Add a question to the conversation."""
        item = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}], **fields}
        await self.say("conversation.item.create", item=item)

    async def error(self) -> dict[str, Any]:
        """The ``error`` of the next event, which is one."""
        return (await self.hear_until("error"))[-1]["error"]


SILENCE_MS = b"\0" * 48


class Caller(Client):
    """A client that speaks and listens: its sound is taken from the playout by hand, a frame for every 20 ms."""

    def __init__(
        self,
        *script: str,
        agent: HandAgent | None = None,
        mouth: ScriptedMouth | None = None,
        ears: Ears | None = None,
        **changed: Any,
    ) -> None:
        self.mouth = ScriptedMouth() if mouth is None else mouth
        self.ears = ScriptedEars(script or ("What is the code?",)) if ears is None else ears
        super().__init__(agent, Senses(self.ears, self.mouth), **changed)

    def remember(self) -> None:
        """Be a call that the gateway opened, so that its traces are kept."""
        self.calls.open(self.grant.call_id, self.grant.chat_id, None)

    async def turns(self, **turn_detection: object) -> None:
        """Set how turns are found; nothing: by hand."""
        turns = {"type": "server_vad", **turn_detection} if turn_detection else None
        await self.say("session.update", session={"type": "realtime", "audio": {"input": {"turn_detection": turns}}})
        await self.hear_until("session.updated")

    async def as_page(self) -> None:
        """Listen as the page does: it asks, speaks and interrupts by itself."""
        await self.turns(create_response=False, interrupt_response=False)

    def utter(self, speech_ms: int = 300, pause_ms: int = 600) -> None:
        """Say something aloud, and be silent after it."""
        self.session.hear(tone(speech_ms) + SILENCE_MS * pause_ms)

    async def read_aloud(self, text: str, *, phrase_id: str = "1:0", **metadata: str) -> None:
        """Ask for a phrase to be spoken as it stands, as the page does."""
        message = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}
        wanted = {"conversation": "none", "output_modalities": ["audio"], "tools": [], "input": [message]}
        await self.say("response.create", response={**wanted, "metadata": {"phrase_id": phrase_id, **metadata}})

    def play(self, ms: int) -> bytes:
        """Let so much time pass in the loudspeaker; gives what it played, silence left out."""
        frames = [self.session.playout.take() for _ in range(ms // 20)]
        return b"".join(frame.pcm for frame in frames if frame)

    async def play_out(self) -> bytes:
        """Play until everything was said; gives its sound."""
        played = b""
        async with asyncio.timeout(5):
            while self.session.busy:
                played += self.play(20)
                await asyncio.sleep(0)
        return played


def kinds(events: Sequence[dict[str, Any]]) -> list[str]:
    """What the events are."""
    return [event["type"] for event in events]
