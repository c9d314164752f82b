"""One voice session, without a transport: a client's events and its sound go in, ours come out.

::

    events --> receive --> conversation            what was said
    sound ---> hear -----> listening --> floor     who speaks: holds, releases, interrupts
    events <-- outbox <--- responses <-- voice     how it is told
    sound <--- playout <-----------------'         what is really played

A session outlives every mistake: a wrong event gets an ``error`` event, a failed answer a ``response.done`` that says
so, and the next question works. Where there are no ears and no mouth, questions and answers are text alone.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from uuid import UUID

from chassis import conventions, telemetry
from contracts.turns import MAX_QUESTION_LENGTH
from contracts.vocabulary import JsonObject
from voice_gateway import protocol
from voice_gateway.agent import Agent
from voice_gateway.answering import Answering
from voice_gateway.calls import CALL_ID, Calls
from voice_gateway.conversation import Conversation, Item, item_of
from voice_gateway.credentials import Grant
from voice_gateway.errors import AnswerFailed, EventError, Refused
from voice_gateway.floor import Floor
from voice_gateway.foresight import Foresight
from voice_gateway.listening import Listening
from voice_gateway.opening import Senses
from voice_gateway.outbox import NORMAL, Close, Outbox
from voice_gateway.playout import Playout
from voice_gateway.protocol import ResponseWanted
from voice_gateway.reading import Reading, text_of
from voice_gateway.responding import Ending
from voice_gateway.responses import NO_TOKENS, Response
from voice_gateway.session_config import Means
from voice_gateway.settings import Settings
from voice_gateway.sound import decoded
from voice_gateway.speaking import Voice

log = logging.getLogger(__name__)

_AS_QUESTION = (
    "put a question into the conversation with `conversation.item.create`, and leave out `conversation` and `input`."
)
OUT_OF_BAND = (
    "A response out of band is speech: give it the modality `audio`, and its text as the one message of `input`; or "
    + _AS_QUESTION
)
OUT_OF_BAND_SILENT = "A response out of band is speech, and this voice is silent: " + _AS_QUESTION


@dataclass(frozen=True, slots=True)
class Around:
    """What every session of a process stands on; without ears and a mouth its voice is silent."""

    settings: Settings
    agent: Agent
    calls: Calls
    senses: Senses | None = None

    @property
    def means(self) -> Means:
        """What its sessions can do."""
        return self.senses.means if self.senses else Means()


@dataclass(slots=True)
class _Audible:
    """What an audible session has beside its text."""

    listening: Listening
    voice: Voice
    foresight: Foresight


class Session:
    """One connection's session, opened by ``grant``; the traces of its answers link to ``traceparent``.

    ``sound_in_events``: the client gets what is spoken as ``response.output_audio.delta``, not on a track of its own.
    """

    def __init__(
        self, grant: Grant, around: Around, traceparent: str | None = None, *, sound_in_events: bool = False
    ) -> None:
        self.grant = grant
        self.config = grant.config
        self.conversation = Conversation(around.settings.max_items)
        self.outbox = Outbox(grant.call_id.removeprefix("sess_"), around.settings.max_unread_bytes)
        self.playout = Playout(self.emit)
        self._around, self._traceparent, self._means = around, traceparent, around.means
        self._floor = Floor(self.playout, self.conversation, around.agent, self.emit)
        self._audible: _Audible | None = None
        if around.senses is not None:
            self._audible = self._listen_and_speak(around.senses, sound_in_events)
        self.emit({"type": "session.created", "session": self.config.wire()})

    def _listen_and_speak(self, senses: Senses, sound_in_events: bool) -> _Audible:
        listening = Listening(senses.ears, self.conversation, self.emit, self, lambda: self.config)
        listening.open()
        self.playout.on_taken = listening.playing
        foresight = Foresight(
            self._around.agent, senses.mouth, self.grant.chat_id, lambda: self._means.manner(self.config)
        )
        return _Audible(listening, Voice(senses.mouth, self.playout, paced=sound_in_events), foresight)

    @property
    def busy(self) -> bool:
        """Whether somebody speaks: a person, or an answer that is made or played."""
        return self._floor.speaking or (self._audible is not None and self._audible.listening.hears)

    def emit(self, event: JsonObject) -> None:
        """Tell the client."""
        self.outbox.put(event)

    async def receive(self, message: str | bytes) -> None:
        """Do what the client's event says; whatever it is, the session goes on."""
        await self.outbox.room()
        event_id: str | None = None
        try:
            self._refuse_large(message, self._largest)
            event = protocol.read(message, audible=self._audible is not None)
            event_id = event.event_id
            if not isinstance(event, (protocol.AudioAppend, protocol.ItemCreate)):
                self._refuse_large(message, self._around.settings.max_message_bytes)
            await self._do(event)
        except EventError as error:
            error.event_id = error.event_id or event_id
            self.emit(protocol.failure(error))
        except Refused as error:
            self.emit(protocol.failure(EventError(error.code, error.message, event_id=event_id)))
        except Exception:
            log.exception("an event of a client failed unforeseen")
            self.emit(protocol.fault(event_id))

    def hear(self, pcm: bytes) -> None:
        """The next sound of a client that sends it on a track: PCM, 16 bits little-endian, mono, 24 kHz."""
        if self._audible is not None:
            self._audible.listening.hear(pcm)

    async def leave(self, why: Close = NORMAL, *, answer: Ending = "left", patience_s: float = 0.0) -> None:
        """End the session: what is in work may take ``patience_s`` more, and then ends as ``answer`` says."""
        await self._floor.end(answer, patience_s)
        if self._audible is not None:
            await self._audible.listening.close()
            await self._audible.foresight.close()
        self.outbox.close(why)

    def began(self) -> None:
        """Somebody speaks."""
        self._floor.hold()

    def perhaps(self, text: str) -> None:
        """They may have asked this."""
        if self._audible is not None:
            self._audible.foresight.perhaps(text)

    def nothing(self) -> None:
        """It was nothing."""
        if self._audible is not None:
            self._audible.foresight.forget()
        self._floor.release()

    async def confirmed(self, item: Item) -> None:
        """They said this."""
        turns = self.config.audio.input.turn_detection if self.config.audio else None
        if turns is None:
            return
        if turns.interrupt_response:
            await self._floor.interrupt()
        else:
            self._floor.release_later()
        if turns.create_response:
            try:
                self._answer(ResponseWanted())
            except EventError as error:
                self.emit(protocol.failure(error))

    @property
    def _largest(self) -> int:
        settings = self._around.settings
        return settings.max_sound_message_bytes if self._audible else settings.max_message_bytes

    def _refuse_large(self, message: str | bytes, limit: int) -> None:
        size = len(message if isinstance(message, bytes) else message.encode("utf-8", "surrogatepass"))
        if size > limit:
            raise EventError("event_too_large", f"This event has at most {limit:,} bytes, and it has {size:,}.")

    async def _do(self, event: protocol.AnyClientEvent) -> None:
        match event:
            case protocol.SessionUpdate():
                self.config = self._means.updated(self.config, event.session, model=self.config.model)
                if self._audible is not None:
                    self._audible.listening.tune()
                self.emit({"type": "session.updated", "session": self.config.wire()})
            case protocol.ItemCreate():
                self._add(event)
            case protocol.ItemRetrieve():
                item = self.conversation.get(event.item_id)
                self.emit({"type": "conversation.item.retrieved", "item": item.wire()})
            case protocol.ItemDelete():
                self.conversation.remove(event.item_id)
                self.emit({"type": "conversation.item.deleted", "item_id": event.item_id})
            case protocol.ResponseCreate():
                self._respond(event.response or ResponseWanted())
            case protocol.ResponseCancel():
                await self._floor.cancel(event.response_id)
            case _:
                assert self._audible is not None, "events about sound were refused"
                await self._do_sound(event, self._audible.listening)

    async def _do_sound(self, event: protocol.AnyClientEvent, listening: Listening) -> None:
        match event:
            case protocol.AudioAppend():
                await listening.take(decoded(event.audio, "audio"))
            case protocol.AudioCommit():
                listening.commit()
            case protocol.AudioClear():
                listening.clear()
            case protocol.OutputClear():
                await self._floor.clear()
            case protocol.ItemTruncate():
                self._truncate(event)
            case _:
                raise AssertionError(event)

    def _add(self, event: protocol.ItemCreate) -> None:
        item, sounds = item_of(event.item, audible=self._audible is not None)
        before = self.conversation.add(item, event.previous_item_id)
        self.emit(protocol.item_event("added", item.wire(), before))
        self.emit(protocol.item_event("done", item.wire(), before))
        for dropped in self.conversation.drop_oldest():
            self.emit({"type": "conversation.item.deleted", "item_id": dropped})
        if sounds and self._audible is not None:
            self._audible.listening.transcribe(item, sounds)

    def _truncate(self, event: protocol.ItemTruncate) -> None:
        item = self.conversation.get(event.item_id)
        if item.said is None or event.content_index:
            raise EventError("invalid_value", "Only the sound of a spoken answer can be truncated.", param="item_id")
        if event.audio_end_ms > item.said.speech.duration_ms:
            raise EventError(
                "invalid_value",
                f"The sound of this item is {item.said.speech.duration_ms} ms long.",
                param="audio_end_ms",
            )
        if item.status == "in_progress":
            raise EventError(
                "item_in_progress", "This item is being spoken; cancel its response first.", param="item_id"
            )
        self.emit(item.truncate(event.audio_end_ms))
        if item.said.turn_id is not None:
            self._around.agent.heard(item.said.turn_id, item.said.heard_of_answer(event.audio_end_ms))

    def _respond(self, wanted: ResponseWanted) -> None:
        self._means.check_modalities(wanted.output_modalities, "response.output_modalities")
        spoken = "audio" in (wanted.output_modalities or self.config.output_modalities)
        if wanted.conversation == "none" and spoken and self._audible is not None:
            self._read(wanted, self._audible)
        elif wanted.conversation == "none" or wanted.input is not None:
            raise EventError(
                "not_supported",
                OUT_OF_BAND if self._audible else OUT_OF_BAND_SILENT,
                param="response.conversation" if wanted.conversation == "none" else "response.input",
            )
        else:
            self._answer(wanted)

    def _read(self, wanted: ResponseWanted, audible: _Audible) -> None:
        text = text_of(wanted)
        self._floor.check_reading()
        manner = self._means.manner(self.config, _voice(wanted))
        metadata = wanted.metadata or {}
        response = Response(None, self.emit, wanted.metadata, manner=manner, usage=NO_TOKENS)
        reading = Reading(response, text, audible.voice, manner, parent=metadata.get("traceparent"))
        self._floor.give(reading)
        reading.start({conventions.GEN_AI_CONVERSATION_ID: str(self.grant.chat_id)})
        if (turn_id := _turn(metadata)) is not None:
            audible.foresight.reads(turn_id, text)

    def _answer(self, wanted: ResponseWanted) -> None:
        self._floor.check_answer()
        spoken = "audio" in (wanted.output_modalities or self.config.output_modalities)
        manner = self._means.manner(self.config, _voice(wanted)) if spoken else None
        metadata = wanted.metadata or {}
        usage = NO_TOKENS if self._around.settings.chosen_answers in ("extractive", "scripted") else None
        answering = Answering(
            self._around.agent,
            Response(self.conversation, self.emit, wanted.metadata, manner=manner, usage=usage),
            chat_id=self.grant.chat_id,
            question=self._question(),
            limit_s=self._around.settings.answer_s,
            voice=self._audible.voice if self._audible else None,
            session=self._traceparent,
            parent=metadata.get("traceparent"),
            asked=lambda turn, traceparent: self._around.calls.turn(self.grant.call_id, turn, traceparent),
        )
        self._floor.give(answering)
        answering.start({conventions.GEN_AI_CONVERSATION_ID: str(self.grant.chat_id)})

    def _question(self) -> Callable[[], Awaitable[str]]:
        """The last item as a question, that is to be waited for while its words are made out."""
        item = self.conversation.last
        if item is None or item.role != "user":
            raise EventError(
                "no_question",
                "The last item is no question; add one with `conversation.item.create` and the role `user` first.",
            )
        if item.known is None or item.known.is_set():
            question = _checked(item.text)

            async def asked() -> str:
                return question

            return asked
        known = item.known

        async def made_out() -> str:
            await known.wait()
            try:
                return _checked(item.text)
            except EventError as error:
                raise AnswerFailed(error.message, failure=error.reason) from error

        return made_out


def _checked(text: str) -> str:
    question = text.strip()
    if not question:
        raise EventError("blank_question", "The question is blank; ask it in words.")
    if len(question) > MAX_QUESTION_LENGTH:
        raise EventError(
            "question_too_long",
            f"A question has at most {MAX_QUESTION_LENGTH:,} characters, and this one has {len(question):,}.",
        )
    return question


def _voice(wanted: ResponseWanted) -> object:
    return wanted.audio.output.voice if wanted.audio else None


def _turn(metadata: dict[str, str]) -> UUID | None:
    try:
        return UUID(metadata["turn_id"])
    except (KeyError, ValueError):
        return None


def session_span(grant: Grant) -> telemetry.span:
    """The span of a session, as long as its connection: in the trace of its credential, linked to the connection's."""
    attributes = {conventions.GEN_AI_CONVERSATION_ID: str(grant.chat_id), CALL_ID: grant.call_id}
    connection = telemetry.inject()
    return telemetry.span(
        "voice session", attributes, parent=grant.traceparent or "", links=[connection] if connection else []
    )
