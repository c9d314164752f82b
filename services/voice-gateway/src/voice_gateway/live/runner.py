"""One live session over whatever connections it takes (L1-L6).

::

    InputQueue --> input pump --> RealtimeClient <== provider
                                        |
    reader <-- Telling <-- event pump <-'--> turns, tools, transcripts
                               |
           a connection lost, or left in time: wait, connect, tell it what was said, go on

Time is the event loop's alone, so that a loop with a clock of its own runs a session as fast as it likes.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator, Callable, Sequence

from contracts.vocabulary import JsonObject
from voice_gateway.live.config import RealtimeConfig
from voice_gateway.live.connection import Connection
from voice_gateway.live.dispatch import Dispatch
from voice_gateway.live.errors import ConnectionLost, LiveError, SessionRefused
from voice_gateway.live.event_pump import EventPump
from voice_gateway.live.events import (
    AgentChanged,
    Failure,
    GoAway,
    Interrupted,
    RealtimeEvent,
    Reconnected,
    Reconnecting,
    SessionUpdate,
    ToolCall,
)
from voice_gateway.live.hooks import HookList, Hooks
from voice_gateway.live.input_pump import InputPump
from voice_gateway.live.input_queue import InputQueue
from voice_gateway.live.port import Line, Part, RealtimeClient, Toolbox, ToolSpec, TranscriptStore
from voice_gateway.live.reconnecting import Backoff, Leaving, Rollover
from voice_gateway.live.seeding import Seeding
from voice_gateway.live.telling import Telling
from voice_gateway.live.turns import Turns
from voice_gateway.live.unheard import Unheard

log = logging.getLogger(__name__)

CONNECT_S = 15.0
CLOSE_S = 3.0
QUIET_S = 2.0
"""After the end of the input a session ends when nothing was at work, and nothing came, for so long."""
DRAIN_S = 30.0
SILENT_S = 45.0
"""A provider that owes an answer and says nothing at all for so long is taken for lost."""


class LiveSession:
    """One conversation. ``played_ms`` tells how much of the last response's sound was played, None where unknown."""

    def __init__(
        self,
        client: RealtimeClient,
        config: RealtimeConfig,
        *,
        queue: InputQueue,
        tools: Toolbox,
        hooks: Sequence[Hooks] = (),
        transcripts: TranscriptStore | None = None,
        history: Sequence[Line] = (),
        resume_handle: str | None = None,
        played_ms: Callable[[], int | None] = lambda: None,
        agent: str | None = None,
    ) -> None:
        self._client, self._config, self._queue, self._tools = client, config, queue, tools
        self._played_ms, self._agent = played_ms, agent
        can, handle = client.capabilities, resume_handle if config.resumption else None
        self._told, self._connection, self._unheard = Telling(), Connection(), Unheard()
        self._hooks = HookList(hooks)
        tell = self._told.tell
        self._turns = Turns(self._hooks, tell, transcripts, history)
        self._dispatch = Dispatch(self, self._hooks, told=tell, exhausted=self._exhausted)
        self._pump = EventPump(
            self._turns,
            self._dispatch,
            self._unheard,
            tell,
            output_rate=can.output_rate,
            orchestrates=can.orchestrates,
            transcribes=config.input_transcription,
        )
        self._input = InputPump(
            client,
            self._connection,
            self._turns,
            self._unheard,
            tell,
            config=config,
            make_room=self._make_room,
            stop=self._stop_answer,
        )
        self._seeding = Seeding(client, self._turns, self._unheard, handle)
        self._backoff = Backoff(config.reconnect)
        self._leaving = Leaving(lambda: self._pump.quiet, self._connection.leave)
        self._stirred, self._came = asyncio.Event(), asyncio.Event()
        self._handing_over: asyncio.Future[None] | None = None
        self._runs: asyncio.Task[None] | None = None
        self._closing = False

    @property
    def queue(self) -> InputQueue:
        """What the person sends."""
        return self._queue

    @property
    def history(self) -> tuple[Line, ...]:
        """The lines of the turns that are over, for whoever goes on with the conversation."""
        return self._turns.log.lines

    async def events(self) -> AsyncGenerator[RealtimeEvent]:
        """Open the session and give its events, to one reader; leaving the loop early closes the session."""
        if self._runs is not None:
            raise RuntimeError("A live session runs once: make another one.")
        if self._closing:
            return
        self._runs = asyncio.create_task(self._run())
        try:
            async for event in self._told:
                yield event
        finally:
            await self.close()

    async def interrupt(self, played_ms: int | None = None) -> None:
        """Stop the answer, as the person wishes; ``played_ms`` of its sound were played where that is known.

        What they asked before it, and is still on its way, is asked and not answered.
        """
        self._queue.silence_asked()
        self._input.silence_asked()
        await self._stop_answer(played_ms)

    async def _stop_answer(self, played_ms: int | None = None) -> None:
        await self._pump.interrupted()
        if self._connection.up:
            await self._stop_provider(played_ms)

    async def switch(self, part: Part) -> None:
        """Give the floor to another agent: within the connection where its provider can, else over a new one.

        :class:`~voice_gateway.live.errors.LiveError` when the session ends before the other agent has the floor.
        """
        if self._connection.over:
            raise LiveError("closed", "The conversation has ended.")
        can, previous, voice = self._client.capabilities, self._agent, part.voice or self._config.voice
        within = can.changes_agent and part.shares_context and (voice == self._config.voice or can.changes_voice)
        self._config = self._config.model_copy(update={"instructions": part.instructions, "voice": voice})
        self._agent, self._pump.muted = part.agent, True
        self._take_tools(part.tools)
        if within:
            await self._connection.send(lambda: self._client.update(self._config, self._specs()))
        else:
            self._seeding.hand_over(shares_context=part.shares_context)
            self._handing_over = self._handing_over or asyncio.get_running_loop().create_future()
            self._connection.leave("handoff")
            await asyncio.shield(self._handing_over)
        self._told.tell(AgentChanged(agent=part.agent, previous=previous, reason=part.reason))

    async def close(self) -> None:
        """End the session at once; may be called more than once, and while it is being read."""
        first, self._closing = not self._closing, True
        if self._runs is None or self._runs is asyncio.current_task():
            return
        if first:
            self._runs.cancel()
        await asyncio.wait({self._runs})

    async def send_result(self, call: ToolCall, result: JsonObject, asked: Callable[[], bool]) -> None:
        """Send a tool's result, while the provider that asked for it is there."""
        await self._connection.send(lambda: self._client.send_tool_result(call.id, call.name, result), asked)

    async def respond(self, asked: Callable[[], bool]) -> None:
        """Ask for the response that follows a tool turn."""
        await self._connection.send(self._client.respond, asked)

    async def _run(self) -> None:
        await self._hooks.start()
        feeding = asyncio.create_task(self._feed())
        try:
            await self._live(feeding)
        except LiveError as error:
            self._told.tell(Failure(code=error.code, message=error.message, fatal=True))
        except Exception as error:
            log.exception("a live session broke", extra={"error": type(error).__name__})
            message = "Something went wrong in the conversation. Start it again."
            self._told.tell(Failure(code="internal_error", message=message, fatal=True))
        finally:
            feeding.cancel()
            await self._end()

    async def _end(self) -> None:
        await self._dispatch.close()
        self._connection.end()
        if self._handing_over is not None and not self._handing_over.done():
            self._handing_over.set_exception(LiveError("closed", "The conversation has ended."))
            self._handing_over.exception()
        await self._close_client()
        await self._turns.interrupt()
        await self._turns.close()
        await self._hooks.end()
        self._told.end()

    async def _live(self, feeding: asyncio.Task[None]) -> None:
        self._take_tools(self._tools)
        opened = False
        while not self._connection.finished:
            try:
                resumed = await self._open()
                if opened:
                    self._told.tell(Reconnected(resumed=resumed))
                opened = True
                since = asyncio.get_running_loop().time()
                parts = (self._receive, self._leaving.watch, self._listen, lambda: _done(feeding))
                ending = await self._connection.carry(*parts)
                self._backoff.lasted(asyncio.get_running_loop().time() - since)
            except ConnectionLost:
                ending = "drop"
            await self._close_client()
            await self._lost()
            if ending == "drop" and not self._connection.finished:
                if self._queue.closed:
                    if self._turns.open:
                        raise ConnectionLost
                    return
                await self._pause()
            elif ending in ("go_away", "rollover"):
                self._told.tell(Reconnecting(attempt=0, wait_s=0, reason=ending))

    async def _open(self) -> bool:
        async with self._connection.opening():
            resumed = await self._connect()
            try:
                async with asyncio.timeout(CONNECT_S):
                    await self._seeding.seed(resumed=resumed, waiting=self._dispatch.busy)
            except TimeoutError as error:
                raise ConnectionLost from error
            life_s = self._client.capabilities.session_s
            self._leaving.plan(Rollover.of_life(life_s) if life_s else None)
            if self._handing_over is not None and not self._handing_over.done():
                self._handing_over.set_result(None)
            self._handing_over = None
        return resumed

    async def _connect(self) -> bool:
        handle = self._seeding.handle
        try:
            async with asyncio.timeout(CONNECT_S):
                await self._client.connect(self._config, self._specs(), handle)
        except TimeoutError as error:
            raise ConnectionLost from error
        except SessionRefused:
            if handle is None:
                raise
            await self._close_client()
            self._seeding.update(None)
            self._dispatch.abandon()
            self._told.tell(SessionUpdate(resumption_handle=None))
            return await self._connect()
        return handle is not None

    async def _close_client(self) -> None:
        try:
            async with asyncio.timeout(CLOSE_S):
                await self._client.close()
        except Exception as error:
            log.warning("a connection did not close well", extra={"error": type(error).__name__})

    async def _lost(self) -> None:
        self._pump.lost(known=self._seeding.knows_calls)
        self._seeding.lost()
        if self._seeding.cut:
            message = "The connection was lost in the middle of the answer."
            self._told.tell(Failure(code="answer_cut", message=message))
            await self._turns.complete()

    async def _pause(self) -> None:
        wait_s = self._backoff.wait_s()
        self._told.tell(Reconnecting(attempt=self._backoff.attempt, wait_s=wait_s, reason="drop"))
        await asyncio.sleep(wait_s)

    async def _receive(self) -> None:
        async for event in self._client.receive():
            self._backoff.received()
            self._came.set()
            await self._told.room()
            await self._take(event)
            self._stirred.set()
            self._leaving.stirred()
        raise ConnectionLost

    async def _listen(self) -> None:
        """Notice a provider that fell silent while it owes something; our own agent has bounds of its own."""
        while True:
            self._came.clear()
            try:
                async with asyncio.timeout(SILENT_S):
                    await self._came.wait()
            except TimeoutError:
                if self._pump.owed and not self._client.capabilities.orchestrates:
                    raise ConnectionLost from None

    async def _take(self, event: RealtimeEvent) -> None:
        match event:
            case Failure(fatal=True):
                raise LiveError(event.code, event.message)
            case SessionUpdate():
                self._seeding.update(event.resumption_handle)
            case ToolCall():
                self._seeding.called()
            case _:
                pass
        await self._pump.take(event)
        match event:
            case GoAway():
                self._leaving.plan(Rollover.of_notice(event.time_left_s))
            case Interrupted() if self._client.capabilities.truncation:
                await self._stop_provider()
            case _:
                pass

    async def _stop_provider(self, played_ms: int | None = None) -> None:
        played = self._played_ms() if played_ms is None else played_ms
        await self._connection.send(lambda: self._client.interrupt(played))

    async def _feed(self) -> None:
        await self._input.run(self._queue)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(DRAIN_S):
                await self._drained()
        self._connection.leave("finished")

    async def _drained(self) -> None:
        while True:
            self._stirred.clear()
            try:
                async with asyncio.timeout(QUIET_S):
                    await self._stirred.wait()
            except TimeoutError:
                if self._pump.idle:
                    return

    async def _make_room(self) -> None:
        self._dispatch.new_input()
        if not self._pump.idle or self._played_ms() is not None:
            await self._stop_answer()

    async def _exhausted(self) -> None:
        message = "The answer was given up: it asked for too many tools in a row."
        self._told.tell(Failure(code="tool_rounds", message=message))
        await self._turns.complete()

    def _take_tools(self, tools: Toolbox) -> None:
        self._tools = self._pump.toolbox = tools
        self._pump.allowed = frozenset(spec.name for spec in self._specs())

    def _specs(self) -> Sequence[ToolSpec]:
        return self._tools.specs(self._config.tool_tags)


async def _done(task: asyncio.Task[None]) -> None:
    """As long as the task lives; its failure is the caller's."""
    await asyncio.wait({task})
    await task
    await asyncio.Event().wait()
