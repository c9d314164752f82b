"""This replica's lexical index: derived from PostgreSQL, stamped with the corpus version that it holds.

::

    search ─> version of the corpus ─> behind? ─> chunks that came and went since ─> candidates
                                                  (one snapshot)

Nobody answers from an index that lags: it catches up first. Its hits are candidates; the search's own transaction
decides which of them are visible.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, NoReturn, ParamSpec, Protocol, TypeVar

import psycopg

from chassis.postgres import Connection, Pool
from contracts.search import QueryTerm
from retriever.closeness import query_terms
from retriever.lexical import LexicalChunk
from retriever.tables import SQL

log = logging.getLogger(__name__)

PAGE = 2000
FOLLOW_EVERY_S = 0.5

P = ParamSpec("P")
T = TypeVar("T")


class Index(Protocol):
    """A lexical index in this process; its methods block, and are called in one thread."""

    def clear(self) -> None:
        """Hold nothing."""
        ...

    def remove(self, keys: Iterable[int]) -> None:
        """Hold these no more."""
        ...

    def add(self, chunks: Iterable[LexicalChunk]) -> None:
        """Hold these."""
        ...

    def commit(self, version: int) -> None:
        """Let searches see what was told, as the corpus of this version."""
        ...

    def search(
        self,
        query: str,
        language: str,
        k: int,
        *,
        others: Collection[str] = (),
        documents: Collection[int] | None = None,
    ) -> list[tuple[int, float]]:
        """The best `k` keys and their scores, best first."""
        ...

    def frequencies(self, terms: Collection[str]) -> Mapping[str, int]:
        """In how many chunks each of these stems stands."""
        ...


@dataclass(frozen=True)
class Candidates:
    """Keys and scores, best first, and the query's terms, of the index at a corpus version."""

    version: int
    scored: tuple[tuple[int, float], ...]
    terms: tuple[QueryTerm, ...] = ()


class Lexicon:
    """The lexical index of this replica, and how it follows the corpus."""

    def __init__(self, pool: Pool, index: Index) -> None:
        self._pool = pool
        self._index = index
        self._turn = asyncio.Lock()
        # One thread, so that what a cancelled search left running is over before the next begins.
        self._thread = ThreadPoolExecutor(1, "lexical")
        self.version: int | None = None

    async def search(
        self,
        query: str,
        language: str,
        limit: int,
        *,
        version: int,
        others: Collection[str] = (),
        documents: Collection[int] | None = None,
    ) -> Candidates:
        """The candidates for a query, from an index that holds at least the corpus ``version``."""
        async with self._turn:
            if self.version is None or self.version < version:
                await self._catch_up()
            assert self.version is not None
            found = await self._do(self._index.search, query, language, limit, others=others, documents=documents)
            terms = await self._do(query_terms, query, language, self._index.frequencies)
            return Candidates(self.version, tuple(found), tuple(terms))

    async def missing(self) -> str | None:
        """Why no question can be answered yet, in one sentence; nothing when it can."""
        return "the index of words is being filled" if self.version is None else None

    def close(self) -> None:
        """End the thread."""
        self._thread.shutdown(cancel_futures=True)

    async def run(self) -> NoReturn:
        """Follow the corpus every half second, so that little is left to do when a question comes."""
        while True:
            try:
                await self.follow()
            except (psycopg.Error, OSError) as error:
                log.warning("the lexical index lags", extra={"error": type(error).__name__})
            await asyncio.sleep(FOLLOW_EVERY_S)

    async def follow(self) -> None:
        """Catch up with what is committed now."""
        async with self._turn:
            await self._catch_up()

    async def _catch_up(self) -> None:
        began = time.perf_counter()
        async with self._pool.connection() as connection, connection.transaction():
            await connection.execute(SQL["one_snapshot"])
            row = await (await connection.execute(SQL["snapshot"])).fetchone()
            assert row is not None
            if row["version"] == self.version:
                return
            since = self.version
            try:
                if since is None or since < row["removals_from"]:
                    await self._do(self._index.clear)
                    since = 0
                else:
                    await self._remove(connection, since)
                added = await self._add(connection, since)
                await self._do(self._index.commit, row["version"])
            except BaseException:
                self.version = None  # half of it may be in the index: the next search fills it anew
                raise
            self.version = row["version"]
        took = (time.perf_counter() - began) * 1000
        log.debug("lexical index", extra={"version": self.version, "added": added, "ms": round(took, 1)})

    async def _do(self, work: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, partial(work, *arguments, **named))

    async def _remove(self, connection: Connection, since: int) -> None:
        rows = await (await connection.execute(SQL["removed_chunks"], {"version": since})).fetchall()
        if rows:
            await self._do(self._index.remove, [row["key"] for row in rows])

    async def _add(self, connection: Connection, since: int) -> int:
        added, after = 0, 0
        while True:
            named = {"version": since, "after": after, "limit": PAGE}
            rows = await (await connection.execute(SQL["added_chunks"], named)).fetchall()
            if not rows:
                return added
            await self._do(self._index.add, [_chunk(row) for row in rows])
            added, after = added + len(rows), rows[-1]["key"]


def _chunk(row: dict[str, Any]) -> LexicalChunk:
    named = [row["title"] or "", *(row["aliases"] or ())]
    return LexicalChunk(
        key=row["key"],
        document=row["document"],
        language=row["language"],
        plain=row["plain"],
        heading=[part for part in dict.fromkeys([*named, *row["heading"]]) if part],
        context=row["context"],
        beside="\n".join(row["beside"]),
    )
