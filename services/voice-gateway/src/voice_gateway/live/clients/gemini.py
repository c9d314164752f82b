"""A live session with Gemini, or with a server that speaks its Live API (L1).

::

    send_* --> one lock --> wss://.../BidiGenerateContent --> Normaliser --> receive

Its turns are answered by itself, also after tools, and an answer cannot be stopped from outside: one that is not wanted
any more is heard to its end and not passed on. The ``google-genai`` package is imported when a session opens.
"""

from __future__ import annotations

import asyncio
import importlib
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

from contracts.vocabulary import JsonObject
from voice_gateway.live.clients import gemini_settings
from voice_gateway.live.clients.gemini_events import Normaliser
from voice_gateway.live.config import RealtimeConfig
from voice_gateway.live.errors import ConnectionLost, LiveError, SessionRefused
from voice_gateway.live.events import RealtimeEvent
from voice_gateway.live.port import Activity, Capabilities, Line, ToolSpec

if TYPE_CHECKING:
    from google.genai.live import AsyncSession

log = logging.getLogger(__name__)

MODEL_NAME = "gemini-3.8-live"
SESSION_S = 600.0
"""The longest life of a connection, about: https://ai.google.dev/gemini-api/docs/live-session"""
INPUT_RATE = 16_000
CLOSE_S = 2.0
REFUSED = frozenset({400, 401, 403, 404, 1007, 1008})
"""What of HTTP and of WebSocket's closing codes means that the key, the model or the settings are not taken."""
REFUSAL = "The voice provider refuses the session: look at GEMINI_API_KEY, the model, the voice and the other settings."
CAPABILITIES = Capabilities(
    "gemini",
    input_rate=INPUT_RATE,
    output_rate=24_000,
    images=True,
    resumption=True,
    answers_tools=True,
    session_s=SESSION_S,
)


