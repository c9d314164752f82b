"""What goes wrong leaves the corpus as it was, and the next refresh takes it again (C5)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from psycopg.errors import RaiseException
from retriever_house import Refresh, Retriever, Start, dump

from chassis.postgres import Pool
from contracts.events import DocumentRejected
from retriever.embedding import PassageText, PassageVectors, ScriptedEmbedder
from retriever.errors import EmbeddingUnavailable


class Faulty(ScriptedEmbedder):
    """The scripted embedder, until it comes to a text about cherries."""

    def __init__(self, fault: str) -> None:
        self.fault = fault

    async def embed_passages(self, passages: Sequence[PassageText]) -> list[PassageVectors]:
        found = await super().embed_passages(passages)
        if not any("Cherries" in passage.text for passage in passages):
            return found
        match self.fault:
            case "unavailable":
                raise EmbeddingUnavailable("The embedding provider cannot be reached.")
            case "dimension":
                return [PassageVectors(one.vector[:100]) for one in found]
            case "not a number":
                return [PassageVectors(np.full_like(one.vector, np.nan)) for one in found]
            case "infinite":
                return [PassageVectors(np.full_like(one.vector, np.inf)) for one in found]
            case "zero":
                return [PassageVectors(np.zeros_like(one.vector)) for one in found]
            case "too few":
                return found[:-1]
            case _:
                raise AssertionError(self.fault)


BEFORE = {"apples.md": "Apples are red.", "bananas.md": "Bananas are yellow.", "plums.md": "Plums are blue."}


def second_refresh() -> Refresh:
    refresh = Refresh()
    refresh.save("apples.md", "Apples are green now.")
    refresh.delete("bananas.md")
    refresh.save("cherries.md", "Cherries are dark.")
    return refresh


async def handle_all(retriever: Retriever, refresh: Refresh) -> None:
    for event in refresh.events:
        await retriever.handle(event)


@pytest.mark.behaviour("C5", "C8")
@pytest.mark.parametrize("fault", ["unavailable", "dimension", "not a number", "infinite", "zero", "too few"])
async def test_a_faulty_embedding_changes_nothing_and_the_next_refresh_retries(
    start: Start, retriever: Retriever, pool: Pool, fault: str
) -> None:
    await retriever.fill(BEFORE)
    before = await dump(pool)
    faulty = Faulty(fault)
    broken = await start(faulty)
    report = await broken.show(second_refresh())
    assert report.status == "failed"
    assert report.reason
    assert [file.path for file in report.rejected] == ["cherries.md"]
    assert [event.path for event in broken.published.events if isinstance(event, DocumentRejected)] == ["cherries.md"]
    assert await dump(pool) == before
    assert not (await retriever.search("cherries", filter={"folder": "cherries.md"})).passages

    report = await retriever.show(second_refresh())
    assert (report.status, report.added, report.changed, report.deleted) == ("finished", 1, 1, 1)
    assert report.embedded == 1, "what was embedded before the failure is not embedded again"


@pytest.mark.behaviour("C5")
@pytest.mark.parametrize("table", ["chunks", "documents", "vectors_1", "removed_chunks", "staged_chunks", "refreshes"])
async def test_a_failing_database_changes_nothing_and_the_next_refresh_retries(
    retriever: Retriever, pool: Pool, table: str
) -> None:
    await retriever.fill(BEFORE)
    before = await dump(pool)
    await _break(pool, table)
    refresh = second_refresh()
    with pytest.raises(RaiseException, match="the disk is full"):
        await handle_all(retriever, refresh)
    await _mend(pool, table)
    assert await dump(pool) == before
    for event in refresh.events:
        await retriever.give_up(event, "the disk was full")
    assert await dump(pool) == before

    report = await retriever.show(second_refresh())
    assert (report.status, report.added, report.changed, report.deleted) == ("finished", 1, 1, 1)


@pytest.mark.behaviour("C5", "E1")
async def test_an_event_that_comes_again_after_a_database_error_ends_well(retriever: Retriever, pool: Pool) -> None:
    await retriever.fill(BEFORE)
    await _break(pool, "chunks")
    refresh = second_refresh()
    *documents, seal = refresh.events
    for event in documents:
        await retriever.handle(event)
    with pytest.raises(RaiseException, match="the disk is full"):
        await retriever.handle(seal)
    await _mend(pool, "chunks")
    await retriever.handle(seal)
    assert (await retriever.corpus.refresh(refresh.id)).status == "finished"
    assert [entry.path for entry in (await retriever.manifest()).documents] == ["apples.md", "cherries.md", "plums.md"]


@pytest.mark.behaviour("C7")
async def test_a_first_refresh_that_failed_is_not_ready_until_one_succeeds(start: Start) -> None:
    broken = await start(Faulty("zero"))
    assert await broken.corpus.missing() == "the first documents are being indexed"
    report = await broken.fill({"cherries.md": "Cherries are dark."})
    assert report.status == "failed"
    assert "the first refresh failed" in (await broken.corpus.missing() or "")
    assert (await broken.manifest()).state == "failed"
    mended = await start()
    await mended.fill({"cherries.md": "Cherries are dark."})
    assert await mended.corpus.missing() is None
    assert (await mended.manifest()).state == "current"


@pytest.mark.behaviour("C5")
async def test_a_document_whose_chunks_have_gaps_is_refused_with_its_name(retriever: Retriever) -> None:
    refresh = Refresh()
    event = refresh.save("a.md", "One.\n\nTwo.\n\nThree.")
    refresh.documents["a.md"] = event.model_copy(update={"chunks": event.chunks[1:]})
    report = await retriever.show(refresh)
    assert (report.status, "a.md" in (report.reason or "")) == ("failed", True)


async def _break(pool: Pool, table: str) -> None:
    async with pool.connection() as connection:
        await connection.execute(
            b"CREATE OR REPLACE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS"
            b" $$ BEGIN RAISE EXCEPTION 'the disk is full'; END $$"
        )
        await connection.execute(
            b"CREATE TRIGGER full_disk BEFORE INSERT OR UPDATE ON %s EXECUTE FUNCTION full_disk()" % table.encode()
        )


async def _mend(pool: Pool, table: str) -> None:
    async with pool.connection() as connection:
        await connection.execute(b"DROP TRIGGER full_disk ON %s" % table.encode())
