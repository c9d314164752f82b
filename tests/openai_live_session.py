"""One session of the provider of ``openai_live_server``: what it hears, what it answers, and how it misbehaves."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import math
from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError
from strict_types import CLIENT_EVENTS, check_event
from websockets.asyncio.server import ServerConnection

if TYPE_CHECKING:
    from openai_live_server import Script

RATE = 24_000
LOUD = 500
PIECE_MS = 100
WORD_MS = 250
SILENCE_MS = 500


@dataclass(frozen=True)
class Say:
    """Speak: a sound of ``WORD_MS`` a word, and its transcript word by word; ``then`` comes after the first word."""

    text: str
    then: Misbehave | None = None


@dataclass(frozen=True)
class Call:
    """Call a tool; ``arguments`` are sent as they are, so that they may be no JSON."""

    name: str
    arguments: str = "{}"
    call_id: str = ""


@dataclass(frozen=True)
class Misbehave:
    """Send messages as they are, end the connection (``close``: its code, 0 without a closing frame), or fail."""

    raw: tuple[str | bytes, ...] = ()
    close: int | None = None
    fail: str | None = None


Step = Say | Call | Misbehave
Answer = Sequence[Step]


def tone(ms: int, level: int = 6_000) -> bytes:
    """A sound that is loud enough to be taken for speech."""
    return array("h", (int(level * math.sin(n / 9)) for n in range(RATE * ms // 1000))).tobytes()


def silence(ms: int) -> bytes:
    """As much of nothing."""
    return bytes(RATE * ms // 1000 * 2)


@dataclass
class Session:
    """A connection. ``received`` are the client's events, ``items`` the conversation, ``settings`` the session."""

    connection: ServerConnection
    model: str
    script: Script
    wrong: list[str]
    news: asyncio.Event
    received: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    items: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    settings: dict[str, Any] = field(default_factory=dict[str, Any])
    truncated: list[tuple[str, int]] = field(default_factory=list[tuple[str, int]])
    responses: int = 0

    def __post_init__(self) -> None:
        self._names = count(1)
        self._task: asyncio.Task[None] | None = None
        self._response: dict[str, Any] | None = None
        self._speaking = False
        self._quiet_ms = 0
        self._heard = bytearray()
        self._sounds: dict[str, int] = {}

    def count(self, kind: str) -> int:
        """How often the client sent an event."""
        return sum(event["type"] == kind for event in self.received)

    @property
    def last_text(self) -> str:
        """What the person said last."""
        users = [item for item in self.items if item.get("role") == "user"]
        return (
            str(users[-1]["content"][0].get("text") or users[-1]["content"][0].get("transcript") or "") if users else ""
        )

    async def run(self) -> None:
        """Until the client leaves."""
        self.settings = {"type": "realtime", "model": self.model, "output_modalities": ["audio"]}
        await self.emit("session.created", session=self.settings)
        async for message in self.connection:
            event: dict[str, Any] = json.loads(message)
            self.received.append(event)
            self.news.set()
            try:
                check_event(event, CLIENT_EVENTS)
            except (ValidationError, AssertionError, KeyError) as error:
                self.wrong.append(f"received: {error}")
                await self.error("invalid_request_error", event.get("event_id"))
                continue
            await self._handle(event)
            self.news.set()

    async def stop(self) -> None:
        """Nothing more is said."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})

    async def emit(self, kind: str, **fields: Any) -> None:
        """Send an event, checked."""
        event = {"type": kind, "event_id": f"event_{next(self._names)}", **fields}
        try:
            check_event(event)
        except (ValidationError, AssertionError) as error:
            self.wrong.append(f"sent: {error}")
        await self.connection.send(json.dumps(event))

    async def error(self, code: str, event_id: str | None = None) -> None:
        """Send an error event."""
        detail = {"type": "invalid_request_error", "code": code, "message": "The fake says no.", "event_id": event_id}
        await self.emit("error", error=detail)

    async def misbehave(self, how: Misbehave) -> None:
        """Do what no provider should."""
        for raw in how.raw:
            await self._raw(raw)
        if how.fail is not None:
            await self.error(how.fail)
        if how.close == 0:
            self.connection.transport.abort()
            await asyncio.sleep(60)
        elif how.close is not None:
            await self.connection.close(how.close)

    async def _raw(self, raw: str | bytes) -> None:
        """A text frame, whether or not its bytes are UTF-8."""
        data = raw.encode() if isinstance(raw, str) else raw
        await self.connection.send(data, text=True)

    async def _handle(self, event: dict[str, Any]) -> None:
        match event["type"]:
            case "session.update":
                self.settings |= event["session"]
                await self.emit("session.updated", session=self.settings)
            case "input_audio_buffer.append":
                await self._listen(base64.b64decode(event["audio"], validate=True))
            case "input_audio_buffer.commit":
                await self._commit()
            case "input_audio_buffer.clear":
                self._heard.clear()
                self._speaking, self._quiet_ms = False, 0
                await self.emit("input_audio_buffer.cleared")
            case "conversation.item.create":
                await self._add(event["item"])
            case "response.create":
                await self._respond(event.get("event_id"))
            case "response.cancel":
                if not await self._cancel("client_cancelled", event.get("response_id")):
                    await self.error("response_cancel_not_active", event.get("event_id"))
            case "conversation.item.truncate":
                await self._truncate(event)
            case _:
                pass

    async def _add(self, item: dict[str, Any]) -> dict[str, Any]:
        known = {"object": "realtime.item", "status": "completed", **item}
        known.setdefault("id", f"item_{next(self._names)}")
        if known["type"] == "function_call_output":
            calls = {one.get("call_id") for one in self.items if one["type"] == "function_call"}
            if known["call_id"] not in calls:
                self.wrong.append(f"an output for a call that nobody made: {known['call_id']}")
        self.items.append(known)
        await self.emit("conversation.item.added", item=known)
        await self.emit("conversation.item.done", item=known)
        return known

    async def _truncate(self, event: dict[str, Any]) -> None:
        ms = self._sounds.get(event["item_id"])
        if ms is None or event["audio_end_ms"] > ms:
            self.wrong.append(f"a truncation beyond the sound: {event}")
            await self.error("invalid_value", event.get("event_id"))
            return
        self.truncated.append((event["item_id"], event["audio_end_ms"]))
        fields = {name: event[name] for name in ("item_id", "content_index", "audio_end_ms")}
        await self.emit("conversation.item.truncated", **fields)

    async def _listen(self, pcm: bytes) -> None:
        assert len(pcm) % 2 == 0
        self._heard += pcm
        detection = self._input.get("turn_detection")
        if not detection:
            return
        ms = len(pcm) // 48
        if max(map(abs, array("h", pcm)), default=0) > LOUD:
            self._quiet_ms = 0
            if not self._speaking:
                self._speaking = True
                await self.emit("input_audio_buffer.speech_started", audio_start_ms=0, item_id="item_to_be")
                await self._cancel("turn_detected")
        elif self._speaking:
            self._quiet_ms += ms
            if self._quiet_ms >= detection.get("silence_duration_ms", SILENCE_MS):
                self._speaking = False
                await self.emit("input_audio_buffer.speech_stopped", audio_end_ms=0, item_id="item_to_be")
                await self._commit()
                await self._respond(None)

    @property
    def _input(self) -> dict[str, Any]:
        audio: dict[str, Any] = self.settings.get("audio") or {}
        return audio.get("input") or {}

    async def _commit(self) -> None:
        self._quiet_ms = 0
        if not self._heard:
            await self.error("input_audio_buffer_commit_empty")
            return
        self._heard.clear()
        text = self.script.heard.pop(0) if self.script.heard else "Good day"
        content: dict[str, Any] = {"type": "input_audio"}
        item = {"type": "message", "role": "user", "content": [content]}
        name = f"item_{next(self._names)}"
        await self.emit("input_audio_buffer.committed", item_id=name, previous_item_id=None)
        known = await self._add({"id": name, **item})
        if self._input.get("transcription"):
            known["content"] = [{**content, "transcript": text}]
            usage = {"type": "tokens", "input_tokens": 9, "output_tokens": 3, "total_tokens": 12}
            where = {"item_id": name, "content_index": 0}
            kind = "conversation.item.input_audio_transcription"
            await self.emit(f"{kind}.delta", delta=text[: len(text) // 2], **where)
            await self.emit(f"{kind}.completed", transcript=text, usage=usage, **where)

    async def _respond(self, event_id: str | None) -> None:
        if self.script.refuse_responses:
            await self.error(self.script.refuse_responses.pop(0), event_id)
            return
        if self._response is not None:
            await self.error("conversation_already_has_active_response", event_id)
            return
        self.responses += 1
        response: dict[str, Any] = {"id": f"resp_{next(self._names)}", "object": "realtime.response"}
        self._response = response | {"status": "in_progress", "output": []}
        await self.emit("response.created", response=self._response)
        answer = self.script.answer(self)
        self._task = asyncio.create_task(self._answer(self._response, answer))

    async def _answer(self, response: dict[str, Any], answer: Answer) -> None:
        with contextlib.suppress(ConnectionError):
            for index, step in enumerate(answer):
                match step:
                    case Say():
                        await self._speak(response, index, step)
                    case Call():
                        await self._call(response, index, step)
                    case Misbehave():
                        await self.misbehave(step)
                        if step.fail is not None:
                            await self._done("failed", {"type": "failed", "error": {"code": step.fail, "type": "x"}})
                            return
            await self._done("completed")

    async def _speak(self, response: dict[str, Any], index: int, step: Say) -> None:
        name = f"item_{next(self._names)}"
        where = {"response_id": response["id"], "item_id": name, "output_index": index}
        item: dict[str, Any] = {"id": name, "object": "realtime.item", "type": "message", "role": "assistant"}
        item["content"] = []
        await self.emit("response.output_item.added", item=item | {"status": "in_progress"}, **_only(where))
        text = self.settings.get("output_modalities") == ["text"]
        said = ""
        for place, word in enumerate(step.text.split(" ")):
            piece = word if not place else f" {word}"
            said += piece
            if text:
                await self.emit("response.output_text.delta", delta=piece, content_index=0, **where)
            else:
                await self._sound(where, name)
                await self.emit("response.output_audio_transcript.delta", delta=piece, content_index=0, **where)
            if step.then is not None and not place:
                await self.misbehave(step.then)
        if text:
            await self.emit("response.output_text.done", text=said, content_index=0, **where)
        else:
            await self.emit("response.output_audio.done", content_index=0, **where)
            await self.emit("response.output_audio_transcript.done", transcript=said, content_index=0, **where)
        content = {"type": "output_text", "text": said} if text else {"type": "output_audio", "transcript": said}
        await self._item(response, item | {"status": "completed", "content": [content]}, index)

    async def _sound(self, where: dict[str, Any], name: str) -> None:
        pcm = tone(WORD_MS)
        for start in range(0, len(pcm), PIECE_MS * 48):
            await asyncio.sleep(self.script.pace_s)
            piece = pcm[start : start + PIECE_MS * 48]
            self._sounds[name] = self._sounds.get(name, 0) + len(piece) // 48
            delta = base64.b64encode(piece).decode()
            await self.emit("response.output_audio.delta", delta=delta, content_index=0, **where)

    async def _call(self, response: dict[str, Any], index: int, step: Call) -> None:
        name = f"item_{next(self._names)}"
        item = {
            "id": name,
            "object": "realtime.item",
            "type": "function_call",
            "name": step.name,
            "call_id": step.call_id or f"call_{next(self._names)}",
            "arguments": step.arguments,
        }
        where = {"response_id": response["id"], "output_index": index}
        await self.emit("response.output_item.added", item=item | {"status": "in_progress", "arguments": ""}, **where)
        await self.emit(
            "response.function_call_arguments.done",
            item_id=name,
            **where,
            **{field: item[field] for field in ("call_id", "name", "arguments")},
        )
        await self._item(response, item | {"status": "completed"}, index)

    async def _item(self, response: dict[str, Any], item: dict[str, Any], index: int) -> None:
        self.items.append(item)
        response["output"].append(item)
        await self.emit("response.output_item.done", item=item, response_id=response["id"], output_index=index)

    async def _done(self, status: str, details: dict[str, Any] | None = None) -> None:
        response, self._response = self._response, None
        if response is not None:
            usage = {"input_tokens": 40, "output_tokens": 20, "total_tokens": 60}
            await self.emit(
                "response.done", response=response | {"status": status, "status_details": details, "usage": usage}
            )

    async def _cancel(self, reason: str, response_id: str | None = None) -> bool:
        task = self._task
        if self._response is None or task is None or task.done():
            return False
        if response_id not in (None, self._response["id"]):
            return False
        self._task = None
        task.cancel()
        await asyncio.wait({task})
        await self._done("cancelled", {"type": "cancelled", "reason": reason})
        return True


def _only(where: dict[str, Any]) -> dict[str, Any]:
    return {name: where[name] for name in ("response_id", "output_index")}
