"""A live session with OpenAI, or with a server that speaks its Realtime API over a WebSocket (L1).

::

    send_*, respond, interrupt --> one lock --> wss://.../v1/realtime --> Normaliser --> receive

The ``openai`` package is imported when a session opens, for it costs more than a second.
"""

from __future__ import annotations

import asyncio
import base64
import importlib
import json
import logging
from collections.abc import AsyncIterator, Sequence
from typing import TYPE_CHECKING, Any, cast

from contracts.vocabulary import JsonObject
from voice_gateway.live.clients import openai_settings
from voice_gateway.live.clients.openai_errors import MODEL, refusal_of
from voice_gateway.live.clients.openai_events import Normaliser, encoded
from voice_gateway.live.config import RealtimeConfig
from voice_gateway.live.errors import ConnectionLost, LiveError, SessionRefused
from voice_gateway.live.events import Failure, RealtimeEvent, ResponseEnded
from voice_gateway.live.port import Activity, Capabilities, Line, ToolSpec

if TYPE_CHECKING:
    from openai import AsyncOpenAI
    from openai.resources.realtime.realtime import AsyncRealtimeConnection

log = logging.getLogger(__name__)

MODEL_NAME = "gpt-realtime-2.1"
TRANSCRIPTION_MODEL = "gpt-transcribe"
SESSION_S = 3_600.0
"""The longest life of a connection: https://platform.openai.com/docs/guides/realtime-conversations"""
MAX_MESSAGE = 16 * 1024 * 1024
CLOSE_S = 2.0
CAPABILITIES = Capabilities(
    "openai",
    input_rate=openai_settings.RATE,
    output_rate=openai_settings.RATE,
    images=True,
    truncation=True,
    changes_agent=True,
    session_s=SESSION_S,
)


