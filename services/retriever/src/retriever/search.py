"""One search: both legs, fused, with neighbours, within the budget, all from one snapshot of the corpus (R3).

::

    question ─┬─ its vector ───────────────┐
              └─ lexical candidates ───────┤ at once
                                           ▼
    one snapshot: filter ─> nearest chunks, visible candidates ─> fused ─> hits and neighbours ─> budget

When the corpus changes between the candidates and the snapshot, the search begins again; the vector is kept.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Protocol

from psycopg.errors import UndefinedTable

from chassis import conventions
from chassis.language import detect
from chassis.postgres import Connection, Pool
from chassis.telemetry import content_allowed, links_to, span
from contracts.search import Leg, SearchRequest, SearchResult
from retriever.closeness import with_nearest
from retriever.embedding.port import Embedder, Vectors
from retriever.errors import RetrieverError
from retriever.fusion import Hit, fuse, leg_weights
from retriever.legs import Allowed, allowed, nearest, visible
from retriever.lexicon import Candidates
from retriever.passages import passages_of, rows_of
from retriever.settings import Settings
from retriever.tables import SQL
from retriever.texts import clean
from retriever.windows import choose, context_of

log = logging.getLogger(__name__)

MOST_BEGINNINGS = 4
NO_VECTORS = "Vector search does not serve right now, so this was found by words alone"


class Questions(Protocol):
    """The vectors of questions, in whichever embedding is served."""

    async def question(self, fingerprint: str, text: str) -> Vectors:
        """The vector of a question in this embedding; RetrieverError when there is none."""
        ...

    async def serving(self, fingerprint: str) -> Embedder | None:
        """The embedder of this embedding."""
        ...


class Lexicon(Protocol):
    """The lexical leg's candidates, from an index no older than a corpus version."""

    async def search(
        self,
        query: str,
        language: str,
        limit: int,
        *,
        version: int,
        others: Sequence[str] = (),
        documents: Sequence[int] | None = None,
    ) -> Candidates:
        """The best `limit` of an index that holds at least `version`."""
        ...


@dataclass(frozen=True)
class Snapshot:
    """The corpus as a search sees it; ``embedding`` and ``fingerprint`` are null before there is any."""

    version: int
    chunks: int
    embedding: int | None
    fingerprint: str | None


@dataclass
class Asked:
    """A question on its way: its vector once it is known, or why there is none."""

    query: str
    language: str
    others: tuple[str, ...]
    vector: Vectors | None = None
    fingerprint: str | None = None
    notice: str | None = None


