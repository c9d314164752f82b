"""Events come late, twice and in any order, to several retrievers: the corpus ends as if it had been built at once."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import SecretStr
from retriever_house import MIGRATIONS, Refresh, Retriever, Start, dump

from chassis.postgres import Pool, migrate, open_pool
from contracts.events import Event
from retriever.embedding import ScriptedEmbedder
from retriever.settings import Settings
from retriever.tables import SCHEMA

PATHS = ("a.md", "b.md", "c/d.md")
TEXTS = (
    "Apples are red.",
    "Apples are red.\n\nPears are green.",
    "Pears are green.",
    "",
    "Plums\nare blue.\n\nApples are red.\n\nApples are red.",
)
change = st.tuples(st.sampled_from(PATHS), st.sampled_from([*TEXTS, None]))
history = st.lists(st.lists(change, max_size=3, unique_by=lambda one: one[0]), min_size=1, max_size=4)


def refreshes_of(changes: list[list[tuple[str, str | None]]]) -> tuple[list[Refresh], dict[str, str]]:
    """The refreshes of a history, and what the folder holds at its end."""
    refreshes: list[Refresh] = []
    folder: dict[str, str] = {}
    for number, some in enumerate(changes):
        refresh = Refresh("paths" if number else "tree")
        for path, text in some:
            if text is None:
                refresh.delete(path)
                folder.pop(path, None)
            else:
                refresh.save(path, text)
                folder[path] = text
        refreshes.append(refresh)
    return refreshes, folder


async def built(url: str, lists: list[list[Event]], *, at_once: bool) -> tuple[dict[str, Any], list[str]]:
    """The corpus after each list of events was handled by a retriever of its own, and the refreshes' ends."""
    async with open_pool(SecretStr(url), schema=SCHEMA, size=8) as pool:
        await migrate(pool, SCHEMA, MIGRATIONS)
        retrievers = [await Retriever.start(pool, ScriptedEmbedder(), Settings()) for _ in lists]
        try:
            if at_once:
                await asyncio.gather(
                    *(retriever.take(events) for retriever, events in zip(retrievers, lists, strict=True))
                )
            else:
                for step in range(max(map(len, lists), default=0)):
                    for retriever, events in zip(retrievers, lists, strict=True):
                        await retriever.take(events[step : step + 1])
        finally:
            for retriever in retrievers:
                retriever.close()
        ends = [report.status for retriever in retrievers for report in retriever.published.reports()]
        return dict(await dump(pool)), ends


@pytest.mark.behaviour("C5", "C6", "E1")
@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(history=history, data=st.data(), at_once=st.booleans())
def test_any_order_ends_like_a_clean_build(
    postgres_server: Any, history: list[list[tuple[str, str | None]]], data: st.DataObject, at_once: bool
) -> None:
    refreshes, folder = refreshes_of(history)
    events = [event for refresh in refreshes for event in refresh.events]
    again = data.draw(st.lists(st.sampled_from(events), max_size=4))
    order = data.draw(st.permutations([*events, *again]))
    cut = data.draw(st.integers(0, len(order)))
    clean = Refresh("tree")
    for path, text in folder.items():
        clean.save(path, text)
    urls = postgres_server.fresh(), postgres_server.fresh()
    try:
        mixed, ends = asyncio.run(built(urls[0], [order[:cut], order[cut:]], at_once=at_once))
        expected, _ = asyncio.run(built(urls[1], [clean.events], at_once=False))
    finally:
        for url in urls:
            postgres_server.drop(url)
    assert ends.count("failed") == 0
    assert len(ends) >= len(refreshes)
    assert mixed == expected


@pytest.mark.behaviour("C5")
async def test_a_text_that_comes_back_is_current_again_and_costs_nothing(retriever: Retriever) -> None:
    first = await retriever.fill({"a.md": "The code is ONE."})
    second = await retriever.fill({"a.md": "The code is TWO."}, scope="paths")
    third = await retriever.fill({"a.md": "The code is ONE."}, scope="paths")
    assert [report.embedded for report in (first, second, third)] == [1, 1, 0]
    assert (third.changed, third.unchanged) == (1, 0)
    assert (await retriever.search("code")).passages[0].text == "The code is ONE."


@pytest.mark.behaviour("C4", "C6")
async def test_a_second_refresh_of_the_same_texts_embeds_nothing(retriever: Retriever) -> None:
    notes = {"a.md": "Apples.\n\nPears.", "b.md": "Plums."}
    assert (await retriever.fill(notes)).embedded == 3
    again = await retriever.fill(notes)
    assert (again.status, again.embedded, again.unchanged, again.changed) == ("finished", 0, 2, 0)


@pytest.mark.behaviour("C14")
async def test_two_identical_files_are_two_documents_embedded_once(retriever: Retriever) -> None:
    report = await retriever.fill({"a.md": "The same words.", "b.md": "The same words."})
    assert (report.added, report.embedded) == (2, 1)
    refresh = Refresh()
    refresh.delete("a.md")
    await retriever.show(refresh)
    assert [passage.path for passage in (await retriever.search("same words")).passages] == ["b.md"]


@pytest.mark.behaviour("C5")
async def test_a_late_event_of_a_lower_revision_does_not_bring_a_deleted_note_back(retriever: Retriever) -> None:
    late = Refresh()
    old = late.save("a.md", "An old secret.")
    await retriever.fill({"b.md": "Another."})
    gone = Refresh()
    gone.delete("a.md")
    await retriever.show(gone)
    await retriever.take([old, late.seal])
    assert (await retriever.corpus.refresh(late.id)).status == "finished"
    assert [entry.path for entry in (await retriever.manifest()).documents] == ["b.md"]


@pytest.mark.behaviour("C6")
async def test_two_retrievers_that_handle_the_same_refresh_show_it_once(start: Start, pool: Pool) -> None:
    one, other = await start(), await start()
    refresh = Refresh("tree")
    for number in range(12):
        refresh.save(f"{number}.md", f"Note {number}.\n\nMore of note {number}.")
    await asyncio.gather(one.take(refresh.events), other.take(reversed(refresh.events)))
    reports = [*one.published.reports(), *other.published.reports()]
    assert [(report.status, report.added) for report in reports] == [("finished", 12)]
    assert len((await other.manifest()).documents) == 12
    async with pool.connection() as connection:
        left = await (await connection.execute("SELECT count(*) AS n FROM revisions")).fetchone()
    assert left == {"n": 0}
