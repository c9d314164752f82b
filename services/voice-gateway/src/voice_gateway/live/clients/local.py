"""A live session on this machine: our own ears, a cascade of text agents, our own mouth (L1, O1).

::

    sound --> ears --> SpeechStarted           hold
                   --> Words                   InputTranscript, in parts
                   --> noise, echo, "mhm"      SpeechDismissed, and it goes on where it was held
                   --> Utterance               Interrupted, if anything was being said; InputTranscript, whole
                                                  `--> cascade.process_turn --chunks--> Aloud --> AudioDelta
    text -----------------------------------------'

The ears decide: what may be speech only holds the voice. Sound that stops coming ends it as silence would. By hand
(``vad.enabled`` off) an utterance is what lies between ``start`` and ``end``. Who says "stop" wants silence and no
answer. A turn ends when the last of its sound is on its way.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Literal
from uuid import UUID

from chassis import telemetry
from contracts.vocabulary import JsonObject
from voice_gateway.ears.port import Dismissed, Failed, Heard, Listener, SpeechStarted, Utterance, Words
from voice_gateway.errors import Refused
from voice_gateway.live.clients.aloud import Aloud
from voice_gateway.live.clients.answering import Answer
from voice_gateway.live.clients.lost_sound import LostSound
from voice_gateway.live.clients.silence import asks_for_silence
from voice_gateway.live.clients.tuning import tuned
from voice_gateway.live.config import RealtimeConfig
from voice_gateway.live.errors import InvalidConfig, SessionRefused
from voice_gateway.live.events import (
    Failure,
    InputTranscript,
    Interrupted,
    RealtimeEvent,
    SpeechDismissed,
    SpeechStopped,
)
from voice_gateway.live.events import SpeechStarted as Began
from voice_gateway.live.port import Activity, Capabilities, Line, ToolSpec
from voice_gateway.mouth.port import Manner
from voice_gateway.opening import Senses
from voice_gateway.orchestrators.port import Cascade, Context

log = logging.getLogger(__name__)

AGAIN_S = 1.0
"""Ears that were lost are asked for again so often at most."""
MOST_LINES = 200
NOT_UNDERSTOOD = Failure(code="not_understood", message="What was said could not be made out; say it again.")


class LocalClient:
    """See :class:`~voice_gateway.live.port.RealtimeClient`; ``played_ms`` of a response were really heard."""

    capabilities = Capabilities("local", 24_000, 24_000, changes_agent=True, changes_voice=True, orchestrates=True)

    def __init__(
        self, senses: Senses, cascade: Cascade, chat_id: UUID, *, played_ms: Callable[[], int | None] = lambda: None
    ) -> None:
        self._senses, self._cascade, self._chat_id, self._played_ms = senses, cascade, chat_id, played_ms
        self._config = RealtimeConfig()
        self._told: asyncio.Queue[tuple[RealtimeEvent, Answer | None] | None] = asyncio.Queue()
        self._lines: list[Line] = []
        self._listener: Listener | None = None
        self._hearing: asyncio.Task[None] | None = None
        self._again_at = 0.0
        self._lost_sound = LostSound(self._no_more_sound)
        self._aloud: Aloud | None = None
        self._answer: Answer | None = None
        self._shown = ""
        self._pressed = False
        self._session: str | None = None

    async def connect(self, config: RealtimeConfig, tools: Sequence[ToolSpec], resume_handle: str | None) -> None:
        """Take a place at the ears; tools are the cascade's own."""
        self._manner(config.voice)
        self._config, self._session = config, telemetry.inject()
        self._told = asyncio.Queue()
        try:
            self._listen()
        except Refused as refused:
            raise SessionRefused(refused.code, refused.message) from refused
        self._aloud = Aloud(self._senses.mouth, lambda event: self._tell(event, self._answer), self._playing)

    async def update(self, config: RealtimeConfig, tools: Sequence[ToolSpec]) -> None:
        """From now on the session is so."""
        self._manner(config.voice)
        self._config = config
        if self._listener is not None:
            self._listener.tune(tuned(config.vad))

    async def send_audio(self, pcm: bytes) -> None:
        """Hear the next sound."""
        if not self._config.vad.enabled and not self._pressed:
            return
        self._lost_sound.came()
        if self._listener is None:
            now = asyncio.get_running_loop().time()
            if now < self._again_at:
                return
            self._again_at = now + AGAIN_S
            with contextlib.suppress(Refused):
                self._listen()
        if self._listener is not None:
            self._listener.hear(pcm)

    async def send_text(self, text: str) -> None:
        """Answer what was written; what is being said gives way."""
        await self._stop(played_ms=self._played_ms(), tell=True)
        self._begin(text)

    async def send_image(self, data: bytes, mime_type: str) -> None:
        """There is nobody here to look at it."""
        raise InvalidConfig("Pictures are not looked at here.")

    async def send_activity(self, kind: Activity) -> None:
        """What is heard between ``start`` and ``end`` is an utterance."""
        match kind:
            case "start" if not self._pressed:
                self._pressed = True
                if self._listener is not None:
                    self._listener.clear()
                self._hold()
            case "end" if self._pressed:
                self._pressed = False
                if self._listener is not None:
                    self._listener.commit()
                else:
                    self._go_on()
                    self._tell(NOT_UNDERSTOOD)
            case "cancel" if self._pressed:
                self._pressed = False
                if self._listener is not None:
                    self._listener.clear()
                self._go_on()
            case _:
                pass

    async def send_tool_result(self, call_id: str, name: str, result: JsonObject) -> None:
        """The cascade calls its tools itself."""

    async def respond(self) -> None:
        """The cascade goes on by itself."""

    async def interrupt(self, played_ms: int | None = None) -> None:
        """Be silent; the turn ends where it was heard."""
        if self._answer is not None:
            self._answer.withdraw()
        await self._stop(self._played_ms() if played_ms is None else played_ms, tell=False)

    async def reseed(self, lines: Sequence[Line]) -> None:
        """Remember what was said before."""
        self._lines = [*lines][-MOST_LINES:]

    async def receive(self) -> AsyncIterator[RealtimeEvent]:
        """What happens, until it is closed."""
        told = self._told
        while (next_told := await told.get()) is not None:
            event, answer = next_told
            if answer is None or answer.shows(event):
                yield event

    async def close(self) -> None:
        """Give the place back, and end what is in work."""
        await self._stop(self._played_ms(), tell=False)
        self._lost_sound.over()
        if self._hearing is not None:
            self._hearing.cancel()
            await asyncio.wait({self._hearing})
            self._hearing = None
        await self._deaf()
        if self._aloud is not None:
            await self._aloud.close()
            self._aloud = None
        self._told.put_nowait(None)

    def _tell(self, event: RealtimeEvent, answer: Answer | None = None) -> None:
        if answer is not None:
            answer.told(event)
        self._told.put_nowait((event, answer))

    def _playing(self, pcm: bytes) -> None:
        if self._listener is not None:
            self._listener.playing(pcm)

    # Listening

    def _listen(self) -> None:
        listener = self._listener = self._senses.ears.listen(tuned(self._config.vad), self._config.vocabulary)
        self._hearing = asyncio.create_task(self._follow(listener))

    async def _deaf(self) -> None:
        if self._listener is not None:
            listener, self._listener = self._listener, None
            await listener.close()

    async def _follow(self, listener: Listener) -> None:
        try:
            async for heard in listener:
                await self._on(heard)
        except Exception:
            log.exception("the ears of a live session failed")
        # Closing the session cancels this task: who comes here has lost the ears. The next sound asks for others.
        await self._deaf()
        self._lost_sound.over()
        self._go_on()
        self._tell(NOT_UNDERSTOOD)

    def _no_more_sound(self) -> None:
        if self._listener is not None and self._config.vad.enabled:
            self._listener.commit()

    async def _on(self, heard: Heard) -> None:
        if isinstance(heard, Utterance | Dismissed | Failed):
            self._lost_sound.over()
        match heard:
            case SpeechStarted() if self._config.vad.enabled:
                self._lost_sound.began()
                self._hold()
            case Words() if heard.text.strip() and self._config.input_transcription:
                self._partial(heard.text)
            case Utterance() if not (heard.backchannel and self._busy and self._config.vad.enabled):
                self._tell(SpeechStopped())
                await self._stop(self._played_ms(), tell=True)
                if asks_for_silence(heard.text):
                    self._release()
                    self._tell(SpeechDismissed())
                    return
                if self._config.input_transcription:
                    self._tell(InputTranscript(text=heard.text, finished=True))
                self._begin(heard.text)
            case Utterance() | Dismissed():
                self._go_on()
            case Failed():
                self._go_on()
                self._tell(NOT_UNDERSTOOD)
            case _:
                pass

    def _hold(self) -> None:
        self._shown = ""
        if self._aloud is not None:
            self._aloud.hold()
        self._tell(Began())

    def _go_on(self) -> None:
        """It was no utterance."""
        self._release()
        self._tell(SpeechStopped())
        self._tell(SpeechDismissed())

    def _release(self) -> None:
        if self._aloud is not None:
            self._aloud.release()

    def _partial(self, text: str) -> None:
        """Tell what is new in the words so far; the whole transcript has the last word."""
        steady = text.rpartition(" ")[0]
        if steady.startswith(self._shown) and len(steady) > len(self._shown):
            self._tell(InputTranscript(text=steady[len(self._shown) :]))
            self._shown = steady

    # Answering

    @property
    def _busy(self) -> bool:
        return self._answer is not None and not self._answer.over

    def _begin(self, text: str) -> None:
        self._release()
        history = tuple(self._lines)
        self._remember("user", text)
        self._answer = Answer(
            self._cascade,
            Context(self._chat_id, text, history),
            self._tell,
            self._aloud if self._config.modality == "audio" else None,
            manner=self._spoken_by,
            complete=lambda written: self._remember("assistant", written),
            transcribes=self._config.output_transcription,
            session=self._session,
        )

    async def _stop(self, played_ms: int | None, *, tell: bool) -> None:
        """End the turn in work: the cascade is told what was heard of it before it is cancelled."""
        answer = self._answer
        if answer is None or answer.over:
            return
        self._answer = None
        heard = await answer.stop(played_ms, lambda: self._tell(Interrupted()) if tell else None)
        if heard:
            self._remember("assistant", heard)

    def _remember(self, role: Literal["user", "assistant"], text: str) -> None:
        self._lines = [*self._lines, Line(role, text)][-MOST_LINES:]

    def _spoken_by(self, voice: str | None) -> Manner:
        """Agents name the voices of any machine; one that this machine lacks is the session's."""
        return self._manner(voice if voice in self._senses.means.voices else self._config.voice)

    def _manner(self, voice: str | None) -> Manner:
        """How it is spoken; :class:`InvalidConfig` for a voice that there is not."""
        means = self._senses.means
        if voice is not None and voice not in means.voices:
            raise InvalidConfig(f"There is no voice `{voice[:64]}` here; there are: {', '.join(means.voices)}.")
        return Manner(voice or means.voices[0], means.speed)
