"""A folder, a bus, a retriever that keeps the contract in memory and answers over real HTTP, and the ingestor."""

from __future__ import annotations

import asyncio
import datetime as dt
import socket
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from uuid import UUID

import uvicorn
from fastapi import FastAPI, HTTPException, Response

from chassis.bus import Bus, BusUnavailable, Reject
from chassis.bus.memory import MemoryBus
from chassis.health import Health
from chassis.http import open_client
from chassis.telemetry import inject
from contracts.documents import DocumentVersion, ManifestEntry
from contracts.events import (
    DocumentChanged,
    DocumentDeleted,
    DocumentRejected,
    Event,
    RefreshFinished,
    RefreshSealed,
)
from contracts.refreshes import CorpusState, Manifest, RefreshReport, RejectedFile
from contracts.search import RefreshState
from ingestor.app import Parts, assemble
from ingestor.index import RetrieverIndex
from ingestor.settings import Settings

WITHIN_S = 60.0


async def until(condition: Callable[[], object], *, within_s: float = WITHIN_S) -> None:
    """Wait for a condition, with a bound."""
    async with asyncio.timeout(within_s):
        while not condition():  # noqa: ASYNC110 - much becomes true here without an event
            await asyncio.sleep(0.005)


async def eventually(condition: Callable[[], Awaitable[object]], *, within_s: float = WITHIN_S) -> None:
    """Wait for a condition that has to be asked for, with a bound."""
    async with asyncio.timeout(within_s):
        while not await condition():  # noqa: ASYNC110 - it is asked of another process
            await asyncio.sleep(0.02)


@dataclass
class Refresh:
    """A refresh as the fake retriever knows it."""

    staged: dict[str, DocumentChanged | DocumentDeleted] = field(
        default_factory=dict[str, "DocumentChanged | DocumentDeleted"]
    )
    seal: RefreshSealed | None = None
    report: RefreshReport | None = None


class NotingBus(MemoryBus):
    """A memory bus that keeps what was published; it can be made to be away."""

    def __init__(self) -> None:
        super().__init__()
        self.published: list[Event] = []
        self.away = False

    async def publish(self, *events: Event) -> None:
        """Publish, and keep."""
        if self.away:
            await asyncio.sleep(0.01)
            raise BusUnavailable("The bus is away.")
        self.published += events
        await super().publish(*events)


class FakeRetriever:
    """Stages, seals and shows as the contract says; ``hear`` can be made to refuse or to lose events."""

    def __init__(self, bus: Bus) -> None:
        self.bus = bus
        self.documents: dict[str, DocumentChanged] = {}
        self.gone: dict[str, int] = {}
        self.refreshes: dict[UUID, Refresh] = {}
        self.reports: list[RefreshReport] = []
        self.events: list[Event] = []
        self.traces: list[str | None] = []
        self.embedding = "scripted/1"
        self.served = "scripted/1"
        self.filled = False
        self.version = 0
        self.refuses: Callable[[DocumentChanged], str | None] = lambda event: None
        self.deaf = False
        self.mute = False
        self.down = False
        self.asked = 0
        self.texts_embedded = 0
        self.may_stage = asyncio.Event()
        self.may_stage.set()

    async def run(self) -> None:
        """Consume until cancelled."""
        await self.bus.consume(
            "documents",
            "retriever",
            {DocumentChanged: self.document, DocumentDeleted: self.document, RefreshSealed: self.sealed},
        )

    async def document(self, event: DocumentChanged | DocumentDeleted) -> None:
        """Stage, or refuse."""
        if self.deaf:
            return
        await self.may_stage.wait()
        self.events.append(event)
        self.traces.append(inject())
        if isinstance(event, DocumentChanged) and (reason := self.refuses(event)):
            await self._fail(event, reason)
            raise Reject(reason)
        refresh = self.refreshes.setdefault(event.refresh_id, Refresh())
        refresh.staged[event.path] = event
        await self._show(event.refresh_id)

    async def sealed(self, event: RefreshSealed) -> None:
        """Write the seal down."""
        if self.deaf:
            return
        self.events.append(event)
        self.refreshes.setdefault(event.refresh_id, Refresh()).seal = event
        await self._show(event.refresh_id)

    async def _fail(self, event: DocumentChanged, reason: str) -> None:
        refresh = self.refreshes.setdefault(event.refresh_id, Refresh())
        if refresh.report:
            return
        now = dt.datetime.now(dt.UTC)
        refresh.report = RefreshReport(
            refresh_id=event.refresh_id,
            status="failed",
            reason=f"{event.path}: {reason}",
            rejected=(RejectedFile(path=event.path, reason=reason),),
            started_at=now,
            finished_at=now,
            duration_ms=0,
        )
        self.reports.append(refresh.report)
        rejected = DocumentRejected(
            refresh_id=event.refresh_id, path=event.path, revision=event.revision, reason=reason
        )
        await self.bus.publish(rejected, RefreshFinished(report=refresh.report))

    async def _show(self, refresh_id: UUID) -> None:
        refresh = self.refreshes[refresh_id]
        if not refresh.seal or refresh.report or any(one.path not in refresh.staged for one in refresh.seal.documents):
            return
        became: Counter[str | None] = Counter()
        for one in refresh.seal.documents:
            became[self._take(one, refresh.staged[one.path])] += 1
        self.filled = self.filled or refresh.seal.scope == "tree"
        self.version += 1
        refresh.report = RefreshReport(
            refresh_id=refresh_id,
            status="finished",
            unchanged=refresh.seal.unchanged,
            started_at=refresh.seal.started_at,
            finished_at=dt.datetime.now(dt.UTC),
            duration_ms=0,
            added=became["added"],
            changed=became["changed"],
            deleted=became["deleted"],
        )
        self.reports.append(refresh.report)
        if not self.mute:
            await self.bus.publish(RefreshFinished(report=refresh.report))

    def _take(self, version: DocumentVersion, event: DocumentChanged | DocumentDeleted) -> str | None:
        old = self.documents.get(version.path)
        known = old.revision if old else self.gone.get(version.path, 0)
        if known >= event.revision:
            return None
        if isinstance(event, DocumentDeleted):
            self.gone[event.path] = event.revision
            return "deleted" if self.documents.pop(event.path, None) else None
        self.documents[event.path] = event
        return "changed" if old else "added"

    def manifest(self) -> Manifest:
        """What is visible."""
        if self.down:
            raise HTTPException(503, "The index is not ready.")
        state: CorpusState = "current" if self.filled else "building"
        now = dt.datetime.now(dt.UTC)
        return Manifest(
            state=state,
            version=self.version,
            chunks=sum(len(event.chunks) for event in self.documents.values()),
            embedding=self.embedding,
            served_embedding=self.served,
            last_refresh=self.reports[-1] if self.reports else None,
            documents=tuple(
                ManifestEntry(
                    path=event.path,
                    revision=event.revision,
                    sha256=event.sha256,
                    chunker=event.chunker,
                    embedding=self.served,
                    chunks=len(event.chunks),
                    language="en",
                    properties=event.properties,
                    saved_at=event.saved_at,
                    indexed_at=now,
                )
                for event in self.documents.values()
            ),
        )

    def refresh(self, refresh_id: UUID) -> RefreshState:
        """How far a refresh has come."""
        self.asked += 1
        refresh = self.refreshes.get(refresh_id)
        if refresh is None:
            raise HTTPException(404, "There is no such refresh.")
        return RefreshState(
            refresh_id=refresh_id,
            status=refresh.report.status if refresh.report else "sealed" if refresh.seal else "open",
            documents=len(refresh.seal.documents) if refresh.seal else 0,
            staged=len(refresh.staged),
            texts=self.texts_embedded,
        )

    def app(self) -> FastAPI:
        """The retriever's two addresses."""
        app = FastAPI()
        app.add_api_route("/manifest", lambda: Response(self.manifest().model_dump_json()), methods=["GET"])
        app.add_api_route("/refreshes/{refresh_id}", self.refresh, methods=["GET"])
        return app

    @property
    def texts(self) -> Mapping[str, str]:
        """The visible documents' texts by path."""
        return {path: event.text for path, event in self.documents.items()}

    @property
    def sent(self) -> list[str]:
        """The paths of all document events so far, in the order of their coming."""
        return [event.path for event in self.events if isinstance(event, DocumentChanged | DocumentDeleted)]


