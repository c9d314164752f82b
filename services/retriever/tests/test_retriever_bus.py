"""Two retrievers on one bus and one database share the work of many refreshes (C6, E1)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial

import pytest
from retriever_house import Refresh, Retriever, Start, dump

from chassis.bus import Bus, Options, open_bus
from chassis.postgres import Pool
from contracts.events import DocumentChanged, DocumentDeleted, RefreshFinished, RefreshSealed
from contracts.refreshes import RefreshReport
from retriever.announcing import Announcements
from retriever.embedding import PassageText, PassageVectors, ScriptedEmbedder
from retriever.errors import EmbeddingUnavailable
from retriever.handlers import delete_document, give_up, index_document, seal_refresh

WITHIN_S = 60.0
QUICK = Options(attempts=3, first_pause_s=0.01, lease_s=1.0)


async def work(bus: Bus, retriever: Retriever, pool: Pool) -> None:
    """Consume as the service does."""
    announce = Announcements(pool, bus)
    to = {"staging": retriever.staging, "visibility": retriever.visibility, "announce": announce}
    await bus.consume(
        "documents",
        "retriever",
        {
            DocumentChanged: partial(index_document, vectors=await retriever.models.ready(), **to),
            DocumentDeleted: partial(delete_document, **to),
            RefreshSealed: partial(seal_refresh, **to),
        },
        concurrency=4,
        gave_up=partial(give_up, staging=retriever.staging, announce=announce),
    )


async def ends(
    url: str, retrievers: Sequence[Retriever], pool: Pool, refreshes: Sequence[Refresh]
) -> list[RefreshReport]:
    """Publish refreshes at once, let the retrievers work on them, and give their reports."""
    reports: dict[object, RefreshReport] = {}
    everything = asyncio.Event()

    async def note(event: RefreshFinished) -> None:
        reports[event.report.refresh_id] = event.report
        if len(reports) == len(refreshes):
            everything.set()

    async with (
        asyncio.timeout(WITHIN_S),
        open_bus(url, service="test", options=QUICK) as ears,
        open_bus(url, service="one", options=QUICK) as one,
        open_bus(url, service="two", options=QUICK) as two,
    ):
        tasks = [
            asyncio.create_task(work(bus, retriever, pool))
            for bus, retriever in zip((one, two), retrievers, strict=True)
        ]
        tasks.append(asyncio.create_task(ears.consume("documents", "ears", {RefreshFinished: note})))
        await asyncio.gather(*(ears.publish(*refresh.events) for refresh in refreshes))
        await everything.wait()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    return [reports[refresh.id] for refresh in refreshes]


@pytest.mark.behaviour("C6", "E1")
async def test_two_retrievers_share_many_refreshes_and_end_like_a_clean_build(
    start: Start, pool: Pool, valkey_url: str
) -> None:
    refreshes = [Refresh("tree")]
    for number in range(20):
        refreshes[0].save(f"{number}.md", f"Note {number}, as it was.")
    for number in range(20):
        refresh = Refresh()
        refresh.save(f"{number}.md", f"Note {number}, written anew.\n\nWith a second part.")
        if number % 3 == 0:
            refresh.delete(f"{(number + 1) % 20}.md")
        refreshes.append(refresh)
    reports = await ends(valkey_url, [await start(), await start()], pool, refreshes)
    assert {report.status for report in reports} == {"finished"}

    newest: dict[str, DocumentChanged | DocumentDeleted] = {}
    for refresh in refreshes:
        newest.update(refresh.documents)
    expected = sorted(path for path, event in newest.items() if isinstance(event, DocumentChanged))
    documents = (await dump(pool))["documents"]
    assert [row["path"] for row in documents] == expected
    assert all(row["sha256"] == getattr(newest[row["path"]], "sha256", None) for row in documents)


@pytest.mark.behaviour("C5", "E1", "T11")
async def test_a_document_that_ends_in_the_dead_letters_ends_its_refresh(
    start: Start, pool: Pool, valkey_url: str
) -> None:
    class Poisoned(ScriptedEmbedder):
        async def embed_passages(self, passages: Sequence[PassageText]) -> list[PassageVectors]:
            if any("poison" in passage.text for passage in passages):
                raise EmbeddingUnavailable("The embedding provider answered 500.")
            return await super().embed_passages(passages)

    good, bad = Refresh(), Refresh()
    good.save("good.md", "Wholesome words.")
    bad.save("bad.md", "Words of poison.")
    bad.save("fine.md", "Fine words.")
    retrievers = [await start(Poisoned()), await start(Poisoned())]
    finished, failed = await ends(valkey_url, retrievers, pool, [good, bad])
    assert (finished.status, failed.status) == ("finished", "failed")
    assert [file.path for file in failed.rejected] == ["bad.md"]
    assert failed.reason == "The embedding provider answered 500. It was tried 3 times."
    assert [row["path"] for row in (await dump(pool))["documents"]] == ["good.md"]
    async with open_bus(valkey_url, service="test") as bus:
        assert [letter.data["path"] for letter in await bus.dead_letters()] == ["bad.md"]
