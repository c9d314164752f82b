"""One voice session, without a transport: a client's events go in, ours come out of its outbox.

A session outlives every mistake: a wrong event gets an ``error`` event, a failed answer a ``response.done`` that says
so, and the next question works. One response is active at a time.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass

from chassis import conventions, telemetry
from contracts.turns import MAX_QUESTION_LENGTH
from voice_gateway import protocol
from voice_gateway.agent import Agent
from voice_gateway.answering import Answering, Ending
from voice_gateway.calls import CALL_ID, Calls
from voice_gateway.conversation import Conversation, item_of
from voice_gateway.credentials import Grant
from voice_gateway.errors import EventError
from voice_gateway.outbox import NORMAL, Close, Outbox
from voice_gateway.protocol import ResponseWanted
from voice_gateway.responses import Response
from voice_gateway.settings import Settings

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Around:
    """What every session of a process stands on."""

    settings: Settings
    agent: Agent
    calls: Calls


class Session:
    """One connection's session, opened by ``grant``; the traces of its answers link to ``traceparent``."""

    def __init__(self, grant: Grant, around: Around, traceparent: str | None = None) -> None:
        self.grant = grant
        self.config = grant.config
        self.conversation = Conversation(around.settings.max_items)
        self.outbox = Outbox(grant.call_id.removeprefix("sess_"), around.settings.max_unread_bytes)
        self._around, self._traceparent = around, traceparent
        self._answering: Answering | None = None
        self.outbox.put({"type": "session.created", "session": self.config.wire()})

    @property
    def busy(self) -> bool:
        """Whether an answer is being given."""
        return self._answering is not None and not self._answering.done

    async def receive(self, message: str | bytes) -> None:
        """Do what the client's event says; whatever it is, the session goes on."""
        await self.outbox.room()
        event_id: str | None = None
        try:
            self._refuse_large(message)
            event = protocol.read(message)
            event_id = event.event_id
            await self._do(event)
        except EventError as error:
            error.event_id = error.event_id or event_id
            self.outbox.put(protocol.failure(error))
        except Exception:
            log.exception("an event of a client failed unforeseen")
            self.outbox.put(protocol.fault(event_id))

    async def leave(self, why: Close = NORMAL, *, answer: Ending = "left", patience_s: float = 0.0) -> None:
        """End the session: an answer in work may take ``patience_s`` more, and then ends as ``answer`` says."""
        if self._answering is not None:
            if patience_s and self.busy:
                await self._answering.wait(patience_s)
            if self.busy:
                await self._answering.end(answer)
        self.outbox.close(why)

    def _refuse_large(self, message: str | bytes) -> None:
        limit = self._around.settings.max_message_bytes
        size = len(message if isinstance(message, bytes) else message.encode("utf-8", "surrogatepass"))
        if size > limit:
            raise EventError("event_too_large", f"An event has at most {limit:,} bytes, and this one has {size:,}.")

    async def _do(self, event: protocol.AnyClientEvent) -> None:
        match event:
            case protocol.SessionUpdate():
                self.config = protocol.updated(self.config, event.session, model=self.config.model)
                self.outbox.put({"type": "session.updated", "session": self.config.wire()})
            case protocol.ItemCreate():
                self._add(event)
            case protocol.ItemRetrieve():
                item = self.conversation.get(event.item_id)
                self.outbox.put({"type": "conversation.item.retrieved", "item": item.wire()})
            case protocol.ItemDelete():
                self.conversation.remove(event.item_id)
                self.outbox.put({"type": "conversation.item.deleted", "item_id": event.item_id})
            case protocol.ResponseCreate():
                self._answer(event.response or ResponseWanted())
            case protocol.ResponseCancel():
                await self._cancel(event.response_id)

    def _add(self, event: protocol.ItemCreate) -> None:
        item = item_of(event.item)
        before = self.conversation.add(item, event.previous_item_id)
        self.outbox.put(protocol.item_event("added", item.wire(), before))
        self.outbox.put(protocol.item_event("done", item.wire(), before))
        for dropped in self.conversation.drop_oldest():
            self.outbox.put({"type": "conversation.item.deleted", "item_id": dropped})

    def _answer(self, wanted: ResponseWanted) -> None:
        protocol.require_text(wanted.output_modalities, "response.output_modalities")
        if wanted.conversation == "none" or wanted.input is not None:
            raise EventError(
                "not_supported",
                "A response out of band is speech, and this voice is silent: put the question into the conversation"
                " with `conversation.item.create`, and leave out `conversation` and `input`.",
                param="response.conversation" if wanted.conversation == "none" else "response.input",
            )
        if self.busy:
            raise EventError(
                "conversation_already_has_active_response",
                "An answer is being given; wait for its `response.done`, or send `response.cancel` first.",
            )
        metadata = wanted.metadata or {}
        self._answering = Answering(
            self._around.agent,
            Response(self.conversation, self.outbox.put, wanted.metadata),
            chat_id=self.grant.chat_id,
            question=self._question(),
            limit_s=self._around.settings.answer_s,
            session=self._traceparent,
            parent=metadata.get("traceparent"),
            asked=lambda turn, traceparent: self._around.calls.turn(self.grant.call_id, turn, traceparent),
        )

    def _question(self) -> str:
        item = self.conversation.last
        if item is None or item.role != "user":
            raise EventError(
                "no_question",
                "The last item is no question; add one with `conversation.item.create` and the role `user` first.",
            )
        question = item.text.strip()
        if not question:
            raise EventError("blank_question", "The question is blank; ask it in words.")
        if len(question) > MAX_QUESTION_LENGTH:
            raise EventError(
                "question_too_long",
                f"A question has at most {MAX_QUESTION_LENGTH:,} characters, and this one has {len(question):,}.",
            )
        return question

    async def _cancel(self, response_id: str | None) -> None:
        answering = self._answering
        if answering is None or not self.busy or response_id not in (None, answering.response.id):
            raise EventError("response_cancel_not_active", "No such response is active, so there is nothing to cancel.")
        await answering.end("cancelled")


def session_span(grant: Grant) -> telemetry.span:
    """The span of a session, as long as its connection: in the trace of its credential, linked to the connection's."""
    attributes = {conventions.GEN_AI_CONVERSATION_ID: str(grant.chat_id), CALL_ID: grant.call_id}
    connection = telemetry.inject()
    return telemetry.span(
        "voice session", attributes, parent=grant.traceparent or "", links=[connection] if connection else []
    )
