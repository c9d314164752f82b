"""The calls on peer connections: opened by an offer, known by an id, ended by either side.

::

    POST /v1/realtime/calls  --offer-->  Lines.open --> a task a call:  Session  <-->  Peer  <--UDP-->  browser
                            <--answer--                                    ^
    POST /v1/realtime/calls/{id}/hangup --> Lines.hang_up           WS ?call_id=: the same events, beside it
"""

from __future__ import annotations

import asyncio
import dataclasses
import json
import logging

from chassis import telemetry
from voice_gateway import protocol
from voice_gateway.conversation import new_id
from voice_gateway.credentials import Credentials, Grant
from voice_gateway.errors import CallGone, EventError, Refused
from voice_gateway.outbox import LAST_WORDS_S, NORMAL, TOO_SLOW, Close
from voice_gateway.session import Around, Session, session_span
from voice_gateway.sessions import Sessions
from voice_gateway.transports.webrtc.offer import Offer, read_offer
from voice_gateway.transports.webrtc.opus import OpusThread
from voice_gateway.transports.webrtc.peer import Peer

log = logging.getLogger(__name__)

IDLE_LOOK_S = 5.0
MAX_UNREAD_EVENTS = 1000
"""A client that sends more before they can be served is sent away; the data channel cannot make it wait."""


class Lines:
    """The calls of this process; ``close`` when their sessions have ended."""

    def __init__(self, around: Around, credentials: Credentials, sessions: Sessions) -> None:
        self._around, self._credentials, self._sessions = around, credentials, sessions
        self._calls: dict[str, _Call] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._thread: OpusThread | None = None

    def __len__(self) -> int:
        """How many calls there are."""
        return len(self._calls)

    async def open(self, credential: str, content_type: str, body: bytes) -> tuple[str, str]:
        """The id of a new call and the SDP answer to the offer in ``body``; :class:`Refused` when there can be none."""
        offer = read_offer(content_type, body)
        means = self._around.means
        means.updated(means.first(), offer.session)  # a wrong wish is refused before the credential is spent
        answered: asyncio.Future[tuple[str, str]] = asyncio.get_running_loop().create_future()
        task = asyncio.create_task(self._serve(credential, offer, answered))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return await answered

    def session(self, call_id: str) -> Session:
        """The session of a call; :class:`CallGone` when there is none."""
        return self._call(call_id).session

    def hang_up(self, call_id: str) -> None:
        """End a call; :class:`CallGone` when there is none."""
        self._call(call_id).hung_up.set()

    async def close(self) -> None:
        """Wait for the calls to end, and end what they were served with."""
        for call in self._calls.values():
            call.hung_up.set()
        if self._tasks:
            await asyncio.wait(self._tasks)
        if self._thread is not None:
            await asyncio.to_thread(self._thread.stop)

    def _call(self, call_id: str) -> _Call:
        call = self._calls.get(call_id)
        if call is None or call.hung_up.is_set():
            raise CallGone
        return call

    async def _serve(self, credential: str, offer: Offer, answered: asyncio.Future[tuple[str, str]]) -> None:
        try:
            self._sessions.check_room()  # before the credential is spent, so that it can be brought again
            grant = self._credentials.redeem(credential)
            self._around.calls.connected(grant.call_id)
            grant = dataclasses.replace(grant, config=self._around.means.updated(grant.config, offer.session))
            with session_span(grant) as current:
                session = Session(grant, self._around, telemetry.traceparent_of(current), sound_in_events=False)
                self._sessions.add(session)
                call = _Call(grant, session, self._around, self._opus())
                self._calls[call.id] = call
                try:
                    await call.run(offer, answered)
                finally:
                    del self._calls[call.id]
                    self._sessions.remove(session)
        except (Refused, EventError) as error:
            if not answered.done():
                answered.set_exception(error)
        finally:
            if not answered.done():
                answered.cancel()

    def _opus(self) -> OpusThread:
        self._thread = self._thread or OpusThread()
        return self._thread


