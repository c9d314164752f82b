"""Documents and searches a second a retriever, where the CPU went, what a passage takes, and two and four retrievers.

::

    notes --document.changed--> Valkey --> retrievers --(embed)--> PostgreSQL     until the last note is shown
    people --POST /search--> a retriever --> PostgreSQL
"""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import notes
import psycopg
from asking import Line
from house import House, Running, helper, shares, watching

from chassis.bus import Options, open_bus
from chassis.settings import ServiceSettings
from contracts.search import SearchResult
from retriever.lexical import LexicalChunk, LexicalIndex

STUB = Path(__file__).with_name("stub.py")
SHARE = 0.2
WAIT_MS = 1000
DIMENSIONS = 64
"""Of the vectors when replicas are compared: the graph of longer ones is PostgreSQL's work, and would be the limit."""
WITHIN_S = 1200.0
SETTLES_S = 6.0
"""Twice a lease: by then the members have shared the partitions anew."""


async def publish(redis_url: str, numbers: range) -> str:
    """Publish a refresh of these notes, its documents a few at a time; its id."""
    settings = ServiceSettings()
    refresh_id, changed, sealed = notes.refresh(numbers)
    async with open_bus(redis_url, service="ingestor", options=Options.of(settings)) as bus:
        some = [event for _, event in zip(range(20), changed, strict=False)]
        while some:
            await bus.publish(*some)
            some = [event for _, event in zip(range(20), changed, strict=False)]
        await bus.publish(sealed)
    return str(refresh_id)


def shown(house: House, refresh_id: str) -> None:
    """Wait until a refresh has ended, and make sure that it did well."""
    until = time.monotonic() + WITHIN_S
    with psycopg.connect(house.postgres_url, autocommit=True) as connection:
        while time.monotonic() < until:
            row = connection.execute(
                "SELECT status, reason FROM retriever.refreshes WHERE refresh_id = %s", (refresh_id,)
            ).fetchone()
            if row and row[0] == "finished":
                return
            if row and row[0] == "failed":
                raise RuntimeError(f"a refresh failed: {row[1]}")
            time.sleep(0.05)
    raise TimeoutError("a refresh did not end in time")


def filled(house: House, retrievers: Sequence[Running], first: int, documents: int) -> dict[str, float]:
    """How long so many notes take, and the CPU milliseconds a note of everything that took part."""
    used: dict[str, float] = {}
    with watching(used, retriever=retrievers, postgres=[house.postgres], valkey=[house.valkey]):
        refresh_id = asyncio.run(publish(house.redis_url, range(first, first + documents)))
        shown(house, refresh_id)
    groups = ("retriever", "postgres", "valkey")
    return {
        "documents": documents,
        "documents_per_s": documents / used["seconds"],
        **{f"{name}_ms": used[name] / documents * 1000 for name in groups},
        **{f"{name}_cores": used[name] / used["seconds"] for name in groups},
    }


