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

from chassis import conventions, telemetry
from contracts.vocabulary import JsonObject
from voice_gateway import protocol
from voice_gateway.around import Around
from voice_gateway.calls import CALL_ID
from voice_gateway.conversation import Conversation, item_of
from voice_gateway.credentials import Grant
from voice_gateway.errors import EventError, Refused
from voice_gateway.floor import Floor
from voice_gateway.listening import Listening
from voice_gateway.outbox import NORMAL, Close, Outbox
from voice_gateway.playout import Playout
from voice_gateway.protocol import ResponseWanted
from voice_gateway.replies import Replies
from voice_gateway.responding import Ending
from voice_gateway.sound import decoded

log = logging.getLogger(__name__)


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
        self._around, self._means = around, around.means
        self._floor = Floor(self.playout, self.conversation, around.agent, self.emit)
        self._replies = Replies(
            grant,
            around,
            self.conversation,
            self.playout,
            self._floor,
            self.emit,
            lambda: self.config,
            session=traceparent,
            sound_in_events=sound_in_events,
        )
        self._listening: Listening | None = None
        if around.senses is not None:
            self._listening = Listening(
                around.senses.ears, self.conversation, self.emit, self._replies, lambda: self.config
            )
            self._listening.open()
            self.playout.on_taken = self._listening.playing
        self.emit({"type": "session.created", "session": self.config.wire()})

    @property
    def busy(self) -> bool:
        """Whether somebody speaks: a person, or an answer that is made or played."""
        return self._floor.speaking or (self._listening is not None and self._listening.hears)

    def emit(self, event: JsonObject) -> None:
        """Tell the client."""
        self.outbox.put(event)

    async def receive(self, message: str | bytes) -> None:
        """Do what the client's event says; whatever it is, the session goes on."""
        await self.outbox.room()
        event_id: str | None = None
        try:
            self._refuse_large(message, self._largest)
            event = protocol.read(message, audible=self._listening is not None)
            event_id = event.event_id
            if not isinstance(event, protocol.AudioAppend):
                self._refuse_large(message, self._around.settings.max_message_bytes + protocol.sound_in(event))
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
        if self._listening is not None:
            try:
                self._listening.hear(pcm)
            except Refused as error:
                self.emit(protocol.failure(EventError(error.code, error.message)))

    async def leave(self, why: Close = NORMAL, *, answer: Ending = "left", patience_s: float = 0.0) -> None:
        """End the session: what is in work may take ``patience_s`` more, and then ends as ``answer`` says."""
        await self._floor.end(answer, patience_s)
        if self._listening is not None:
            await self._listening.close()
        await self._replies.close()
        self.outbox.close(why)

    @property
    def _largest(self) -> int:
        settings = self._around.settings
        return settings.max_sound_message_bytes if self._listening else settings.max_message_bytes

    def _refuse_large(self, message: str | bytes, limit: int) -> None:
        size = len(message if isinstance(message, bytes) else message.encode("utf-8", "surrogatepass"))
        if size > limit:
            raise EventError("event_too_large", f"This event has at most {limit:,} bytes, and it has {size:,}.")

    async def _do(self, event: protocol.AnyClientEvent) -> None:
        match event:
            case protocol.SessionUpdate():
                self.config = self._means.updated(self.config, event.session, model=self.config.model)
                if self._listening is not None:
                    self._listening.tune()
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
                self._replies.respond(event.response or ResponseWanted())
            case protocol.ResponseCancel():
                await self._floor.cancel(event.response_id)
            case _:
                assert self._listening is not None, "events about sound were refused"
                await self._do_sound(event, self._listening)

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
                await self._truncate(event)
            case _:
                raise AssertionError(event)

    def _add(self, event: protocol.ItemCreate) -> None:
        item, sounds = item_of(event.item, audible=self._listening is not None)
        before = self.conversation.add(item, event.previous_item_id)
        self.emit(protocol.item_event("added", item.wire(), before))
        self.emit(protocol.item_event("done", item.wire(), before))
        for dropped in self.conversation.drop_oldest():
            self.emit({"type": "conversation.item.deleted", "item_id": dropped})
        if sounds and self._listening is not None:
            self._listening.transcribe(item, sounds)

    async def _truncate(self, event: protocol.ItemTruncate) -> None:
        item = self.conversation.get(event.item_id)
        if item.said is None or event.content_index:
            raise EventError("invalid_value", "Only the sound of a spoken answer can be truncated.", param="item_id")
        speech = item.said.speech
        if event.audio_end_ms > speech.duration_ms:
            raise EventError(
                "invalid_value", f"The sound of this item is {speech.duration_ms} ms long.", param="audio_end_ms"
            )
        if item.status == "in_progress":
            await self._floor.interrupt()  # stock clients truncate while it is spoken, and play no more of it
            return
        # Of what was cleared nothing has been heard but what was played.
        heard_ms = min(event.audio_end_ms, speech.played_ms) if speech.over.is_set() else event.audio_end_ms
        self.emit(item.truncate(heard_ms))
        if item.said.turn_id is not None:
            self._around.agent.heard(item.said.turn_id, item.said.heard_of_answer(heard_ms))


def session_span(grant: Grant) -> telemetry.span:
    """The span of a session, as long as its connection: in the trace of its credential, linked to the connection's."""
    attributes = {conventions.GEN_AI_CONVERSATION_ID: str(grant.chat_id), CALL_ID: grant.call_id}
    connection = telemetry.inject()
    return telemetry.span(
        "voice session", attributes, parent=grant.traceparent or "", links=[connection] if connection else []
    )
