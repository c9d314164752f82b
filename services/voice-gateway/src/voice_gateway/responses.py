"""One answer as the protocol tells it: a turn of the agent, from ``response.created`` to ``response.done``.

::

    response.created
      response.output_item.added, conversation.item.added, response.content_part.added      at the first words
      response.output_text.delta ...
      response.output_text.done, response.content_part.done, conversation.item.done, response.output_item.done
    response.done   completed | cancelled | failed, with the agent's sentence

``metadata`` of the response comes back, with ``turn_id`` and ``trace_id`` beside it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from contracts.turns import TurnAccepted
from contracts.vocabulary import JsonObject
from voice_gateway import protocol
from voice_gateway.conversation import Conversation, Item, new_id

Emit = Callable[[JsonObject], None]
Status = Literal["in_progress", "completed", "cancelled", "failed"]


class Response:
    """Tells one answer to the client; each method may come late, and after the end nothing is told."""

    def __init__(self, conversation: Conversation, emit: Emit, metadata: dict[str, str] | None = None) -> None:
        self.id = new_id("resp")
        self.status: Status = "in_progress"
        self._conversation, self._emit = conversation, emit
        self._metadata = metadata
        self._created = False
        self._item: Item | None = None
        self._before: str | None = None
        self._said: list[str] = []

    @property
    def answer(self) -> str:
        """What was said so far."""
        return "".join(self._said)

    def begin(self, turn: TurnAccepted | None = None) -> None:
        """``response.created``; once the turn is known the metadata names it."""
        if turn is not None:
            self._metadata = {**(self._metadata or {}), "turn_id": str(turn.turn_id), "trace_id": turn.trace_id}
        if not self._created:
            self._created = True
            self._emit({"type": "response.created", "response": self.wire()})

    def say(self, text: str) -> None:
        """The next words of the answer."""
        if self.status != "in_progress" or not text:
            return
        item = self._item or self._open()
        self._said.append(text)
        self._emit(self._event("response.output_text.delta", item_id=item.id, content_index=0, delta=text))

    def complete(self, answer: str) -> None:
        """The answer stands; what of it was not said yet is said first."""
        if self.status != "in_progress":
            return
        said = self.answer
        if answer.startswith(said):
            self.say(answer[len(said) :])
        elif self._item is not None:
            self._said = [answer]  # the stored answer is the true one, and the events that end the item carry it
        self._end("completed", {"type": "completed"})

    def cancel(self) -> None:
        """The client wants no more of it."""
        self._end("cancelled", {"type": "cancelled", "reason": "client_cancelled"})

    def fail(self, code: str, message: str) -> None:
        """It ends without an answer; ``message`` is for a person."""
        error = {"type": "server_error", "code": code, "message": message}
        self._end("failed", {"type": "failed", "error": error})

    def wire(self, details: JsonObject | None = None) -> JsonObject:
        """As ``response`` of an event."""
        return {
            "id": self.id,
            "object": "realtime.response",
            "status": self.status,
            "status_details": details,
            "output": [self._item.wire()] if self._item and self.status != "in_progress" else [],
            "conversation_id": self._conversation.id,
            "output_modalities": ["text"],
            "metadata": self._metadata,
            "usage": None,
        }

    def _open(self) -> Item:
        self.begin()
        item = Item(new_id("item"), "assistant", [], "in_progress")
        self._before = self._conversation.add(item)
        self._item = item
        self._emit(self._event("response.output_item.added", item=item.wire()))
        self._emit(protocol.item_event("added", item.wire(), self._before))
        part = {"type": "text", "text": ""}
        self._emit(self._event("response.content_part.added", item_id=item.id, content_index=0, part=part))
        return item

    def _end(self, status: Status, details: JsonObject) -> None:
        if self.status != "in_progress":
            return
        self.begin()
        self.status = status
        if self._item is not None:
            self._close(self._item)
        self._emit({"type": "response.done", "response": self.wire(details)})

    def _close(self, item: Item) -> None:
        text = self.answer
        item.texts = [text]
        item.status = "completed" if self.status == "completed" else "incomplete"
        where: JsonObject = {"item_id": item.id, "content_index": 0}
        self._emit(self._event("response.output_text.done", text=text, **where))
        self._emit(self._event("response.content_part.done", part={"type": "text", "text": text}, **where))
        self._emit(protocol.item_event("done", item.wire(), self._before))
        self._emit(self._event("response.output_item.done", item=item.wire()))

    def _event(self, kind: str, **fields: object) -> JsonObject:
        return protocol.of_response(kind, self.id, **fields)