class Search:
    """Answers ``POST /search``."""

    def __init__(self, pool: Pool, questions: Questions, lexicon: Lexicon, settings: Settings) -> None:
        self._pool = pool
        self._questions = questions
        self._lexicon = lexicon
        self._settings = settings
        self._languages: tuple[int, tuple[str, ...]] = (-1, ())

    async def __call__(self, request: SearchRequest) -> SearchResult:
        """Find the passages for a question; none is an empty answer, and no text is refused."""
        began = time.perf_counter()
        attributes = {
            conventions.GEN_AI_OPERATION: conventions.RETRIEVAL,
            conventions.GEN_AI_DATA_SOURCE_ID: "retriever",
            "talkdown.hits_wanted": request.hits,
        }
        with span(conventions.RETRIEVAL, attributes) as current:
            result, asked, traces = await self._search(request)
            result = await self._closely(result, asked)
            result.timings_ms["total"] = _since(began)
            for link in links_to(traces):
                current.add_link(link.context)
            current.set_attribute("talkdown.corpus.version", result.corpus_version)
            current.set_attribute("talkdown.passages", len(result.passages))
            current.set_attributes({f"talkdown.search.{part}_ms": ms for part, ms in result.timings_ms.items()})
            if content_allowed():
                current.set_attribute(conventions.GEN_AI_INPUT_MESSAGES, clean(request.query))
            log.info("search", extra=_logged(request, result))
        return result

    async def _search(self, request: SearchRequest) -> tuple[SearchResult, Asked, list[str]]:
        query = clean(request.query)
        seen = await self._look()
        languages = await self._languages_at(seen.version)
        language = detect(query, languages[0] if languages else "en")
        asked = Asked(query, language, tuple(other for other in languages if other != language))
        timings: dict[str, float] = {}
        for beginning in range(1, MOST_BEGINNINGS + 1):
            candidates, _ = await asyncio.gather(
                self._candidates(asked, seen.version, timings), self._embed(asked, seen, timings)
            )
            try:
                async with self._snapshot() as (connection, now):
                    if beginning < MOST_BEGINNINGS and (
                        now.version != candidates.version or now.fingerprint != asked.fingerprint
                    ):
                        seen = now
                        continue
                    return await self._answer(connection, now, request, asked, candidates, timings)
            except UndefinedTable:  # the embedding that served was replaced and dropped in this very moment
                if beginning == MOST_BEGINNINGS:
                    raise
                seen = await self._look()
        raise AssertionError("the last beginning answers or raises")

    async def _answer(
        self,
        connection: Connection,
        now: Snapshot,
        request: SearchRequest,
        asked: Asked,
        candidates: Candidates,
        timings: dict[str, float],
    ) -> tuple[SearchResult, Asked, list[str]]:
        began = time.perf_counter()
        within = await allowed(connection, request.filter, now.chunks)
        hits = await self._fused(connection, now, asked, candidates, within, timings)
        best = hits[: request.hits]
        found = await rows_of(connection, [hit.key for hit in best], request.neighbours, now.embedding or 0)
        timings["snapshot"] = _since(began)
        scores = {row.key: hit.score for hit in best for row in found if row.id == hit.key}
        chosen = choose(found, scores, request.budget)
        result = SearchResult(
            corpus_version=now.version,
            language=asked.language,
            terms=candidates.terms,
            chunks=now.chunks,
            passages=passages_of(chosen, best, asked.vector),
            context=context_of(chosen),
            notice=asked.notice,
            timings_ms=timings,
        )
        return result, asked, list(dict.fromkeys(row.trace for row in chosen if row.trace))

    async def _fused(
        self,
        connection: Connection,
        now: Snapshot,
        asked: Asked,
        candidates: Candidates,
        within: Allowed,
        timings: dict[str, float],
    ) -> list[Hit[str]]:
        limit = self._settings.candidates
        if within.documents is not None:
            candidates = await self._candidates(asked, candidates.version, timings, within.documents)
        legs: dict[Leg, list[tuple[str, float]]] = {}
        lexical = await visible(connection, candidates.scored, within, limit=limit)
        legs["lexical"] = [(hit.id, hit.score) for hit in lexical]
        if asked.vector is not None and now.embedding is not None and asked.fingerprint == now.fingerprint:
            began = time.perf_counter()
            near = await nearest(
                connection, now.embedding, asked.vector, within, limit=limit, exact_up_to=self._settings.exact_up_to
            )
            timings["vector"] = _since(began)
            legs["vector"] = [(hit.id, hit.score) for hit in near]
        return fuse(legs, leg_weights(asked.language, asked.fingerprint or ""))

    async def _candidates(
        self, asked: Asked, version: int, timings: dict[str, float], documents: Sequence[int] | None = None
    ) -> Candidates:
        began = time.perf_counter()
        found = await self._lexicon.search(
            asked.query,
            asked.language,
            self._settings.candidates,
            version=version,
            others=asked.others,
            documents=documents,
        )
        timings["lexical"] = _since(began)
        return found

    async def _embed(self, asked: Asked, seen: Snapshot, timings: dict[str, float]) -> None:
        """Give the question its vector in the embedding that serves; without one the lexical leg serves alone."""
        if seen.fingerprint == asked.fingerprint:
            return
        began = time.perf_counter()
        asked.fingerprint, asked.vector, asked.notice = seen.fingerprint, None, None
        assert seen.fingerprint is not None
        if not leg_weights(asked.language, seen.fingerprint)["vector"]:
            return  # the model does not read this language
        try:
            async with asyncio.timeout(self._settings.question_timeout_s):
                asked.vector = await self._questions.question(seen.fingerprint, asked.query)
        except TimeoutError:
            asked.notice = f"{NO_VECTORS}: the embedding did not answer in time."
        except RetrieverError as error:
            asked.notice = f"{NO_VECTORS}: {error}"
        timings["embed"] = _since(began)

    async def _closely(self, result: SearchResult, asked: Asked) -> SearchResult:
        """Tell of the few sentences that speak of the question most how near they come to each of its words."""
        if asked.vector is None or asked.fingerprint is None or not result.passages:
            return result
        embedder = await self._questions.serving(asked.fingerprint)
        if embedder is None:
            return result
        began = time.perf_counter()
        try:
            passages = await with_nearest(result.passages, asked.query, result.terms, result.chunks, embedder)
        except RetrieverError as error:
            log.warning("sentences were not looked at closely", extra={"error": type(error).__name__})
            return result
        result.timings_ms["closely"] = _since(began)
        return result.model_copy(update={"passages": passages})

    async def _look(self) -> Snapshot:
        async with self._pool.connection() as connection:
            return await _seen(connection)

    @asynccontextmanager
    async def _snapshot(self) -> AsyncGenerator[tuple[Connection, Snapshot]]:
        async with self._pool.connection() as connection, connection.transaction():
            await connection.execute(SQL["one_snapshot"])
            yield connection, await _seen(connection)

    async def _languages_at(self, version: int) -> tuple[str, ...]:
        if self._languages[0] != version:
            async with self._pool.connection() as connection:
                rows = await connection.execute(SQL["corpus_languages"])
                self._languages = (version, tuple([row["language"] async for row in rows]))
        return self._languages[1]


async def _seen(connection: Connection) -> Snapshot:
    row = await (await connection.execute(SQL["snapshot"])).fetchone()
    assert row is not None
    return Snapshot(row["version"], row["chunks"], row["embedding"], row["fingerprint"])


def _logged(request: SearchRequest, result: SearchResult) -> Mapping[str, Any]:
    return {
        "question": clean(request.query),
        "files": list(dict.fromkeys(passage.path for passage in result.passages)),
        "passages": len(result.passages),
        "corpus_version": result.corpus_version,
        "ms": {name: round(ms, 1) for name, ms in result.timings_ms.items()},
        **({"notice": result.notice} if result.notice else {}),
    }


def _since(began: float) -> float:
    return round((time.perf_counter() - began) * 1000, 3)
