"""The queries of this service, and the table of vectors that each embedding has of its own."""

from __future__ import annotations

from chassis.queries import Queries

SCHEMA = "retriever"
SQL = Queries.of("retriever")


def for_embedding(query: bytes, embedding: int, dimensions: int = 0) -> bytes:
    """A query on the vectors of one embedding, by its number in the table ``embeddings``."""
    return query.replace(b"{vectors}", b"vectors_%d" % embedding).replace(b"{dimensions}", b"%d" % dimensions)