def searched(house: House, retrievers: Sequence[Running], people: int, seconds: float) -> dict[str, float]:
    """What so many people see who search again and again."""
    used: dict[str, float] = {}
    took: list[float] = []

    async def person(number: int, until: float) -> None:
        draw, line = random.Random(number), Line(retrievers[number % len(retrievers)].url)
        while time.monotonic() < until:
            began = time.monotonic()
            status, _ = await line.post("/search", {"query": question(draw)})
            assert status == 200, status
            took.append(time.monotonic() - began)
        line.close()

    async def all_of_them() -> None:
        until = time.monotonic() + seconds
        await asyncio.gather(*(person(number, until) for number in range(people)))

    with watching(used, retriever=retrievers, postgres=[house.postgres]):
        asyncio.run(all_of_them())
    took.sort()
    return {
        "searches_per_s": len(took) / used["seconds"],
        "p50_ms": took[len(took) // 2] * 1000,
        "p95_ms": took[int(len(took) * 0.95)] * 1000,
        "retriever_ms": used["retriever"] / len(took) * 1000,
        "postgres_ms": used["postgres"] / len(took) * 1000,
    }


def question(draw: random.Random) -> str:
    """A question of six words, of which some are rare."""
    words = " ".join(notes.word(int(notes.WORDS ** draw.uniform(0.4, 1))) for _ in range(6))
    return f"What is {words}?"


def sizes(house: House) -> dict[str, float]:
    """Bytes of the visible corpus in PostgreSQL, of each thousand passages."""
    with psycopg.connect(house.postgres_url) as connection:
        row = connection.execute("SELECT count(*) FROM retriever.chunks").fetchone()
        assert row is not None
        passages = row[0]
        tables = connection.execute(
            "SELECT relname, pg_table_size(oid), pg_indexes_size(oid) FROM pg_class"
            " WHERE relnamespace = 'retriever'::regnamespace AND relkind = 'r'"
        ).fetchall()
    by_name = {name: (table, indexes) for name, table, indexes in tables}
    vectors = [sum(both) for name, both in by_name.items() if name.startswith("vectors_")]
    whole = sum(sum(both) for both in by_name.values())
    thousands = passages / 1000
    return {
        "passages": passages,
        "bytes_per_thousand": whole / thousands,
        "searched_vectors_per_thousand": sum(vectors) / thousands,
        "kept_vectors_per_thousand": sum(by_name["kept_vectors"]) / thousands,
        "texts_per_thousand": (sum(by_name["chunks"]) + sum(by_name["documents"])) / thousands,
        "passages_per_gigabyte": 1e9 / (whole / passages),
    }


def words(folder: Path, numbers: range) -> dict[str, float]:
    """The index of words of these notes, which every retriever holds in memory: its bytes, and the time to fill it."""
    index, passages, began = LexicalIndex(folder), 0, time.process_time()
    _, changed, _ = notes.refresh(numbers)
    for event in changed:
        for chunk in event.chunks:
            passages += 1
            beside = [one.plain for one in event.chunks if abs(one.ordinal - chunk.ordinal) == 1]
            index.add(
                [LexicalChunk(passages, event.revision, "en", chunk.plain, list(chunk.heading), "", "\n".join(beside))]
            )
    index.commit(1)
    took = time.process_time() - began
    size = sum(file.stat().st_size for file in folder.iterdir())
    return {"passages": passages, "bytes_per_passage": size / passages, "ms_per_passage": took / passages * 1000}


def found(retriever: Running) -> bytes:
    """A real answer of a search, for whoever stands in for a retriever."""

    async def ask() -> bytes:
        line = Line(retriever.url)
        _, body = await line.post("/search", {"query": question(random.Random(1))})
        line.close()
        return body

    body = asyncio.run(ask())
    assert SearchResult.model_validate(json.loads(body)).passages, "nothing was found"
    return body


def replicas(house: House, counts: Sequence[int], first: int, each: int, *, waits: bool) -> dict[str, Any]:
    """The same for 1, 2, 4 retrievers: each with a share of a core, or with a provider that takes a second to embed."""
    rounds: list[dict[str, Any]] = []
    held = True
    with helper(STUB, "embeddings", WAIT_MS if waits else 0, DIMENSIONS) as stub, ExitStack() as stack:
        retrievers: list[Running] = []
        settings: dict[str, object] = {
            "embeddings": "openai",
            "embedding_dimensions": DIMENSIONS,
            "OPENAI_API_KEY": "none",
            "OPENAI_BASE_URL": f"{stub.url}/v1",
        }
        for count in counts:
            more = stack.enter_context(house.start("retriever", count - len(retrievers), **settings))
            retrievers += more
            time.sleep(SETTLES_S)
            if not waits:
                held = stack.enter_context(shares(more, SHARE)) and held
            documents = each * count
            rounds.append({"retrievers": count, **filled(house, retrievers, first, documents)})
            first += documents
    limit = f"{WAIT_MS} ms for each request of the provider" if waits else f"{SHARE:g} of a core each"
    return {"limit": limit, "held": held, "rounds": rounds}