class GeminiLive:
    """See :class:`~voice_gateway.live.port.RealtimeClient`. ``base_url`` None is Google itself; it has to be https."""

    capabilities = CAPABILITIES

    def __init__(self, api_key: str, *, base_url: str | None = None) -> None:
        self._api_key, self._base_url = api_key, base_url
        self._stack = AsyncExitStack()
        self._session: AsyncSession | None = None
        self._writing = asyncio.Lock()
        self._told = Normaliser(MODEL_NAME)
        self._asked: tuple[RealtimeConfig, Sequence[ToolSpec]] | None = None

    async def connect(self, config: RealtimeConfig, tools: Sequence[ToolSpec], resume_handle: str | None) -> None:
        """Open a connection; with a handle it goes on where the session was when the handle was given."""
        self._asked = (config, tools)
        await self._open(resume_handle, with_history=False)

    async def update(self, config: RealtimeConfig, tools: Sequence[ToolSpec]) -> None:
        """Nothing of a session can change within its connection."""
        raise SessionRefused("not_supported", "This voice provider takes new instructions over a new connection only.")

    async def send_audio(self, pcm: bytes) -> None:
        """Sound of the person."""
        from google.genai import types

        blob = types.Blob(data=pcm, mime_type=f"audio/pcm;rate={INPUT_RATE}")
        await self._send(lambda session: session.send_realtime_input(audio=blob))

    async def send_text(self, text: str) -> None:
        """Words of the person, which are answered."""
        await self._send(lambda session: session.send_realtime_input(text=text))

    async def send_image(self, data: bytes, mime_type: str) -> None:
        """A picture, or a frame of a film of one picture a second."""
        from google.genai import types

        blob = types.Blob(data=data, mime_type=mime_type)
        await self._send(lambda session: session.send_realtime_input(video=blob))

    async def send_activity(self, kind: Activity) -> None:
        """The bounds of a turn; one that is thought better of is ended, and its answer not passed on."""
        from google.genai import types

        if kind == "start":
            await self._send(lambda session: session.send_realtime_input(activity_start=types.ActivityStart()))
            return
        self._told.dropping = kind == "cancel"
        await self._send(lambda session: session.send_realtime_input(activity_end=types.ActivityEnd()))

    async def send_tool_result(self, call_id: str, name: str, result: JsonObject) -> None:
        """The result of a call, unless the provider took the call back."""
        from google.genai import types

        self._told.waiting.discard(call_id)
        if call_id in self._told.cancelled:
            return
        response = types.FunctionResponse(id=call_id, name=name, response=dict(result))
        await self._send(lambda session: session.send_tool_response(function_responses=[response]))

    async def respond(self) -> None:
        """Nothing: the provider goes on by itself when it has every result."""

    async def interrupt(self, played_ms: int | None = None) -> None:
        """Pass nothing more on of the response in work, nor of the one that follows the tools at work."""
        self._told.dropping = self._told.response is not None or bool(self._told.waiting)

    async def reseed(self, lines: Sequence[Line]) -> None:
        """Open the connection anew for a session that begins with these lines."""
        await self._open(None, with_history=True)
        turns = gemini_settings.history_of(lines)
        await self._send(lambda session: session.send_client_content(turns=list(turns), turn_complete=True))

    async def receive(self) -> AsyncIterator[RealtimeEvent]:
        """The events of the open connection."""
        from google.genai.errors import APIError

        while True:
            session = self._session
            if session is None:
                raise ConnectionLost
            try:
                async for message in session.receive():
                    for event in self._told.events(message):
                        yield event
            except APIError as error:
                if _code(error) is not None:
                    raise ConnectionLost from error
                log.debug("the voice provider sent a message of a kind that is not known")
            except (ValueError, TypeError) as error:  # no JSON, no UTF-8, or nothing that the package knows
                log.warning("a message of the voice provider was not understood", extra={"error": type(error).__name__})
            except OSError as error:
                raise ConnectionLost from error

    async def close(self) -> None:
        """Close the connection, within 2 s."""
        stack, self._stack, self._session = self._stack, AsyncExitStack(), None
        try:
            async with asyncio.timeout(CLOSE_S):
                await stack.aclose()
        except Exception as error:
            log.info("a connection to the voice provider did not close well", extra={"error": type(error).__name__})

    async def _open(self, handle: str | None, *, with_history: bool) -> None:
        await self.close()
        await asyncio.to_thread(importlib.import_module, "google.genai")
        from google import genai
        from google.genai.errors import APIError
        from google.genai.types import HttpOptions
        from websockets.exceptions import ConnectionClosed, InvalidStatus, WebSocketException

        assert self._asked is not None
        config, tools = self._asked
        model = config.model or MODEL_NAME
        self._told = Normaliser(model)
        asked = gemini_settings.session_of(config, tools, handle, with_history=with_history)
        try:
            options = HttpOptions(base_url=self._base_url)
            client = await asyncio.to_thread(genai.Client, api_key=self._api_key, http_options=options)
            self._stack.callback(client.close)
            self._session = await self._stack.enter_async_context(client.aio.live.connect(model=model, config=asked))
        except InvalidStatus as error:
            raise _refusal(error.response.status_code) from None
        except ConnectionClosed as error:
            raise _refusal(_code(error.rcvd)) from None
        except APIError as error:
            raise _refusal(_code(error)) from None
        except ValueError as error:
            log.warning("the settings of a live session are not the provider's", extra={"error": type(error).__name__})
            raise SessionRefused("settings_refused", REFUSAL) from None
        except (WebSocketException, OSError, TimeoutError) as error:
            raise ConnectionLost("The voice provider cannot be reached.") from error

    async def _send(self, what: Callable[[AsyncSession], Awaitable[None]]) -> None:
        from websockets.exceptions import ConnectionClosed

        async with self._writing:
            if self._session is None:
                raise ConnectionLost
            try:
                await what(self._session)
            except (ConnectionClosed, OSError) as error:
                raise ConnectionLost from error


def _code(error: object) -> int | None:
    code: object = getattr(error, "code", None)
    return code if isinstance(code, int) else None


def _refusal(code: int | None) -> LiveError:
    if code in REFUSED:
        return SessionRefused("settings_refused", REFUSAL)
    return ConnectionLost("The voice provider takes no connection now.")
