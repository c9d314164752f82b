"""A bridge on a free port, and behind it a session whose every event a test gives."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, cast
from uuid import UUID, uuid4

from fastapi import FastAPI, WebSocket
from voice_fakes import serving
from voice_session_fakes import HandAgent
from websockets.asyncio.client import ClientConnection, connect

from voice_gateway.around import Around
from voice_gateway.calls import Calls
from voice_gateway.credentials import Credentials, Grant
from voice_gateway.live.config import RealtimeConfig
from voice_gateway.live.events import RealtimeEvent
from voice_gateway.live.input_queue import InputQueue
from voice_gateway.live.port import Activity, Capabilities
from voice_gateway.orchestrators.opening import Orchestrated
from voice_gateway.session_config import SessionConfig
from voice_gateway.sessions import Sessions
from voice_gateway.settings import Settings
from voice_gateway.transports.bridge import serving as bridge
from voice_gateway.transports.bridge.messages import Wanted

CAN = Capabilities("local", 24_000, 24_000, orchestrates=True)
LIKE_OPENAI = Capabilities("openai", 24_000, 24_000, truncation=True)
CHAT = UUID("00000000-0000-4000-8000-000000000001")


class HandQueue(InputQueue):
    """Notes what comes in."""

    def __init__(self, on_close: Callable[[], None]) -> None:
        super().__init__()
        self.taken: list[tuple[str, object]] = []
        self._on_close = on_close
        self.full = False

    def send_audio(self, pcm: bytes, sample_rate: int = 16_000) -> bool:
        """Note the sound; one frame behind the other is one sound."""
        if self.taken and self.taken[-1][0] == f"audio {sample_rate}":
            pcm = cast(bytes, self.taken.pop()[1]) + pcm
        self.taken.append((f"audio {sample_rate}", pcm))
        return True

    def send_text(self, text: str) -> bool:
        """Note the text."""
        self.taken.append(("text", text))
        return not self.full

    def send_activity(self, kind: Activity) -> bool:
        """Note the mark."""
        self.taken.append(("activity", kind))
        return not self.full

    def close(self) -> None:
        """Note the end."""
        super().close()
        self._on_close()


class HandSession:
    """Tells what it is given; the end of its input ends it unless ``lingers``."""

    def __init__(self) -> None:
        self._queue = HandQueue(self._input_ended)
        self.lingers = False
        self.interrupted: list[int | None] = []
        self.closed = False
        self._told: asyncio.Queue[RealtimeEvent | Exception | None] = asyncio.Queue()

    @property
    def queue(self) -> HandQueue:
        """Its input."""
        return self._queue

    def tell(self, *events: RealtimeEvent) -> None:
        """Tell these next."""
        for event in events:
            self._told.put_nowait(event)

    def fail(self, error: Exception) -> None:
        """Break."""
        self._told.put_nowait(error)

    def end(self) -> None:
        """Be over."""
        self._told.put_nowait(None)

    async def events(self) -> AsyncIterator[RealtimeEvent]:
        """What it was given."""
        while (event := await self._told.get()) is not None:
            if isinstance(event, Exception):
                raise event
            yield event

    async def interrupt(self, played_ms: int | None = None) -> None:
        """Note it."""
        self.interrupted.append(played_ms)

    async def close(self) -> None:
        """Note it."""
        self.closed = True

    def _input_ended(self) -> None:
        if not self.lingers:
            self.end()


@dataclass
class Bridge:
    """A running bridge."""

    url: str
    credentials: Credentials
    sessions: Sessions
    opened: list[HandSession]
    wanted: list[Wanted]
    refusal: list[Exception]
    """What opening a session fails with, if with anything."""

    def token(self) -> str:
        """A credential."""
        return self.credentials.mint(Grant("sess_0123456789", CHAT, SessionConfig())).value

    @asynccontextmanager
    async def connected(self, **init: object) -> AsyncGenerator[Talker]:
        """A client whose session stands."""
        headers = {"authorization": f"Bearer {self.token()}"}
        async with connect(self.url, additional_headers=headers, max_size=None) as socket:
            client = Talker(socket)
            await client.say(**init)
            client.ready = await client.hear()
            assert client.ready["type"] == "ready", client.ready
            yield client


@dataclass
class Talker:
    """A client of the bridge."""

    socket: ClientConnection
    ready: dict[str, Any] = field(default_factory=dict[str, Any])

    async def say(self, **message: object) -> None:
        """Send JSON."""
        await self.socket.send(json.dumps(message))

    async def next(self) -> bytes | dict[str, Any]:
        """The next message."""
        async with asyncio.timeout(5):
            message = await self.socket.recv()
        return message if isinstance(message, bytes) else cast(dict[str, Any], json.loads(message))

    async def hear(self) -> dict[str, Any]:
        """The next message, which is JSON."""
        message = await self.next()
        assert isinstance(message, dict)
        return message

    async def hear_until(self, kind: str) -> list[bytes | dict[str, Any]]:
        """The messages up to the next one of this kind."""
        heard: list[bytes | dict[str, Any]] = []
        while not heard or not isinstance(last := heard[-1], dict) or last["type"] != kind:
            heard.append(await self.next())
        return heard


@asynccontextmanager
async def bridging(
    settings: Settings | None = None, *, drain_s: float = 5.0, first_frame_s: float = 5.0
) -> AsyncGenerator[Bridge]:
    """A bridge; the sessions that it opens are in ``opened``."""
    settings = settings or Settings()
    credentials = Credentials(lifetime_s=60, limit=100)
    sessions = Sessions(settings.max_sessions)
    around = Around(settings, HandAgent(), Calls())
    opened: list[HandSession] = []
    asked: list[Wanted] = []
    refusal: list[Exception] = []

    @asynccontextmanager
    async def opens(
        grant: Grant, wanted: Wanted, traceparent: str | None, played_ms: Callable[[], int | None]
    ) -> AsyncGenerator[Orchestrated]:
        asked.append(wanted)
        if refusal:
            raise refusal[0]
        session = HandSession()
        opened.append(session)
        try:
            config: RealtimeConfig = wanted.config
            names = wanted.orchestrator or "cascade", wanted.scenario or "notes", wanted.agent or "notes"
            can = LIKE_OPENAI if wanted.orchestrator == "live" else CAN
            yield Orchestrated(session, config, can, *names)
        finally:
            await session.close()

    app = FastAPI()

    @app.websocket(bridge.PATH)
    async def live(websocket: WebSocket) -> None:  # pyright: ignore[reportUnusedFunction]
        await bridge.serve(
            websocket,
            around=around,
            credentials=credentials,
            sessions=sessions,
            opens=opens,
            drain_s=drain_s,
            first_frame_s=first_frame_s,
        )

    async with serving(app) as url:
        address = url.replace("http", "ws", 1) + bridge.PATH
        yield Bridge(address, credentials, sessions, opened, asked, refusal)


def response_id() -> str:
    """A fresh one."""
    return f"resp_{uuid4().hex}"