class _Call:
    def __init__(self, grant: Grant, session: Session, around: Around, thread: OpusThread) -> None:
        self.id = "rtc_" + grant.call_id.removeprefix("sess_")
        self.session = session
        self.hung_up = asyncio.Event()
        self._grant, self._settings = grant, around.settings
        self._told: asyncio.Queue[str | bytes] = asyncio.Queue()
        self._stirred = False
        self._peer = Peer(session.playout, thread, around.settings, hear=session.hear, read=self._read)

    async def run(self, offer: Offer, answered: asyncio.Future[tuple[str, str]]) -> None:
        """Answer the offer, and carry the session until either side ends it."""
        about = {"call_id": self._grant.call_id, "chat_id": str(self._grant.chat_id)}
        try:
            sdp = await self._peer.answer(offer)
            if not answered.done():
                answered.set_result((self.id, sdp))
            log.info("a call began", extra=about)
            await self._carry(offer.has_channel)
        finally:
            await self.session.leave()
            await self._peer.close()
            log.info("a call ended", extra={**about, "why": self._peer.why})

    async def _carry(self, has_channel: bool) -> None:
        ends = [
            asyncio.create_task(work)
            for work in (
                self._connect(),
                self._serve_events(),
                self._peer.over.wait(),
                self.hung_up.wait(),
                self._peer.watch(self._settings.call_lost_s),
                self._idle(self._settings.idle_s),
            )
        ]
        writing = asyncio.create_task(self._write() if has_channel else self._forget())
        try:
            await asyncio.wait([*ends, writing], return_when=asyncio.FIRST_COMPLETED)
            if not self._peer.over.is_set() and not writing.done():
                await self.session.leave(NORMAL)
            if self._peer.reads:
                await asyncio.wait({writing}, timeout=LAST_WORDS_S)
        finally:
            for task in (*ends, writing):
                task.cancel()
            await asyncio.wait([*ends, writing])
        for task in (*ends, writing):
            if not task.cancelled():
                task.result()

    async def _connect(self) -> None:
        """Give up a connection that does not come about; else never return."""
        try:
            async with asyncio.timeout(self._settings.call_connect_s):
                await self._peer.connected.wait()
        except TimeoutError:
            log.info("a call did not connect in time", extra={"call_id": self._grant.call_id})
            return
        await asyncio.Event().wait()

    async def _idle(self, idle_s: float) -> None:
        """End a call in which nobody said anything for ``idle_s``, though its microphone is open."""
        quiet_s = 0.0
        while quiet_s < idle_s:
            await asyncio.sleep(min(IDLE_LOOK_S, idle_s / 4))
            quiet_s = 0.0 if self._stirred or self.session.busy else quiet_s + min(IDLE_LOOK_S, idle_s / 4)
            self._stirred = False
        await self.session.leave(Close(1000, "Nothing was said for a long time; call again with a new credential."))

    def _read(self, message: str | bytes) -> None:
        self._stirred = True
        if self._told.qsize() >= MAX_UNREAD_EVENTS:
            self.session.outbox.close(TOO_SLOW)
            return
        self._told.put_nowait(message)

    async def _serve_events(self) -> None:
        """Hand the client's events to the session, one after the other."""
        while True:
            await self.session.receive(await self._told.get())

    async def _write(self) -> None:
        """Send what the session says until it is closed."""
        async for text in self.session.outbox:
            if not await self._peer.send(text):
                await self._peer.send(_too_large())
        await self._peer.flush()

    async def _forget(self) -> None:
        """Without a data channel nobody reads what is said."""
        async for _ in self.session.outbox:
            pass


def _too_large() -> str:
    event = protocol.refusal("event_too_large", "An event was larger than this data channel takes, and was left out.")
    return json.dumps({"event_id": new_id("event"), **event})
