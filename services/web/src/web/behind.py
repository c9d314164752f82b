"""The services behind web, asked over HTTP: one class for each, with what web needs of it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Generic, Literal, TypeVar
from urllib.parse import quote
from uuid import UUID

from pydantic import BaseModel, ValidationError
from starlette.responses import Response

from chassis.http import CallFailed, Refused, ServiceClient, open_client
from chassis.replicas import Replica, marked_with
from contracts.health import Ready
from contracts.live import MAX_RECALLED, Memories, ProfileCard
from contracts.refreshes import Files, Manifest, RefreshReport, RefreshRequested
from contracts.search import SourceText
from contracts.turns import CancelRequested, Chat, Heard, Turn, TurnAccepted, TurnAsked
from contracts.voice import LiveOffer
from web.errors import GatewayGone, NotThere, UnknownTurn
from web.settings import Settings

M = TypeVar("M", bound=BaseModel)

REFRESH_S = 3600.0
"""A refresh of a large folder embeds for minutes; its report is worth waiting for."""
GLANCE_S = 1.0
HANDED_BACK = ("content-type", "location", "retry-after")
ELSEWHERE = frozenset({429, 503})
"""A gateway that answers so is full, or stops: the next one is asked."""


class Reading(Generic[M]):
    """What is asked again and again; an answer that is the same as the last, byte for byte, is not read again.

    A list of ten thousand files takes a tenth of a second to read, in which no frame would be passed on.
    """

    def __init__(self, path: str, kind: type[M]) -> None:
        self._path, self._kind = path, kind
        self._last: tuple[bytes, M] | None = None

    async def now(self, client: ServiceClient) -> M:
        """What the service says now; the very same object while that does not change."""
        response = await client.call("GET", self._path)
        if self._last is None or self._last[0] != response.content:
            self._last = response.content, client.read(response, self._kind)
        return self._last[1]


class Service:
    """One service behind web, and what a person calls it."""

    def __init__(self, name: str, client: ServiceClient) -> None:
        self.name, self.client = name, client

    async def ready(self) -> Ready:
        """What its ``/health/ready`` says; a 503 says what it waits for."""
        import httpx2

        try:
            answer = await self.client.raw.get("/health/ready", timeout=GLANCE_S)
            return Ready.model_validate_json(answer.content)
        except (httpx2.HTTPError, ValidationError) as error:
            raise NotThere(self.name) from error


class Agent(Service):
    """Owns chats and turns."""

    async def accept(self, asked: TurnAsked) -> TurnAccepted:
        """Store the question, to be answered in its turn."""
        return await self.client.post("/turns", TurnAccepted, asked)

    async def turn(self, turn_id: UUID) -> Turn:
        """The stored turn; :class:`UnknownTurn` when there is none, :class:`NotThere` when nobody knows."""
        try:
            return await self.client.get(f"/turns/{turn_id}", Turn)
        except Refused as error:
            if error.status == 404:
                raise UnknownTurn from error
            raise NotThere(self.name) from error
        except CallFailed as error:
            raise NotThere(self.name) from error

    async def chat(self, chat_id: UUID) -> Chat:
        """The turns of a chat."""
        return await self.client.get(f"/chats/{chat_id}", Chat)

    async def profile(self, user_id: str) -> ProfileCard:
        """What a person said of themselves."""
        return await self.client.get(f"/people/{user_id}/profile", ProfileCard)

    async def memories(self, user_id: str) -> Memories:
        """The newest turns of a person that are remembered."""
        return await self.client.get(f"/people/{user_id}/memories", Memories, params={"most": str(MAX_RECALLED)})

    async def erase(self, user_id: str, what: Literal["profile", "memories"]) -> None:
        """Erase what a person said of themselves, or their turns."""
        await self.client.call("DELETE", f"/people/{user_id}/{what}")

    async def cancel(self, turn_id: UUID, asked: CancelRequested) -> Response:
        """Stop a turn."""
        return await self._told(f"/turns/{turn_id}/cancel", asked)

    async def heard(self, turn_id: UUID, heard: Heard) -> Response:
        """Say how much of an answer was heard."""
        return await self._told(f"/turns/{turn_id}/heard", heard)

    async def _told(self, path: str, body: BaseModel) -> Response:
        answer = await self.client.call("POST", path, body)
        return Response(answer.content, answer.status_code, media_type=answer.headers.get("content-type"))


class Retriever(Service):
    """Owns the index."""

    def __init__(self, name: str, client: ServiceClient) -> None:
        super().__init__(name, client)
        self._manifest = Reading("/manifest", Manifest)

    async def manifest(self) -> Manifest:
        """Every visible document, and the state of the corpus."""
        return await self._manifest.now(self.client)

    async def document(self, path: str, version: str | None) -> SourceText:
        """The visible text of a document."""
        return await self.client.get(
            f"/documents/{quote(path)}", SourceText, params={"version": version} if version else None
        )


class Ingestor(Service):
    """Owns the folder."""

    def __init__(self, name: str, client: ServiceClient) -> None:
        super().__init__(name, client)
        self._files = Reading("/files", Files)

    async def files(self) -> Files:
        """What it saw, and why it refused."""
        return await self._files.now(self.client)

    async def refresh(self, asked: RefreshRequested) -> RefreshReport:
        """Compare the tree with the index now; its report, however long it takes."""
        return await self.client.post("/refresh", RefreshReport, asked, timeout=REFRESH_S)


class VoiceGateway(Service):
    """Owns voice sessions, each in the replica that made its credential: its name is in it, and in the call's id."""

    async def offer(self, timeout: float | None = None) -> LiveOffer:
        """What a live session may be opened with; every replica offers the same. ``timeout`` in seconds."""
        return await self.client.get("/v1/graph/live", LiveOffer, timeout=timeout)

    async def signal(self, target: str, body: bytes, headers: Mapping[str, str], belongs_to: str = "") -> Response:
        """Pass signalling on, and hand its answer back as it is.

        ``belongs_to`` is a credential or a call's id. What belongs to none goes to a replica that has room for more.
        """
        last: Response | None = None
        for replica in await self.serving(belongs_to):
            try:
                last = await self._post(target, body, headers, replica)
            except NotThere:
                continue
            if last.status_code not in ELSEWHERE:
                break
        if last is None:
            raise NotThere(self.name)
        return last

    async def serving(self, belongs_to: str) -> Sequence[Replica | None]:
        """Whom to ask, one after the other; ``None`` is the only one there is."""
        if self.client.replicas is None:
            return (None,)
        try:
            if (name := marked_with(belongs_to)) is None:
                return await self.client.replicas.ordered()
            replica = await self.client.replicas.named(name)
        except OSError as error:
            raise NotThere(self.name) from error
        if replica is None:
            raise GatewayGone
        return (replica,)

    async def _post(self, target: str, body: bytes, headers: Mapping[str, str], replica: Replica | None) -> Response:
        import httpx2

        to = {"replica": replica.name} if replica is not None else None
        try:
            answer = await self.client.raw.post(target, content=body, headers=dict(headers), extensions=to)
        except httpx2.HTTPError as error:
            raise NotThere(self.name) from error
        kept = {name: answer.headers[name] for name in HANDED_BACK if name in answer.headers}
        return Response(answer.content, answer.status_code, kept)


@dataclass(frozen=True)
class Behind:
    """The services that web speaks to."""

    ingestor: Ingestor
    retriever: Retriever
    agent: Agent
    voice: VoiceGateway

    @property
    def all(self) -> tuple[Service, ...]:
        """Each service, in the order that a question and a save go through them."""
        return (self.ingestor, self.retriever, self.agent, self.voice)


@asynccontextmanager
async def open_behind(settings: Settings) -> AsyncGenerator[Behind]:
    """Clients for the services behind web, closed together."""
    async with AsyncExitStack() as stack:
        opened = [
            await stack.enter_async_context(open_client(url, name))
            for url, name in (
                (settings.ingestor_url, "ingestor"),
                (settings.retriever_url, "retriever"),
                (settings.agent_url, "agent"),
                (settings.voice_url, "voice gateway"),
            )
        ]
        ingestor, retriever, agent, voice = opened
        yield Behind(
            ingestor=Ingestor("ingestor", ingestor),
            retriever=Retriever("retriever", retriever),
            agent=Agent("agent", agent),
            voice=VoiceGateway("voice gateway", voice),
        )
