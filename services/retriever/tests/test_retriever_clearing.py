"""What is cleared away, and how a lagging replica catches up."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from retriever_house import Published, Refresh, Retriever, Start

from chassis.postgres import Pool
from contracts.events import Event
from retriever.announcing import Announcements
from retriever.visibility import PostgresVisibility

WITHIN_S = 60.0


async def collected(retriever: Retriever, done: Callable[[], Awaitable[bool]]) -> None:
    """Clear away until something is gone."""
    async with asyncio.timeout(WITHIN_S):
        while not await done():
            await retriever.collector().collect()


async def rows(pool: Pool, table: str) -> int:
    async with pool.connection() as connection:
        row = await (await connection.execute(b"SELECT count(*) AS n FROM %s" % table.encode())).fetchone()
    assert row is not None
    return int(row["n"])


@pytest.mark.behaviour("C5")
async def test_an_unfinished_refresh_is_given_up_in_time_and_its_vectors_are_kept(start: Start, pool: Pool) -> None:
    retriever = await start(refresh_timeout_s=0.2)
    open_, sealed = Refresh(), Refresh()
    await retriever.take([open_.save("a.md", "Apples.")])
    sealed.save("b.md", "Bananas.")
    await retriever.take([sealed.seal])

    async def both_failed() -> bool:
        return {report.refresh_id for report in retriever.published.reports()} == {open_.id, sealed.id}

    await collected(retriever, both_failed)
    assert {report.status for report in retriever.published.reports()} == {"failed"}
    assert await rows(pool, "revisions") == 0
    await retriever.take([sealed.documents["b.md"], open_.seal])
    assert (await retriever.manifest()).documents == (), "what comes later changes nothing"
    report = await retriever.fill({"a.md": "Apples."})
    assert (report.status, report.embedded) == ("finished", 0)


@pytest.mark.behaviour("C5", "E1")
async def test_a_refresh_that_was_overtaken_ends_without_what_will_never_come(start: Start, pool: Pool) -> None:
    retriever = await start(refresh_timeout_s=600)
    first, again, waiting = Refresh("tree"), Refresh("tree"), Refresh()
    for refresh in (first, again):
        for name in "ab":
            refresh.save(f"{name}.md", f"Note {name}.")
    waiting.save("c.md", "Cherries.")
    await retriever.take([first.seal, first.documents["a.md"], waiting.seal])
    await retriever.collector().collect()
    assert (await retriever.corpus.refresh(first.id)).status == "sealed", "nothing has overtaken it yet"

    await retriever.show(again)
    await retriever.collector().collect()
    report = retriever.published.reports()[-1]
    assert (report.refresh_id, report.status, report.added, report.changed) == (first.id, "finished", 0, 0)
    assert (await retriever.corpus.refresh(waiting.id)).status == "sealed"
    assert await rows(pool, "revisions") == 0
    assert [entry.path for entry in (await retriever.manifest()).documents] == ["a.md", "b.md"]


@pytest.mark.behaviour("C5")
async def test_a_refresh_is_not_given_up_while_another_is_being_staged(start: Start) -> None:
    retriever = await start(refresh_timeout_s=60)
    waiting = Refresh()
    waiting.save("a.md", "Apples.")
    await retriever.take([waiting.seal])
    await retriever.collector().collect()
    assert (await retriever.corpus.refresh(waiting.id)).status == "sealed"


@pytest.mark.behaviour("E1", "C7")
async def test_an_end_that_could_not_be_told_is_told_later(retriever: Retriever, pool: Pool) -> None:
    class Gone(Published):
        async def publish(self, *events: Event) -> None:
            raise ConnectionError("the bus is gone")

    refresh = Refresh()
    refresh.save("a.md", "Apples.")
    retriever.announce = Announcements(pool, Gone())
    await retriever.take(refresh.events[:-1])
    with pytest.raises(ConnectionError):
        await retriever.handle(refresh.seal)
    assert (await retriever.corpus.refresh(refresh.id)).status == "finished"
    heard = Published()
    await Announcements(pool, heard).forgotten(0)
    await Announcements(pool, heard).forgotten(0)
    assert [(report.refresh_id, report.added) for report in heard.reports()] == [(refresh.id, 1)]


@pytest.mark.behaviour("R3")
async def test_a_replica_that_lags_catches_up_before_it_answers(start: Start, pool: Pool) -> None:
    one, other = await start(), await start()
    await one.fill({"a.md": "The code is plum.", "b.md": "Unchanged words."})
    assert (await other.search("plum")).passages[0].path == "a.md"
    await one.fill({"a.md": "The code is cherry."}, scope="paths")
    assert [passage.path for passage in (await other.search("cherry", hits=1)).passages] == ["a.md"]
    assert not [passage for passage in (await other.search("plum")).passages if "plum" in passage.text]
    async with pool.connection() as connection:
        await connection.execute("UPDATE removed_chunks SET at = at - interval '1 day'")
    await one.collector().collect()
    await one.fill({"a.md": "The code is damson."}, scope="paths")
    assert await rows(pool, "removed_chunks") == 1
    late = await start()
    assert (await late.search("damson", hits=1)).passages[0].text == "The code is damson."
    assert other.lexicon.version == 2
    assert (await other.search("damson", hits=1)).passages[0].text == "The code is damson."
    assert len((await other.search("unchanged words", hits=1)).passages) == 1


@pytest.mark.behaviour("C5", "C7")
async def test_the_first_filling_becomes_visible_in_slices_of_whole_documents(start: Start, pool: Pool) -> None:
    retriever = await start(slice_documents=3)
    retriever.visibility = PostgresVisibility(pool, 3)
    refresh = Refresh("tree")
    for number in range(8):
        refresh.save(f"{number}.md", f"Note {number}, first part.\n\nNote {number}, second part.")
    await retriever.take([refresh.seal])
    seen: list[int] = []
    for event in refresh.documents.values():
        await retriever.take([event])
        manifest = await retriever.manifest()
        assert manifest.chunks == 2 * len(manifest.documents)
        seen.append(len(manifest.documents))
        if manifest.state == "building":
            assert manifest.progress is not None
            assert (manifest.progress.documents, manifest.progress.staged) == (8, len(seen))
            assert manifest.progress.visible == seen[-1]
            assert (await retriever.corpus.missing() is None) == (seen[-1] > 0)
    assert seen == [0, 0, 3, 3, 3, 6, 6, 8]
    report = retriever.published.reports()[-1]
    assert (report.added, report.embedded, report.status) == (8, 16, "finished")
    later = Refresh("tree")
    for number in range(8):
        later.save(f"{number}.md", f"Note {number}, written anew.")
    *changes, last = later.documents.values()
    await retriever.take([later.seal, *changes])
    assert "anew" not in (await retriever.search("note 1 anew", hits=1)).context, "a later refresh is never sliced"
    await retriever.take([last])
    assert "anew" in (await retriever.search("note 1 anew", hits=1)).context


@pytest.mark.behaviour("C4")
async def test_vectors_of_texts_that_nobody_shows_are_forgotten_in_time(retriever: Retriever, pool: Pool) -> None:
    await retriever.fill({"a.md": "Apples.", "b.md": "Bananas."})
    gone = Refresh()
    gone.delete("b.md")
    await retriever.show(gone)
    await retriever.collector().collect()
    assert await rows(pool, "kept_vectors") == 2
    async with pool.connection() as connection:
        await connection.execute("UPDATE kept_vectors SET used_at = used_at - interval '2 days'")
    await retriever.collector().collect()
    assert await rows(pool, "kept_vectors") == 1
    assert (await retriever.search("apples", hits=1)).passages[0].sentences[0].similarity is not None
