"""Vectors by the text they stand for: computed once, checked before anything is staged, kept for the next time."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from psycopg.errors import ForeignKeyViolation

from chassis import conventions
from chassis.model_calls import model_call
from chassis.postgres import Pool
from retriever.embedding import Embedder, PassageText, PassageVectors
from retriever.embedding.checks import checked
from retriever.embedding.port import Vectors
from retriever.errors import ForeignEmbedding, InvalidVectors
from retriever.precedence import Precedence
from retriever.tables import SQL, for_embedding
from retriever.texts import RECIPE

GoesOn = Callable[[int], Awaitable[object]]
"""Hears how many texts were embedded just now."""


async def quietly(texts: int) -> None:
    """Tell nobody."""


@dataclass(frozen=True)
class Embedded:
    """How many texts needed a new vector, and how long those took."""

    texts: int = 0
    ms: float = 0.0


def fingerprint_of(embedder: Embedder) -> str:
    """The fingerprint that vectors are stored under: the embedder's, and the recipe of the text."""
    return f"{embedder.fingerprint}/{RECIPE}"


def as_text(vector: Vectors) -> str:
    """A vector as pgvector reads it."""
    return "[" + ",".join(f"{number:.6g}" for number in vector.tolist()) + "]"


@dataclass(frozen=True)
class KeptVectors:
    """The vectors of one embedding in PostgreSQL; ``number`` is its own in the table ``embeddings``."""

    pool: Pool
    embedder: Embedder
    number: int
    precedence: Precedence
    batch: int = 32

    async def ensure(self, texts: Mapping[bytes, PassageText], goes_on: GoesOn = quietly) -> Embedded:
        """Give every text a vector, embedding only those that have none; the texts are keyed by their hash.

        ``goes_on`` is told of the texts of each request that another one follows.
        """
        known = await self.known(list(texts))
        missing = [text_hash for text_hash in texts if text_hash not in known]
        took = 0.0
        for first in range(0, len(missing), self.batch):
            some = missing[first : first + self.batch]
            await self.precedence.after_questions()
            began = time.perf_counter()
            vectors = await self._embed([texts[text_hash] for text_hash in some])
            took += time.perf_counter() - began
            await self._keep(some, vectors)
            if first + self.batch < len(missing):
                await goes_on(len(some))
        return Embedded(len(missing), took * 1000)

    async def known(self, hashes: Sequence[bytes]) -> set[bytes]:
        """Those of the texts that have a vector."""
        named = {"embedding": self.number, "hashes": list(hashes)}
        async with self.pool.connection() as connection:
            await connection.execute(SQL["touch_vectors"], named)
            return {row["text_hash"] async for row in await connection.execute(SQL["known_vectors"], named)}

    async def _embed(self, texts: list[PassageText]) -> list[PassageVectors]:
        with embeddings_call(self.embedder, len(texts)):
            found = await self.embedder.embed_passages(texts)
            if len(found) != len(texts):
                raise InvalidVectors(f"The embedding answered {len(found)} vectors for {len(texts)} texts.")
            vectors = checked([one.vector for one in found], texts=len(texts), dimensions=self.embedder.dimensions)
        return [replace(one, vector=vector) for one, vector in zip(found, vectors, strict=True)]

    async def _keep(self, hashes: Sequence[bytes], vectors: Sequence[PassageVectors]) -> None:
        rows = [
            {
                "text_hash": text_hash,
                "embedding": self.number,
                "vector": as_text(one.vector),
                "sentences": one.sentences,
            }
            for text_hash, one in zip(hashes, vectors, strict=True)
        ]
        try:
            async with self.pool.connection() as connection, connection.transaction(), connection.cursor() as cursor:
                await cursor.executemany(SQL["keep_vector"], rows)
        except ForeignKeyViolation:
            raise ForeignEmbedding(fingerprint_of(self.embedder)) from None


def embeddings_call(embedder: Embedder, texts: int) -> model_call:
    """One embedding request; a fingerprint is ``provider/model/dimensions``."""
    provider, _, rest = embedder.fingerprint.partition("/")
    model = rest.rpartition("/")[0] or rest
    attributes = {conventions.GEN_AI_EMBEDDINGS_DIMENSIONS: embedder.dimensions, "talkdown.texts": texts}
    return model_call(conventions.EMBEDDINGS, provider, model, attributes)


async def register(pool: Pool, embedder: Embedder) -> int:
    """The number of an embedder's embedding; its table is made, and it serves, if it is the first."""
    fingerprint = fingerprint_of(embedder)
    named = {"fingerprint": fingerprint, "dimensions": embedder.dimensions}
    async with pool.connection() as connection, connection.transaction():
        known = await (await connection.execute(SQL["embedding_of"], named)).fetchone()
        if known is None:
            await connection.execute(SQL["lock_corpus"])  # before any lock on the chunks, as a refresh does
            row = await (await connection.execute(SQL["register_embedding"], named)).fetchone()
            if row is not None:
                number: int = row["embedding"]
                for name in ("create_vectors", "store_plainly", "index_vectors", "index_vector_documents"):
                    await connection.execute(for_embedding(SQL[name], number, embedder.dimensions))
                await connection.execute(SQL["serve_first"], {"embedding": number})
                return number
            known = await (await connection.execute(SQL["embedding_of"], named)).fetchone()
    if known is None or known["dimensions"] != embedder.dimensions:
        raise ForeignEmbedding(fingerprint)
    return known["embedding"]
