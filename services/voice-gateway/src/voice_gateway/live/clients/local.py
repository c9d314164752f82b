"""A live session on this machine: our own ears, a cascade of text agents, our own mouth (L1, O1).

::

    sound --> ears --> SpeechStarted           hold
                   --> Words                   InputTranscript, in parts
                   --> noise, echo, "mhm"      SpeechDismissed, and it goes on where it was held
                   --> Utterance               Interrupted, if anything was being said; InputTranscript, whole
                                                  `--> cascade.process_turn --chunks--> Aloud --> AudioDelta
    text -----------------------------------------'

The ears decide: what may be speech only holds the voice. By hand (``vad.enabled`` off) an utterance is what lies
between ``start`` and ``end``. Who says "stop" wants silence and no answer. A turn ends when the last of its sound is on
its way.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable, Sequence
from uuid import UUID

from chassis import conventions, telemetry
from contracts.vocabulary import JsonObject
from voice_gateway.conversation import new_id
from voice_gateway.ears.port import Dismissed, Failed, Heard, Listener, SpeechStarted, Utterance, Words
from voice_gateway.errors import AnswerFailed, Refused
from voice_gateway.live.clients.aloud import Aloud
from voice_gateway.live.clients.aloud import Utterance as Saying
from voice_gateway.live.clients.silence import asks_for_silence
from voice_gateway.live.clients.tuning import tuned
from voice_gateway.live.config import RealtimeConfig
from voice_gateway.live.errors import InvalidConfig, SessionRefused
from voice_gateway.live.events import (
    AgentChanged,
    Failure,
    InputTranscript,
    Interrupted,
    OutputTranscript,
    RealtimeEvent,
    ResponseEnded,
    ResponseStarted,
    SpeechDismissed,
    SpeechStopped,
    TurnStarted,
)
from voice_gateway.live.events import SpeechStarted as Began
from voice_gateway.live.port import Activity, Capabilities, Line, ToolSpec
from voice_gateway.mouth.port import Manner
from voice_gateway.opening import Senses
from voice_gateway.orchestrators.port import Cascade, Context

log = logging.getLogger(__name__)

CHUNKS_AHEAD = 3
"""So many chunks wait to be spoken; who writes faster waits."""
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
        self._told: asyncio.Queue[RealtimeEvent | None] = asyncio.Queue()
        self._lines: list[Line] = []
        self._listener: Listener | None = None
        self._hearing: asyncio.Task[None] | None = None
        self._again_at = 0.0
        self._aloud: Aloud | None = None
        self._turn: asyncio.Task[None] | None = None
        self._response = ""
        self._saying: Saying | None = None
        self._written = self._shown = ""
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
        self._aloud = Aloud(self._senses.mouth, self._tell, self._playing)

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
        await self._stop(self._played_ms() if played_ms is None else played_ms, tell=False)

    async def reseed(self, lines: Sequence[Line]) -> None:
        """Remember what was said before."""
        self._lines = [*lines][-MOST_LINES:]

    async def receive(self) -> AsyncIterator[RealtimeEvent]:
        """What happens, until it is closed."""
        told = self._told
        while (event := await told.get()) is not None:
            yield event

    async def close(self) -> None:
        """Give the place back, and end what is in work."""
        await self._stop(self._played_ms(), tell=False)
        if self._hearing is not None:
            self._hearing.cancel()
            await asyncio.wait({self._hearing})
            self._hearing = None
        await self._deaf()
        if self._aloud is not None:
            await self._aloud.close()
            self._aloud = None
        self._told.put_nowait(None)

    def _tell(self, event: RealtimeEvent) -> None:
        self._told.put_nowait(event)

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
        self._go_on()
        self._tell(NOT_UNDERSTOOD)

    async def _on(self, heard: Heard) -> None:
        match heard:
            case SpeechStarted() if self._config.vad.enabled:
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
        return self._turn is not None and not self._turn.done()

    def _begin(self, text: str) -> None:
        self._release()
        self._lines = [*self._lines, Line("user", text)][-MOST_LINES:]
        self._turn = asyncio.create_task(self._answer(text, tuple(self._lines[:-1])))

    async def _answer(self, text: str, history: tuple[Line, ...]) -> None:
        self._response, self._saying, self._written = new_id("resp"), None, ""
        attributes = {conventions.GEN_AI_CONVERSATION_ID: str(self._chat_id)}
        links = [self._session] if self._session else []
        with telemetry.span("voice turn", attributes, parent="", links=links) as current:
            if traceparent := telemetry.traceparent_of(current):
                self._tell(TurnStarted(turn=0, trace_id=traceparent.split("-")[1]))
            self._tell(ResponseStarted(response_id=self._response))
            try:
                await self._spoken_or_written(Context(self._chat_id, text, history))
                status = "completed"
            except AnswerFailed as error:
                telemetry.fail(current, error.failure)
                self._tell(Failure(code=error.failure, message=error.message))
                status = "failed"
            except Exception as error:
                log.exception("a turn of a live session failed unforeseen")
                telemetry.fail(current, type(error))
                self._tell(Failure(code="internal", message=AnswerFailed().message))
                status = "failed"
        if self._written:
            self._lines = [*self._lines, Line("assistant", self._written)][-MOST_LINES:]
            if self._config.output_transcription:
                self._tell(OutputTranscript(text=self._written, finished=True))
        self._tell(ResponseEnded(response_id=self._response, status=status))

    async def _spoken_or_written(self, context: Context) -> None:
        if self._config.modality == "text":
            await self._cascade.process_turn(context, self._write, self._tell)
            return
        assert self._aloud is not None
        saying = self._saying = self._aloud.begin(self._response)
        chunks: asyncio.Queue[tuple[str, Manner] | RealtimeEvent | None] = asyncio.Queue(CHUNKS_AHEAD)
        talking = asyncio.create_task(self._talk(saying, chunks, self._aloud))
        try:
            await self._written_and_talked(context, chunks, talking)
        finally:
            talking.cancel()
            await asyncio.wait({talking})

    async def _written_and_talked(
        self,
        context: Context,
        chunks: asyncio.Queue[tuple[str, Manner] | RealtimeEvent | None],
        talking: asyncio.Task[None],
    ) -> None:
        changes: list[RealtimeEvent] = []

        async def put(given: tuple[str, Manner] | RealtimeEvent | None) -> None:
            putting = asyncio.ensure_future(chunks.put(given))
            try:
                await asyncio.wait({putting, talking}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                putting.cancel()
            if talking.done():
                talking.result()

        async def speak(text: str, voice: str | None = None) -> None:
            while changes:
                await put(changes.pop(0))
            # Agents name the voices of any machine; one that this machine lacks is the session's.
            known = voice if voice in self._senses.means.voices else self._config.voice
            manner = self._manner(known)
            assert self._aloud is not None
            self._aloud.prepare(text, manner)
            self._written += (" " if self._written else "") + text
            await put((text, manner))

        def tell(event: RealtimeEvent) -> None:
            # Another agent has the floor from its first word on, and that may be heard later.
            changes.append(event) if isinstance(event, AgentChanged) else self._tell(event)

        failure: AnswerFailed | None = None
        try:
            await self._cascade.process_turn(context, speak, tell)
        except AnswerFailed as error:
            failure = error
            await speak(error.message)
        for change in changes:
            await put(change)
        await put(None)
        await talking
        if failure is not None:
            raise failure

    async def _talk(
        self, saying: Saying, chunks: asyncio.Queue[tuple[str, Manner] | RealtimeEvent | None], aloud: Aloud
    ) -> None:
        while (given := await chunks.get()) is not None:
            if isinstance(given, tuple):
                await aloud.say(saying, *given)
            else:
                aloud.mark(saying, given)
        await aloud.finish(saying)

    async def _write(self, text: str, voice: str | None = None) -> None:
        gap = " " if self._written else ""
        self._written += gap + text
        self._tell(OutputTranscript(text=gap + text))

    async def _stop(self, played_ms: int | None, *, tell: bool) -> None:
        """End the turn in work: the cascade is told what was heard of it before it is cancelled."""
        turn, self._turn = self._turn, None
        if turn is None or turn.done():
            return
        heard = self._written
        if self._saying is not None and self._aloud is not None:
            heard = self._aloud.cut(self._saying, played_ms)
        if tell:
            self._tell(Interrupted())
        self._cascade.heard(heard)
        turn.cancel()
        await asyncio.wait({turn})
        if heard:
            self._lines = [*self._lines, Line("assistant", heard)][-MOST_LINES:]
        self._tell(ResponseEnded(response_id=self._response, status="cancelled"))

    def _manner(self, voice: str | None) -> Manner:
        """How it is spoken; :class:`InvalidConfig` for a voice that there is not."""
        means = self._senses.means
        if voice is not None and voice not in means.voices:
            raise InvalidConfig(f"There is no voice `{voice[:64]}` here; there are: {', '.join(means.voices)}.")
        return Manner(voice or means.voices[0], means.speed)
