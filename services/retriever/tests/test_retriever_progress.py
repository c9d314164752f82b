"""Progress is of what is still to be done: it moves while anything moves, and ends with the work."""

from __future__ import annotations

import asyncio
import datetime as dt
from collections.abc import Sequence

import pytest
from retriever_house import SAVED_AT, Refresh, Retriever, Start

from contracts.refreshes import RefreshProgress
from retriever.embedding import PassageText, PassageVectors, ScriptedEmbedder
from retriever.visibility import PostgresVisibility

LATER = SAVED_AT + dt.timedelta(minutes=1)


async def progress_of(retriever: Retriever) -> RefreshProgress | None:
    return (await retriever.manifest()).progress


def tree(paths: range, *, started_at: dt.datetime = SAVED_AT) -> Refresh:
    refresh = Refresh("tree", started_at=started_at)
    for number in paths:
        refresh.save(f"{number}.md", f"Note {number}.")
    return refresh


@pytest.mark.behaviour("C5", "E1")
async def test_the_progress_of_a_first_filling_that_was_begun_again_is_that_of_the_second(start: Start) -> None:
    retriever = await start()
    retriever.visibility = PostgresVisibility(retriever.pool, 2)
    first = tree(range(9))
    await retriever.take([first.seal, *list(first.documents.values())[:3]])
    shown = [entry.path for entry in (await retriever.manifest()).documents]
    assert shown == ["0.md", "1.md"]

    second = tree(range(2, 9), started_at=LATER)
    *documents, last = second.documents.values()
    await retriever.take([second.seal])
    assert await progress_of(retriever) == RefreshProgress(refresh_id=second.id, documents=7, staged=0, visible=0)
    await retriever.take(documents)
    assert await progress_of(retriever) == RefreshProgress(refresh_id=second.id, documents=7, staged=6, visible=6)
    await retriever.take([last])
    manifest = await retriever.manifest()
    assert (manifest.state, len(manifest.documents), manifest.progress) == ("current", 9, None)


@pytest.mark.behaviour("C5", "E1")
async def test_what_was_saved_again_since_is_no_part_of_the_progress(retriever: Retriever) -> None:
    whole = tree(range(3))
    whole_documents = list(whole.documents.values())
    await retriever.take([whole.seal, whole_documents[0]])
    save = Refresh()
    save.save("1.md", "Note 1, written anew.")
    await retriever.take([save.seal])
    assert await progress_of(retriever) == RefreshProgress(refresh_id=whole.id, documents=2, staged=1)
    await retriever.take(save.documents.values())
    assert await progress_of(retriever) == RefreshProgress(refresh_id=whole.id, documents=2, staged=1)


@pytest.mark.behaviour("C5", "E1")
async def test_a_refresh_whose_notes_left_the_folder_before_it_was_begun_again_has_no_progress(
    retriever: Retriever,
) -> None:
    first = tree(range(3))
    await retriever.take([first.seal])
    await retriever.show(tree(range(1), started_at=LATER))
    manifest = await retriever.manifest()
    assert (manifest.state, manifest.progress) == ("current", None)


class Halting(ScriptedEmbedder):
    """The scripted embedder, a request at each release."""

    def __init__(self) -> None:
        self.may = asyncio.Semaphore(0)

    async def embed_passages(self, passages: Sequence[PassageText]) -> list[PassageVectors]:
        await self.may.acquire()
        return await super().embed_passages(passages)


@pytest.mark.behaviour("C5", "E1")
async def test_a_long_document_is_seen_to_be_embedded_while_it_holds_up_everything(start: Start) -> None:
    embedder = Halting()
    retriever = await start(embedder, embedding_batch=2, refresh_timeout_s=60)
    refresh = Refresh()
    event = refresh.save("long.md", "\n\n".join(f"Paragraph {number}." for number in range(7)))
    await retriever.take([refresh.seal])
    assert (await retriever.corpus.refresh(refresh.id)).texts == 0

    handling = asyncio.create_task(retriever.take([event]))
    for texts in (2, 4, 6):
        embedder.may.release()
        async with asyncio.timeout(20):
            while (state := await retriever.corpus.refresh(refresh.id)).texts != texts:
                assert state.texts < texts
        assert (state.status, state.documents, state.staged) == ("sealed", 1, 0)
    async with retriever.pool.connection() as connection:
        await connection.execute("UPDATE refreshes SET opened_at = opened_at - interval '1 day'")
    await retriever.collector().collect()
    assert (await retriever.corpus.refresh(refresh.id)).status == "sealed", "what moves is not given up"

    embedder.may.release()
    await handling
    assert (await retriever.corpus.refresh(refresh.id)).status == "finished"


@pytest.mark.behaviour("C5")
async def test_texts_of_a_refresh_that_ended_or_is_not_open_yet_are_counted_without_harm(start: Start) -> None:
    retriever = await start(embedding_batch=1)
    refresh = Refresh()
    event = refresh.save("a.md", "One.\n\nTwo.\n\nThree.")
    await retriever.take([event])
    assert (await retriever.corpus.refresh(refresh.id)).texts == 2
    assert await retriever.staging.fail(refresh.id, "It was given up.")
    await retriever.staging.embedding(refresh.id, 5)
    state = await retriever.corpus.refresh(refresh.id)
    assert (state.status, state.texts) == ("failed", 2)
