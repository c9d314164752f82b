"""The product's own modules without its services: chunk, embed, index, search; for quick work and for training.

What the retriever does in PostgreSQL (exact cosine, neighbours, one snapshot) is done here over arrays.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from chassis.language import detect, majority
from chassis.sentences import sentence_spans
from contracts.documents import Chunk, chunk_id
from contracts.search import Leg, Passage, SearchResult, SentenceScore
from ingestor.chunking import chunk_document
from retriever.closeness import query_terms, with_nearest
from retriever.embedding import Embedder, PassageText, similarities
from retriever.embedding.port import Vectors
from retriever.fusion import Hit, fuse, leg_weights
from retriever.lexical import LexicalChunk, LexicalIndex
from retriever.texts import embedded_text

CANDIDATES = 50


@dataclass(frozen=True)
class Indexed:
    """A chunk with what is needed to find it and to answer from it."""

    path: str
    sha256: str
    title: str | None
    language: str
    chunk: Chunk
    vector: Vectors
    sentences: bytes

    @property
    def id(self) -> str:
        """The chunk's id."""
        return chunk_id(self.path, self.sha256, self.chunk.ordinal)


async def index_folder(folder: Path, embedder: Embedder) -> list[Indexed]:
    """Chunk and embed every Markdown file of a folder, in order of path and ordinal."""
    found: list[Indexed] = []
    for name, data in await asyncio.to_thread(_files, folder):
        text = data.decode()
        cut = chunk_document(data, text)
        title = cut.properties.title
        texts: list[PassageText] = []
        for chunk in cut.chunks:
            embedded = embedded_text(title, chunk.heading, chunk.context, chunk.plain)
            texts.append(PassageText(embedded, len(embedded) - len(chunk.plain)))
        vectors = await embedder.embed_passages(texts)
        sha256, language = hashlib.sha256(data).hexdigest(), detect(text)
        found += [
            Indexed(name, sha256, title, language, chunk, each.vector, each.sentences)
            for chunk, each in zip(cut.chunks, vectors, strict=True)
        ]
    return found


def _files(folder: Path) -> list[tuple[str, bytes]]:
    return [(path.relative_to(folder).as_posix(), path.read_bytes()) for path in sorted(folder.rglob("*.md"))]


class Searcher:
    """Searches indexed chunks as the retriever does."""

    def __init__(self, chunks: Sequence[Indexed], embedder: Embedder) -> None:
        self._chunks = list(chunks)
        self._embedder = embedder
        self._vectors = np.stack([each.vector for each in chunks])
        self._languages = sorted({each.language for each in chunks})
        self._main = majority(each.language for each in chunks)
        self._lexical = LexicalIndex()
        documents = {path: number for number, path in enumerate(sorted({each.path for each in chunks}))}
        self._lexical.add(
            LexicalChunk(
                key=key,
                document=documents[each.path],
                language=each.language,
                plain=each.chunk.plain,
                heading=list(dict.fromkeys(part for part in (each.title or "", *each.chunk.heading) if part)),
                context=each.chunk.context,
                beside="\n".join(self._chunks[near].chunk.plain for near in self._beside(key, 1)),
            )
            for key, each in enumerate(self._chunks)
        )
        self._lexical.commit(1)

    async def legs(self, question: str) -> tuple[str, Vectors | None, dict[Leg, list[tuple[str, float]]]]:
        """Give a question's language, its vector if the model reads that, and what each leg finds, best first."""
        language = detect(question, self._main)
        lexical = self._lexical.search(question, language, CANDIDATES, others=self._languages)
        found: dict[Leg, list[tuple[str, float]]] = {
            "lexical": [(self._chunks[key].id, score) for key, score in lexical]
        }
        if not leg_weights(language, self._embedder.fingerprint)["vector"]:
            return language, None, found
        vector = (await self._embedder.embed([question]))[0]
        near = self._vectors @ vector
        best = sorted(range(len(near)), key=lambda key: (-near[key], self._chunks[key].id))[:CANDIDATES]
        found["vector"] = [(self._chunks[key].id, float(near[key])) for key in best]
        return language, vector, found

    async def search(self, question: str, hits: int = 5) -> SearchResult:
        """Find the passages for a question: hits and their neighbours, in file and ordinal order."""
        language, vector, legs = await self.legs(question)
        best = fuse(legs, leg_weights(language, self._embedder.fingerprint))[:hits]
        by_id = {hit.key: hit for hit in best}
        keys = {each.id: key for key, each in enumerate(self._chunks)}
        wanted = {near for hit in best for near in (keys[hit.key], *self._beside(keys[hit.key], 1))}
        passages = tuple(self._passage(key, by_id.get(self._chunks[key].id), vector) for key in sorted(wanted))
        terms, chunks = query_terms(question, language, self._lexical.frequencies), len(self._chunks)
        if vector is not None:
            passages = await with_nearest(passages, question, terms, chunks, self._embedder)
        return SearchResult(corpus_version=1, language=language, terms=tuple(terms), chunks=chunks, passages=passages)

    def _beside(self, key: int, reach: int) -> list[int]:
        path = self._chunks[key].path
        return [
            near
            for near in range(key - reach, key + reach + 1)
            if near != key and 0 <= near < len(self._chunks) and self._chunks[near].path == path
        ]

    def _passage(self, key: int, hit: Hit[str] | None, vector: Vectors | None) -> Passage:
        each = self._chunks[key]
        spans = sentence_spans(each.chunk.plain)
        near = (similarities(vector, each.sentences) if vector is not None else []) or [None] * len(spans)
        return Passage(
            id=each.id,
            path=each.path,
            ordinal=each.chunk.ordinal,
            heading=each.chunk.heading,
            lines=each.chunk.lines,
            text=each.chunk.plain,
            version=each.sha256,
            saved_at=dt.datetime(2026, 1, 1, tzinfo=dt.UTC),
            title=each.title,
            context=each.chunk.context,
            language=each.language,
            runs=each.chunk.runs,
            sentences=tuple(SentenceScore(span=span, similarity=one) for span, one in zip(spans, near, strict=True)),
            score=hit.score if hit else 0.0,
            found=hit.found if hit else (),
        )
