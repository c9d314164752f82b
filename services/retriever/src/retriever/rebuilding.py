"""A new embedding is built beside the one that serves, and replaces it when it is complete (C15).

::

    chunks without a vector of the configured embedding ─> embedded, a batch at a time ─> none left? ─> it serves
                              the tables of those that are forgotten ─> dropped in a moment when nobody reads them

The same pass gives a vector to a chunk that lost its own. Saves go on meanwhile: what becomes visible has its vectors
of the configured embedding already.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import Any

import psycopg
from psycopg.errors import LockNotAvailable, UndefinedTable

from chassis.postgres import Pool
from retriever.embedding import PassageText
from retriever.errors import RetrieverError
from retriever.tables import SQL, for_embedding
from retriever.texts import embedded_text
from retriever.vectors import KeptVectors, fingerprint_of

log = logging.getLogger(__name__)

BATCH = 64
EVERY_S = 60.0
AFTER_FAILURE_S = 10.0
DROP_ATTEMPTS, DROP_PAUSE_S = 40, 0.025
"""A table is dropped between two searches; where there is no such moment, a later look tries again."""


class Rebuild:
    """Completes the configured embedding; ``missing`` says how many chunks lack a vector, as of the last look."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self.missing = 0

    async def run(self, vectors: KeptVectors) -> None:
        """Complete the embedding now, and look again every minute."""
        while True:
            try:
                await self.complete(vectors)
                wait = EVERY_S
            except (psycopg.Error, OSError, RetrieverError) as error:
                log.warning("the embedding is not complete yet", extra={"error": type(error).__name__})
                wait = AFTER_FAILURE_S
            await asyncio.sleep(wait)

    async def complete(self, vectors: KeptVectors) -> None:
        """Embed what has no vector, then let the embedding serve."""
        after = 0
        self.missing = await self._count(vectors)
        while rows := await self._next(vectors, after):
            await vectors.ensure({bytes(row["text_hash"]): _text_of(row) for row in rows})
            await self._add(vectors, [row["key"] for row in rows])
            after = rows[-1]["key"]
            self.missing = max(0, self.missing - len(rows))
        await self._serve(vectors)
        await self._drop_orphans()

    async def _count(self, vectors: KeptVectors) -> int:
        async with self._pool.connection() as connection:
            cursor = await connection.execute(for_embedding(SQL["count_without_vector"], vectors.number))
            row = await cursor.fetchone()
        return row["missing"] if row else 0

    async def _next(self, vectors: KeptVectors, after: int) -> list[dict[str, Any]]:
        async with self._pool.connection() as connection:
            query = for_embedding(SQL["chunks_without_vector"], vectors.number)
            return await (await connection.execute(query, {"after": after, "limit": BATCH})).fetchall()

    async def _add(self, vectors: KeptVectors, keys: Sequence[int]) -> None:
        async with self._pool.connection() as connection:
            query = for_embedding(SQL["add_vectors"], vectors.number)
            await connection.execute(query, {"keys": list(keys), "embedding": vectors.number})

    async def _serve(self, vectors: KeptVectors) -> None:
        """Replace what serves if nothing is missing, under the corpus's lock, and forget what served before."""
        async with self._pool.connection() as connection, connection.transaction():
            corpus = await (await connection.execute(SQL["lock_corpus"])).fetchone()
            if corpus is None or corpus["serving"] == vectors.number:
                return
            query = for_embedding(SQL["count_without_vector"], vectors.number)
            row = await (await connection.execute(query)).fetchone()
            if row is None or row["missing"]:
                return
            await connection.execute(SQL["serve_instead"], {"embedding": vectors.number})
            await connection.execute(SQL["forget_other_embeddings"], {"embedding": vectors.number})
        log.info("a new embedding serves", extra={"embedding": fingerprint_of(vectors.embedder)})

    async def _drop_orphans(self) -> None:
        """Drop what is left of forgotten embeddings, without making any search wait."""
        async with self._pool.connection() as connection:
            orphans = [row["embedding"] async for row in await connection.execute(SQL["orphaned_vectors"])]
        for orphan in orphans:
            for _ in range(DROP_ATTEMPTS):
                try:
                    async with self._pool.connection() as connection, connection.transaction():
                        await connection.execute(for_embedding(SQL["lock_orphan"], orphan))
                        await connection.execute(for_embedding(SQL["drop_vectors"], orphan))
                    break
                except LockNotAvailable:
                    await asyncio.sleep(DROP_PAUSE_S)
                except UndefinedTable:
                    break  # another retriever was faster


def _text_of(row: dict[str, Any]) -> PassageText:
    text = embedded_text(row["title"], row["heading"], row["context"], row["plain"])
    return PassageText(text, len(text) - len(row["plain"]))
