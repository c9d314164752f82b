"""One response as the protocol tells it, from ``response.created`` to ``response.done``.

::

    response.created
      response.output_item.added, conversation.item.added, response.content_part.added      at the first words
      response.output_text.delta ...           or, spoken: response.output_audio_transcript.delta, output_audio.delta
      response.output_text.done                            response.output_audio.done, output_audio_transcript.done
      response.content_part.done, conversation.item.done, response.output_item.done
    response.done   completed | cancelled | failed, with the agent's sentence
    rate_limits.updated

``metadata`` of the response comes back, with ``turn_id`` and ``trace_id`` of the turn that it answers beside it. A
response out of band is in no conversation, and its item neither.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from contracts.turns import TurnAccepted
from contracts.vocabulary import JsonObject
from voice_gateway import protocol
from voice_gateway.conversation import Conversation, Item, Part, new_id
from voice_gateway.mouth.port import Manner

Emit = Callable[[JsonObject], None]
Status = Literal["in_progress", "completed", "cancelled", "failed"]
Cancelled = Literal["client_cancelled", "turn_detected"]
NO_TOKENS: JsonObject = {
    "total_tokens": 0,
    "input_tokens": 0,
    "output_tokens": 0,
    "input_token_details": {"text_tokens": 0, "audio_tokens": 0, "cached_tokens": 0},
    "output_token_details": {"text_tokens": 0, "audio_tokens": 0},
}
"""The usage of a response that no model with tokens took part in."""


class Response:
    """Tells one response to the client; each method may come late, and after the end nothing is told.

    ``manner`` is how it is spoken, None when it is written; ``usage`` what it cost, None when that is not known.
    """

    def __init__(
        self,
        conversation: Conversation | None,
        emit: Emit,
        metadata: dict[str, str] | None = None,
        *,
        manner: Manner | None = None,
        usage: JsonObject | None = None,
    ) -> None:
        self.id = new_id("resp")
        self.status: Status = "in_progress"
        self.manner = manner
        self._conversation, self._emit = conversation, emit
        self._metadata, self._usage = metadata, usage
        self._created = False
        self._item: Item | None = None
        self._before: str | None = None
        self._said: list[str] = []

    @property
    def answer(self) -> str:
        """What was said so far."""
        return "".join(self._said)

    @property
    def in_conversation(self) -> bool:
        """Whether its item is one of the conversation's."""
        return self._conversation is not None

    @property
    def item(self) -> Item:
        """Its one item, which the client is told of when it is first needed."""
        return self._item or self._open()

    def begin(self, turn: TurnAccepted | None = None) -> None:
        """``response.created``; once the turn is known the metadata names it."""
        if turn is not None:
            self._metadata = {**(self._metadata or {}), "turn_id": str(turn.turn_id), "trace_id": turn.trace_id}
        if not self._created:
            self._created = True
            self._emit({"type": "response.created", "response": self.wire()})

    def say(self, text: str) -> None:
        """The next words, written or as the transcript of what is spoken."""
        if self.status != "in_progress" or not text:
            return
        item = self.item
        self._said.append(text)
        kind = "response.output_audio_transcript.delta" if self.manner else "response.output_text.delta"
        self._emit(self._event(kind, item_id=item.id, content_index=0, delta=text))

    def complete(self, answer: str | None = None) -> None:
        """It stands. What of a written ``answer`` was not said yet is said first."""
        if self.status != "in_progress":
            return
        said = self.answer
        if answer is None:
            pass
        elif answer.startswith(said):
            self.say(answer[len(said) :])
        elif self._item is not None:
            self._said = [answer]  # the stored answer is the true one, and the events that end the item carry it
        self._end("completed", {"type": "completed"})

    def cancel(self, reason: Cancelled = "client_cancelled") -> None:
        """No more of it is wanted."""
        self._end("cancelled", {"type": "cancelled", "reason": reason})

    def fail(self, code: str, message: str) -> None:
        """It ends unfinished; ``message`` is for a person."""
        error = {"type": "server_error", "code": code, "message": message}
        self._end("failed", {"type": "failed", "error": error})

    def wire(self, details: JsonObject | None = None) -> JsonObject:
        """As ``response`` of an event."""
        told: JsonObject = {
            "id": self.id,
            "object": "realtime.response",
            "status": self.status,
            "status_details": details,
            "output": [self._item.wire()] if self._item and self.status != "in_progress" else [],
            "conversation_id": self._conversation.id if self._conversation else None,
            "output_modalities": ["audio" if self.manner else "text"],
            "metadata": self._metadata,
            "usage": self._usage if self.status != "in_progress" else None,
        }
        if self.manner:
            output = {"format": {"type": "audio/pcm", "rate": 24000}, "voice": self.manner.voice}
            told["audio"] = {"output": output}
        return told

    def _open(self) -> Item:
        self.begin()
        item = Item(new_id("item"), "assistant", [], "in_progress")
        self._item = item
        self._emit(self._event("response.output_item.added", item=item.wire()))
        if self._conversation is not None:
            self._before = self._conversation.add(item)
            self._emit(protocol.item_event("added", item.wire(), self._before))
        self._emit(self._event("response.content_part.added", item_id=item.id, content_index=0, part=self._part()))
        return item

    def _end(self, status: Status, details: JsonObject) -> None:
        if self.status != "in_progress":
            return
        self.begin()
        self.status = status
        if self._item is not None:
            self._close(self._item)
        self._emit({"type": "response.done", "response": self.wire(details)})
        # No limit is counted down: what there is no room for is refused when it is asked.
        self._emit({"type": "rate_limits.updated", "rate_limits": []})

    def _close(self, item: Item) -> None:
        text = self.answer
        item.parts = [Part("output_audio" if self.manner else "output_text", text)]
        item.status = "completed" if self.status == "completed" else "incomplete"
        where: JsonObject = {"item_id": item.id, "content_index": 0}
        if self.manner:
            self._emit(self._event("response.output_audio.done", **where))
            self._emit(self._event("response.output_audio_transcript.done", transcript=text, **where))
        else:
            self._emit(self._event("response.output_text.done", text=text, **where))
        self._emit(self._event("response.content_part.done", part=self._part(), **where))
        if self._conversation is not None:
            self._emit(protocol.item_event("done", item.wire(), self._before))
        self._emit(self._event("response.output_item.done", item=item.wire()))

    def _part(self) -> JsonObject:
        kind, name = ("audio", "transcript") if self.manner else ("text", "text")
        return {"type": kind, name: self.answer}

    def _event(self, kind: str, **fields: object) -> JsonObject:
        return protocol.of_response(kind, self.id, **fields)