@asynccontextmanager
async def serving(app: FastAPI) -> AsyncGenerator[str]:
    """Serve an app on a free port of this machine; gives its address."""
    bound = socket.socket()
    bound.bind(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, log_config=None, lifespan="on"))
    serving = asyncio.create_task(server.serve([bound]))
    try:
        await until(lambda: server.started or serving.done())
        yield f"http://127.0.0.1:{bound.getsockname()[1]}"
    finally:
        server.should_exit = True
        await serving
        bound.close()


@dataclass
class House:
    """The ingestor's parts with what stands around them."""

    folder: Path
    bus: NotingBus
    retriever: FakeRetriever
    parts: Parts
    health: Health

    def write(self, path: str, text: str | bytes) -> Path:
        """Save a file, making its folders."""
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        return file

    async def shows(self, expected: Mapping[str, str], *, within_s: float = WITHIN_S) -> None:
        """Wait until exactly these documents are visible."""
        try:
            await until(lambda: self.retriever.texts == expected, within_s=within_s)
        except TimeoutError:
            assert self.retriever.texts == expected


@asynccontextmanager
async def retriever_of(bus: Bus) -> AsyncGenerator[tuple[FakeRetriever, str]]:
    """A fake retriever that consumes and serves; gives it and its address."""
    retriever = FakeRetriever(bus)
    consuming = asyncio.create_task(retriever.run())
    try:
        async with serving(retriever.app()) as address:
            yield retriever, address
    finally:
        consuming.cancel()


@asynccontextmanager
async def house(folder: Path, *, work: bool = True, **settings: object) -> AsyncGenerator[House]:
    """The ingestor over a memory bus; without ``work`` nothing runs by itself but what hears events."""
    bus = NotingBus()
    async with retriever_of(bus) as (retriever, address), open_client(address, "retriever") as client:
        health = Health("ingestor")
        said = Settings.model_validate({"folder": folder, "retriever_url": address, **settings})
        parts = assemble(said, bus, RetrieverIndex(client), health)
        running = list(parts.work) if work else list(parts.work[-1:])
        for idle in parts.work[: len(parts.work) - len(running)]:
            idle.close()
        tasks = [asyncio.create_task(one) for one in running]
        try:
            if not work:
                parts.watcher.begun.set()
            else:
                await until(parts.watcher.begun.is_set)
                await until(lambda: retriever.filled)
            yield House(folder, bus, retriever, parts, health)
        finally:
            for task in tasks:
                task.cancel()
            ended = await asyncio.gather(*tasks, return_exceptions=True)
        assert all(isinstance(one, asyncio.CancelledError) or one is None for one in ended), ended