class OpenAILive:
    """See :class:`~voice_gateway.live.port.RealtimeClient`. ``base_url`` None is OpenAI itself."""

    capabilities = CAPABILITIES

    def __init__(
        self, api_key: str, *, base_url: str | None = None, transcription_model: str = TRANSCRIPTION_MODEL
    ) -> None:
        self._api_key, self._base_url, self._transcription_model = api_key, base_url, transcription_model
        self._client: AsyncOpenAI | None = None
        self._connection: AsyncRealtimeConnection | None = None
        self._writing = asyncio.Lock()
        self._told: Normaliser | None = None
        self._asked = False
        self._owed = False
        self._refused = 0
        self._early: list[RealtimeEvent] = []

    async def connect(self, config: RealtimeConfig, tools: Sequence[ToolSpec], resume_handle: str | None) -> None:
        """Open a connection and set its session; there is no resuming, so ``resume_handle`` is not looked at."""
        await self.close()
        model = config.model or MODEL_NAME
        loop = asyncio.get_running_loop()
        self._told = Normaliser(
            model,
            self._transcription_model,
            loop.time,
            output_transcription=config.output_transcription,
            interrupts=config.vad.enabled,
        )
        self._asked, self._owed, self._early = False, False, []
        self._connection = await self._open(model)
        session = openai_settings.session_of(config, tools, self._transcription_model)
        await self._send({"type": "session.update", "session": session})
        await self._until_updated()

    async def update(self, config: RealtimeConfig, tools: Sequence[ToolSpec]) -> None:
        """Change instructions and tools; the voice stays, since it cannot change once it was heard."""
        await self._send({"type": "session.update", "session": openai_settings.changes_of(config, tools)})

    async def send_audio(self, pcm: bytes) -> None:
        """Append to what the provider listens to."""
        await self._send({"type": "input_audio_buffer.append", "audio": encoded(pcm)})

    async def send_text(self, text: str) -> None:
        """An item, and a wish for its answer; a response in work is cancelled for it."""
        await self._create({"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]})
        await self.interrupt()
        await self.respond()

    async def send_image(self, data: bytes, mime_type: str) -> None:
        """An item that the next turn is answered with in view."""
        url = f"data:{mime_type};base64,{base64.b64encode(data).decode('ascii')}"
        await self._create(
            {"type": "message", "role": "user", "content": [{"type": "input_image", "image_url": url}]},
        )

    async def send_activity(self, kind: Activity) -> None:
        """A turn is what was appended between start and end."""
        if kind == "end":
            await self._send({"type": "input_audio_buffer.commit"})
            await self.respond()
        else:
            await self._send({"type": "input_audio_buffer.clear"})

    async def send_tool_result(self, call_id: str, name: str, result: JsonObject) -> None:
        """The output of a call, as an item."""
        output = json.dumps(result, ensure_ascii=False)
        await self._create({"type": "function_call_output", "call_id": call_id, "output": output})

    async def respond(self) -> None:
        """Ask for a response, once the one in work has ended if there is one."""
        if self._busy:
            self._owed = True
        else:
            self._asked = True
            await self._send({"type": "response.create"})

    async def interrupt(self, played_ms: int | None = None) -> None:
        """Cancel the response in work; what of its sound was not played is taken out of the conversation."""
        told = self._told
        self._owed = False
        if self._busy:
            named = {"response_id": told.active} if told is not None and told.active else {}
            await self._send({"type": "response.cancel", **named})
        spoken = told.spoken if told else None
        if told is not None and spoken is not None and played_ms is not None and played_ms < spoken.ms:
            told.spoken = None
            await self._send(
                {
                    "type": "conversation.item.truncate",
                    "item_id": spoken.item_id,
                    "content_index": spoken.content_index,
                    "audio_end_ms": max(0, played_ms),
                }
            )

    async def reseed(self, lines: Sequence[Line]) -> None:
        """The lines as items of the conversation."""
        for line in lines:
            await self._create(openai_settings.message_of(line))

    async def receive(self) -> AsyncIterator[RealtimeEvent]:
        """The events of the open connection."""
        told = self._told
        if told is None:
            raise ConnectionLost
        early, self._early = self._early, []
        for event in early:
            yield event
        while True:
            event = await self._next(told)
            kind = event.get("type")
            for ours in told.events(event):
                yield ours
                if isinstance(ours, Failure) and self._asked and told.active is None:
                    self._refused += 1
                    yield ResponseEnded(response_id=f"refused-{self._refused}", status="failed")
            if kind in ("response.created", "response.done", "error"):
                await self._settle(str(kind), event)

    async def close(self) -> None:
        """Close the connection, within 2 s."""
        connection, self._connection = self._connection, None
        client, self._client = self._client, None
        try:
            async with asyncio.timeout(CLOSE_S):
                if connection is not None:
                    await connection.close()
                if client is not None:
                    await client.close()
        except Exception as error:
            log.info("a connection to the voice provider did not close well", extra={"error": type(error).__name__})

    @property
    def _busy(self) -> bool:
        return self._asked or (self._told is not None and self._told.active is not None)

    async def _settle(self, kind: str, event: JsonObject) -> None:
        """Keep account of responses that are asked for, in work, and still to be asked for."""
        told = self._told
        if kind == "response.created":
            self._asked = False
            return
        if kind == "error":
            error = event.get("error")
            code = cast(JsonObject, error).get("code") if isinstance(error, dict) else None
            self._owed = self._owed or (self._asked and code == "conversation_already_has_active_response")
            self._asked = self._asked and told is not None and told.active is not None
            return
        if self._owed and not self._busy:
            self._owed = False
            await self.respond()

    async def _open(self, model: str) -> AsyncRealtimeConnection:
        await asyncio.to_thread(importlib.import_module, "openai")
        from openai import AsyncOpenAI
        from websockets.exceptions import InvalidStatus, WebSocketException

        made = asyncio.to_thread(AsyncOpenAI, api_key=self._api_key, base_url=self._base_url, max_retries=0)
        self._client = await made
        try:
            return await self._client.realtime.connect(
                model=model, websocket_connection_options={"max_size": MAX_MESSAGE, "compression": None}
            ).enter()
        except InvalidStatus as error:
            raise refusal_of(error.response.status_code) from None
        except (WebSocketException, OSError, TimeoutError) as error:
            raise ConnectionLost("The voice provider cannot be reached.") from error

    async def _until_updated(self) -> None:
        """Wait until the session is as asked; what comes before is kept for ``receive``."""
        told = self._told
        assert told is not None
        while True:
            event = await self._next(told)
            if event.get("type") == "session.updated":
                return
            ours = list(told.events(event))
            for failure in ours:
                if isinstance(failure, Failure):
                    raise _refusal(failure)
            self._early.extend(ours)

    async def _next(self, told: Normaliser) -> JsonObject:
        from websockets.exceptions import ConnectionClosed

        while True:
            connection = self._connection
            if connection is None:
                raise ConnectionLost
            try:
                message = await connection.recv_bytes()
            except (ConnectionClosed, OSError) as error:
                raise _closed(error) from error
            event = told.read(message)
            if event is not None:
                return event

    async def _create(self, item: JsonObject) -> None:
        await self._send({"type": "conversation.item.create", "item": item})

    async def _send(self, event: dict[str, Any]) -> None:
        from websockets.exceptions import ConnectionClosed

        async with self._writing:
            if self._connection is None:
                raise ConnectionLost
            try:
                await self._connection.send_raw(json.dumps(event))
            except (ConnectionClosed, OSError) as error:
                raise _closed(error) from error


def _refusal(failure: Failure) -> LiveError:
    """What an error means that comes before the session is as it was asked for."""
    if failure.fatal:
        return SessionRefused(failure.code, failure.message)
    if failure.code == "rate_limit_exceeded":
        return ConnectionLost(failure.message)
    return SessionRefused("settings_refused", MODEL)


def _closed(error: Exception) -> LiveError:
    """What the end of the socket means: with 1008 (policy) the provider wants no such session."""
    received = getattr(error, "rcvd", None)
    if getattr(received, "code", None) == 1008:
        return SessionRefused("refused", "The voice provider refuses the session.")
    return ConnectionLost()
