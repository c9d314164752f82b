"""One session of the provider of ``gemini_live_server``: what it hears, what it answers, and how it misbehaves."""

from __future__ import annotations

import asyncio
import contextlib
import json
from array import array
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Any

from google.genai import types
from openai_live_session import LOUD, Answer, Call, Misbehave, Say, tone
from pydantic import ValidationError
from websockets.asyncio.server import ServerConnection

if TYPE_CHECKING:
    from gemini_live_server import GeminiScript

WORD_MS = 250
SILENCE_MS = 500


@dataclass(frozen=True)
class GoAwaySoon(Misbehave):
    """Say that the connection ends soon, and end it then."""

    left: str = "0.2s"


@dataclass
class GeminiSession:
    """A connection. ``received`` are the client's messages, ``contents`` the conversation, ``setup`` the session."""

    connection: ServerConnection
    script: GeminiScript
    kept: dict[str, list[types.Content]]
    wrong: list[str]
    news: asyncio.Event
    received: list[types.LiveClientMessage] = field(default_factory=list[types.LiveClientMessage])
    contents: list[types.Content] = field(default_factory=list[types.Content])
    setup: types.LiveClientSetup = field(default_factory=types.LiveClientSetup)
    input: types.RealtimeInputConfig = field(default_factory=types.RealtimeInputConfig)
    resumed: str | None = None

    def __post_init__(self) -> None:
        self._names = count(1)
        self._task: asyncio.Task[None] | None = None
        self._speaking = False
        self._quiet_ms = 0
        self._calls: dict[str, types.FunctionResponse | None] = {}
        self._results = asyncio.Event()
        self.heard_bytes = 0

    @property
    def texts(self) -> list[str]:
        """The conversation in words."""
        return [part.text for content in self.contents for part in content.parts or [] if part.text]

    async def run(self) -> None:
        """Until the client leaves."""
        async for message in self.connection:
            raw: dict[str, Any] = json.loads(message)
            detection = raw.get("setup", {}).pop("realtimeInputConfig", {})  # sent by the package, not in its type
            try:
                read = types.LiveClientMessage.model_validate(raw)
                if read.setup is not None:
                    self.input = types.RealtimeInputConfig.model_validate(detection)
            except ValidationError as error:
                self.wrong.append(f"received: {error}")
                await self.connection.close(1007, "Request contains an invalid argument.")
                return
            self.received.append(read)
            self.news.set()
            await self._handle(read)
            self.news.set()

    async def stop(self) -> None:
        """Nothing more is said."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})

    async def emit(self, **fields: Any) -> None:
        """Send a message, made of the package's types."""
        message = types.LiveServerMessage.model_validate(fields)
        await self.connection.send(message.model_dump_json(by_alias=True, exclude_none=True).encode())

    async def _handle(self, message: types.LiveClientMessage) -> None:
        if message.setup is not None:
            await self._begin(message.setup)
        elif message.client_content is not None:
            await self._content(message.client_content)
        elif message.tool_response is not None:
            self._tool_results(message.tool_response.function_responses or [])
        elif message.realtime_input is not None:
            await self._realtime(message.realtime_input)

    async def _begin(self, setup: types.LiveClientSetup) -> None:
        self.setup = setup
        handle = setup.session_resumption.handle if setup.session_resumption else None
        if handle is not None:
            if handle not in self.kept:
                await self.connection.close(1007, "The handle is not known.")
                return
            self.resumed, self.contents = handle, list(self.kept[handle])
        await self.emit(setup_complete={"session_id": "session-1"})

    async def _content(self, content: types.LiveClientContent) -> None:
        history = self.setup.history_config
        if history is None or not history.initial_history_in_client_content or self.contents:
            self.wrong.append("client content is for the history at the beginning alone")
        self.contents += content.turns or []

    def _tool_results(self, responses: list[types.FunctionResponse]) -> None:
        for response in responses:
            if response.id not in self._calls:
                self.wrong.append(f"a result for a call that nobody made: {response.id}")
            else:
                self._calls[response.id] = response
        self._results.set()

    async def _realtime(self, given: types.LiveClientRealtimeInput) -> None:
        detection = self.input.automatic_activity_detection
        by_hand = bool(detection and detection.disabled)
        if given.text is not None:
            await self._turn(given.text)
        elif given.activity_start is not None:
            await self._interrupt()
        elif given.activity_end is not None:
            await self._understood()
        elif given.audio is not None and given.audio.data is not None:
            if given.audio.mime_type != "audio/pcm;rate=16000":
                self.wrong.append(f"sound of {given.audio.mime_type}")
            self.heard_bytes += len(given.audio.data)
            if not by_hand:
                await self._listen(given.audio.data, (detection.silence_duration_ms if detection else None))

    async def _listen(self, pcm: bytes, silence_ms: int | None) -> None:
        if max(map(abs, array("h", pcm)), default=0) > LOUD:
            self._quiet_ms = 0
            if not self._speaking:
                self._speaking = True
                await self._interrupt()
        elif self._speaking:
            self._quiet_ms += len(pcm) // 32
            if self._quiet_ms >= (silence_ms or SILENCE_MS):
                self._speaking, self._quiet_ms = False, 0
                await self._understood()

    async def _understood(self) -> None:
        text = self.script.heard.pop(0) if self.script.heard else "Good day"
        if self.setup.input_audio_transcription is not None:
            half = len(text) // 2
            for part in (text[:half], text[half:]):
                await self.emit(server_content={"input_transcription": {"text": part}})
        await self._turn(text)

    async def _interrupt(self) -> None:
        task = self._task
        if task is not None and not task.done():
            task.cancel()
            await asyncio.wait({task})
            await self.emit(server_content={"interrupted": True})
            await self.emit(server_content={"turn_complete": True})

    async def _turn(self, text: str) -> None:
        await self._interrupt()
        self.contents.append(types.Content(role="user", parts=[types.Part(text=text)]))
        answer = self.script.answers.pop(0) if self.script.answers else (Say(f"You said: {text}."),)
        self._task = asyncio.create_task(self._answer(answer))

    async def _answer(self, answer: Answer) -> None:
        with contextlib.suppress(ConnectionError):
            place = 0
            while place < len(answer):
                calls = [step for step in answer[place:] if isinstance(step, Call)]
                step = answer[place]
                if isinstance(step, Say):
                    await self._speak(step)
                    place += 1
                elif isinstance(step, Misbehave):
                    await self.misbehave(step)
                    place += 1
                else:
                    await self._call(calls, [one for one in answer[place:] if isinstance(one, Misbehave)])
                    place = max(index for index, one in enumerate(answer) if isinstance(one, Call | Misbehave)) + 1
            await self.emit(server_content={"generation_complete": True})
            usage = {"prompt_token_count": 40, "response_token_count": 20, "total_token_count": 60}
            await self.emit(server_content={"turn_complete": True}, usage_metadata=usage)
            await self.give_handle()

    async def give_handle(self) -> None:
        """A handle for the session as it is now."""
        if self.script.handles and self.setup.session_resumption is not None:
            handle = f"handle-{len(self.kept) + 1}"
            self.kept[handle] = list(self.contents)
            await self.emit(session_resumption_update={"new_handle": handle, "resumable": True})

    async def misbehave(self, how: Misbehave) -> None:
        """Do what no provider should, or what every provider does now and then."""
        for raw in how.raw:
            await self.connection.send(raw.encode() if isinstance(raw, str) else raw)
        if isinstance(how, GoAwaySoon):
            await self.emit(go_away={"time_left": how.left})
            return
        if how.close == 0:
            self.connection.transport.abort()
            await asyncio.sleep(60)
        elif how.close is not None:
            await self.connection.close(how.close)

    async def _speak(self, step: Say) -> None:
        said = ""
        for place, word in enumerate(step.text.split(" ")):
            piece = word if not place else f" {word}"
            said += piece
            modalities = (self.setup.generation_config or types.GenerationConfig()).response_modalities or []
            if types.Modality.TEXT in modalities:
                await self.emit(server_content={"model_turn": {"role": "model", "parts": [{"text": piece}]}})
            else:
                await asyncio.sleep(self.script.pace_s)
                blob = types.Blob(data=tone(WORD_MS), mime_type="audio/pcm;rate=24000")
                await self.emit(server_content={"model_turn": {"role": "model", "parts": [{"inline_data": blob}]}})
                if self.setup.output_audio_transcription is not None:
                    await self.emit(server_content={"output_transcription": {"text": piece}})
            if step.then is not None and not place:
                await self.misbehave(step.then)
        self.contents.append(types.Content(role="model", parts=[types.Part(text=said)]))

    async def _call(self, calls: list[Call], then: list[Misbehave]) -> None:
        named = {step.call_id or f"call-{next(self._names)}": step for step in calls}
        self._calls = dict.fromkeys(named)
        asked = [{"id": name, "name": step.name, "args": json.loads(step.arguments)} for name, step in named.items()]
        await self.emit(session_resumption_update={"resumable": False})
        await self.emit(tool_call={"function_calls": asked})
        for step in then:
            await self.misbehave(step)
        while not all(self._calls.values()):
            self._results.clear()
            await self._results.wait()
        results = [response.response for response in self._calls.values() if response is not None]
        await self._speak(Say(f"The tools gave {json.dumps(results)}"))
