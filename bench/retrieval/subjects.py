"""What is measured: the modules in this process, or a product that runs, over HTTP."""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Protocol
from uuid import uuid4

import httpx2

from agent.extractive import answer
from bench.retrieval.inprocess import Indexed, Searcher
from bench.retrieval.measures import Answered, Place
from chassis.sentences import sentence_spans
from contracts.frames import Done, Error, frame_adapter
from contracts.refreshes import Manifest
from contracts.search import Leg, SearchRequest, SearchResult
from retriever.embedding import Embedder
from retriever.fusion import fuse, leg_weights

Rankings = dict[str, list[Place]]
"""Ranked chunks: `hybrid`, and each leg by its own name."""
HITS = 50
_CITATION = re.compile(r"\s*\[\d{1,3}\]")


class Subject(Protocol):
    """Something that finds passages and answers questions."""

    async def rankings(self, question: str) -> Rankings:
        """Rank chunks for a question, hybrid and by each leg."""
        ...

    async def ask(self, question: str) -> Answered:
        """Answer a question."""
        ...


class InProcess:
    """The product's modules, without its services."""

    def __init__(self, chunks: list[Indexed], embedder: Embedder) -> None:
        self._searcher = Searcher(chunks, embedder)
        self._fingerprint = embedder.fingerprint
        self._places = {each.id: Place(each.path, each.chunk.lines[0], each.chunk.lines[1]) for each in chunks}

    async def rankings(self, question: str) -> Rankings:
        """Rank chunks for a question, hybrid and by each leg."""
        language, _, legs = await self._searcher.legs(question)
        hybrid = fuse(legs, leg_weights(language, self._fingerprint))
        found: Rankings = {leg: [self._places[key] for key, _ in hits] for leg, hits in legs.items()}
        return found | {"hybrid": [self._places[hit.key] for hit in hybrid]}

    async def ask(self, question: str) -> Answered:
        """Answer a question."""
        written = answer(question, await self._searcher.search(question))
        return Answered(tuple(written.text[q.span[0] : q.span[1]] for q in written.quotes), written.abstained)


class Running:
    """A running product: the retriever's `POST /search`, and turns as the page asks them."""

    def __init__(self, client: httpx2.AsyncClient, web: str, retriever: str) -> None:
        self._client = client
        self._web = web.rstrip("/")
        self._retriever = retriever.rstrip("/")

    async def rankings(self, question: str) -> Rankings:
        """Rank chunks for a question, hybrid and by each leg (among the fused hits)."""
        request = SearchRequest(query=question, hits=HITS, budget=100_000, neighbours=0)
        response = await self._client.post(f"{self._retriever}/search", json=request.model_dump(mode="json"))
        response.raise_for_status()
        passages = SearchResult.model_validate_json(response.content).passages
        legs: tuple[Leg, ...] = ("lexical", "vector")
        ranked = {leg: sorted((f.rank, p.id, p) for p in passages for f in p.found if f.leg == leg) for leg in legs}
        found: Rankings = {leg: [Place(p.path, *p.lines) for _, _, p in hits] for leg, hits in ranked.items() if hits}
        hybrid = sorted(passages, key=lambda p: (-p.score, p.id))
        return found | {"hybrid": [Place(p.path, *p.lines) for p in hybrid]}

    async def ask(self, question: str) -> Answered:
        """Answer a question in a chat of its own; an error frame ends the measurement."""
        body = {"chat_id": str(uuid4()), "question": question}
        async with self._client.stream("POST", f"{self._web}/api/turns", json=body) as response:
            response.raise_for_status()
            async for line in response.aiter_lines():
                frame = frame_adapter.validate_json(line) if line.strip() else None
                if isinstance(frame, Done):
                    text = _CITATION.sub("", frame.answer)
                    spans = [] if frame.abstained else sentence_spans(text)
                    return Answered(tuple(text[first:end] for first, end in spans), frame.abstained)
                if isinstance(frame, Error):
                    raise RuntimeError(f"{question!r} ended in an error: {frame.message}")
        raise RuntimeError(f"The answer to {question!r} broke off.")

    @asynccontextmanager
    async def without(self, folder: Path, path: str, line: int) -> AsyncGenerator[None]:
        """Take a paragraph out of a file of the watched folder, its line left blank, and put it back afterwards."""
        file = folder / path
        before = await asyncio.to_thread(file.read_bytes)
        lines = before.split(b"\n")
        lines[line - 1] = b""
        await asyncio.to_thread(file.write_bytes, b"\n".join(lines))
        try:
            await self._indexed(path, hashlib.sha256(b"\n".join(lines)).hexdigest())
            yield
        finally:
            await asyncio.to_thread(file.write_bytes, before)
            await self._indexed(path, hashlib.sha256(before).hexdigest())

    async def _indexed(self, path: str, sha256: str) -> None:
        """Wait until this version of a file is the visible one."""
        async with asyncio.timeout(60):
            while True:
                response = await self._client.get(f"{self._retriever}/manifest")
                response.raise_for_status()
                manifest = Manifest.model_validate_json(response.content)
                if any(entry.path == path and entry.sha256 == sha256 for entry in manifest.documents):
                    return
                await asyncio.sleep(0.05)

    async def refresh(self) -> None:
        """Wait until the index is what the folder is."""
        response = await self._client.post(f"{self._web}/api/corpus/refresh")
        response.raise_for_status()
