"""The ledger of the folder: what the ingestor saw, joined with what the retriever serves."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from dataclasses import dataclass, field

from chassis.http import CallFailed
from contracts.corpus import Corpus, CorpusFile, ServiceState
from contracts.documents import ManifestEntry
from contracts.refreshes import Files, Manifest, SeenFile
from contracts.voice import LeavesInCalls
from web.behind import GLANCE_S, Behind, Service
from web.errors import NotThere
from web.parts import Parts

RESTART_S = 20.0
"""A service that was ready is restarting for so long, then it is down."""
VOICE = "voice gateway"
CALLS_S = 30.0
"""What the gateway offers for calls changes with its settings, so with its next start."""
FRESH_S = 0.5
"""Pages that ask at the same time share one answer."""


@dataclass(slots=True)
class Seen:
    """When a service was last ready, on the monotonic clock; none before the first time."""

    ready_at: float | None = None


@dataclass
class Ledger:
    """Joins the two sides; remembers the last of each, so that a restart does not empty the page."""

    behind: Behind
    parts: Parts
    trace_url: str | None
    started_at: float = field(default_factory=time.monotonic)
    _seen: dict[str, Seen] = field(default_factory=dict[str, Seen])
    _files: Files | None = None
    _manifest: Manifest | None = None
    _rows: tuple[Files | None, Manifest | None, tuple[CorpusFile, ...]] = (None, None, ())
    _calls: tuple[LeavesInCalls, ...] = ()
    _calls_at: float = float("-inf")
    _asking: asyncio.Task[bytes] | None = None
    _asked_at: float = float("-inf")

    async def corpus(self) -> bytes:
        """The ledger as of now, at most half a second old: a :class:`contracts.corpus.Corpus` as JSON."""
        now = time.monotonic()
        if self._asking is None or (self._asking.done() and now - self._asked_at > FRESH_S):
            self._asked_at = now
            self._asking = asyncio.create_task(self._join())
        return await asyncio.shield(self._asking)

    async def _join(self) -> bytes:
        (files, manifest, _), states = await asyncio.gather(
            asyncio.gather(self._latest_files(), self._latest_manifest(), self._latest_calls()),
            asyncio.gather(*(self._state(service) for service in self.behind.all)),
        )
        notices = [text for text in (manifest, files) if text]
        if self._manifest is not None and self._manifest.notice:
            notices.append(self._manifest.notice)
        if self._files is not None and self._files.notice:
            notices.append(self._files.notice)
        for state in states:
            if state.state in ("restarting", "down") and state.name not in ("retriever", "ingestor"):
                notices.append(f"The {state.name} is {_said(state.state)}.")
        states = [*states, ServiceState(name="web", state="ready")]
        if self._rows[0] is not self._files or self._rows[1] is not self._manifest:
            self._rows = self._files, self._manifest, file_rows(self._files, self._manifest)
        corpus = joined(self._rows, self.parts, self._calls, tuple(notices), tuple(states), self.trace_url)
        return corpus.model_dump_json().encode()

    async def _latest_files(self) -> str | None:
        try:
            self._files = await self.behind.ingestor.files()
        except CallFailed:
            return "The ingestor does not answer: new saves wait, and the list is as it was last seen."
        return None

    async def _latest_manifest(self) -> str | None:
        try:
            self._manifest = await self.behind.retriever.manifest()
        except CallFailed:
            return "The retriever does not answer: questions wait for it, and the list is as it was last seen."
        return None

    async def _latest_calls(self) -> None:
        now = time.monotonic()
        if now - self._calls_at < CALLS_S:
            return
        with suppress(CallFailed):  # as long as it does not answer, it holds no call either
            self._calls = (await self.behind.voice.offer(GLANCE_S)).leaves
            self._calls_at = now

    async def _state(self, service: Service) -> ServiceState:
        seen = self._seen.setdefault(service.name, Seen())
        now = time.monotonic()
        try:
            ready = await service.ready()
        except NotThere:
            if seen.ready_at is not None and now - seen.ready_at < RESTART_S:
                return ServiceState(name=service.name, state="restarting")
            if seen.ready_at is None and now - self.started_at < RESTART_S:
                return ServiceState(name=service.name, state="starting")
            return ServiceState(name=service.name, state="down", detail="It does not answer.")
        if ready.status == "ready":
            seen.ready_at = now
            return ServiceState(name=service.name, state="ready")
        waits = "; ".join(f"{waiting.on}: {waiting.why}" for waiting in ready.waits_for)
        return ServiceState(name=service.name, state="starting", detail=waits or None)


def _said(state: str) -> str:
    return "restarting; what you ask meanwhile waits or fails with a reason" if state == "restarting" else "down"


def joined(
    both: tuple[Files | None, Manifest | None, tuple[CorpusFile, ...]],
    parts: Parts,
    calls: tuple[LeavesInCalls, ...],
    notices: tuple[str, ...],
    services: tuple[ServiceState, ...],
    trace_url: str | None,
) -> Corpus:
    """Both sides, and the rows that they make, in one; either side may be missing."""
    files, manifest, rows = both
    return Corpus(
        mode=parts.mode,
        embeddings=parts.embeddings,
        answers=parts.answers,
        voice=parts.voice,
        voice_ready=all(state.state == "ready" for state in services if state.name == VOICE),
        leaves=parts.leaves,
        calls=calls,
        state=manifest.state if manifest else "building",
        version=manifest.version if manifest else 0,
        folder=files.folder if files else "",
        watching=files.watching if files else "events",
        notices=notices,
        documents=len(manifest.documents) if manifest else 0,
        chunks=manifest.chunks if manifest else 0,
        rejected=sum(row.state == "rejected" for row in rows),
        progress=manifest.progress if manifest else None,
        last_refresh=manifest.last_refresh if manifest else None,
        files=rows,
        services=services,
        trace_url=trace_url,
    )


def file_rows(files: Files | None, manifest: Manifest | None) -> tuple[CorpusFile, ...]:
    """One row a path that either side knows, by path."""
    indexed = {entry.path: entry for entry in manifest.documents} if manifest else {}
    seen = {file.path: file for file in files.files} if files else {}
    report = manifest.last_refresh if manifest else None
    refused = {file.path: file.reason for file in report.rejected} if report else {}
    return tuple(
        _row(path, seen.get(path), indexed.get(path), refused.get(path), listed=files is not None)
        for path in sorted(indexed.keys() | seen.keys())
    )


def _row(
    path: str, seen: SeenFile | None, entry: ManifestEntry | None, refused: str | None, *, listed: bool
) -> CorpusFile:
    chunks, indexed_at = (entry.chunks, entry.indexed_at) if entry else (0, None)
    if seen is None:
        assert entry is not None
        reason = "It left the folder, and is about to leave the index." if listed else None
        state = "waiting" if listed else "current"
        return CorpusFile(
            path=path, state=state, reason=reason, chunks=chunks, saved_at=entry.saved_at, indexed_at=indexed_at
        )
    is_current = entry is not None and entry.sha256 == seen.sha256
    reason = seen.reason if seen.state == "rejected" else None if is_current else refused
    return CorpusFile(
        path=path,
        state="rejected" if reason is not None else "current" if is_current else "waiting",
        reason=reason,
        chunks=chunks,
        bytes=seen.bytes,
        saved_at=seen.saved_at,
        indexed_at=indexed_at,
    )
