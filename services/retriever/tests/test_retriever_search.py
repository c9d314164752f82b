"""What a search gives (R1 to R7)."""

from __future__ import annotations

import asyncio
import datetime as dt
from typing import Any

import pytest
from retriever_house import SAVED_AT, Refresh, Retriever, Start, sha

from chassis.postgres import Pool
from contracts.documents import Properties, chunk_id

LONG = "\n\n".join(f"Paragraph {number} of the valve manual." for number in range(7))


@pytest.mark.behaviour("R1")
async def test_five_hits_each_with_its_neighbours_every_row_once_in_file_order(retriever: Retriever) -> None:
    await retriever.fill({"b.md": LONG, "a.md": "Unrelated words.\n\nThe amber valve.\n\nOther unrelated words."})
    result = await retriever.search("amber valve paragraph 3", hits=2)
    assert sum(bool(passage.found) for passage in result.passages) == 2
    places = [(passage.path, passage.ordinal) for passage in result.passages]
    assert places == sorted(set(places))
    for passage in result.passages:
        assert passage.found or any(
            other.found and other.path == passage.path and abs(other.ordinal - passage.ordinal) == 1
            for other in result.passages
        )
    wide = await retriever.search("paragraph", neighbours=0)
    assert len(wide.passages) == 5


@pytest.mark.behaviour("R1")
async def test_equal_hits_are_ordered_by_id(retriever: Retriever) -> None:
    await retriever.fill({f"{name}.md": "The very same words." for name in "abcdefgh"})
    result = await retriever.search("very same words", hits=3)
    by_id = sorted(chunk_id(f"{name}.md", sha("The very same words."), 0) for name in "abcdefgh")
    assert sorted(passage.id for passage in result.passages) == by_id[:3]


@pytest.mark.behaviour("R2")
async def test_the_budget_counts_everything_and_the_sources_carry_what_was_used(retriever: Retriever) -> None:
    paragraph = "The amber valve opens slowly. " * 20
    await retriever.fill({f"{n}.md": f"{paragraph}\n\n{paragraph} again" for n in range(6)})
    result = await retriever.search("amber valve", hits=5, budget=2000)
    assert 1900 < len(result.context) <= 2000
    for n, passage in enumerate(result.passages, 1):
        assert f"[{n}] {passage.path}:{passage.lines[0]}-{passage.lines[1]}\n{passage.text}" in result.context
        assert all(sentence.span[1] <= len(passage.text) for sentence in passage.sentences)
    assert len((await retriever.search("amber valve")).context) <= 6000


@pytest.mark.behaviour("R3")
async def test_every_search_sees_one_refresh_whole_while_refreshes_run(start: Start) -> None:
    writer, reader = await start(), await start()
    await writer.fill({f"{name}.md": f"{name} holds the number zero" for name in "abcd"})
    written = asyncio.Event()

    async def write() -> None:
        for number in ("one", "two", "three", "four", "five", "six", "seven", "eight"):
            refresh = Refresh()
            for name in "abcd":
                refresh.save(f"{name}.md", f"{name} holds the number {number}")
            await writer.show(refresh)
        written.set()

    seen: set[str] = set()

    async def read() -> None:
        while not written.is_set():
            result = await reader.search("holds the number")
            numbers = {passage.text.split()[-1] for passage in result.passages}
            assert len(result.passages) == 4
            assert len(numbers) == 1, numbers
            seen.update(numbers)

    async with asyncio.TaskGroup() as group:
        group.create_task(write())
        for _ in range(3):
            group.create_task(read())
    assert len(seen) > 1, "the searches ran while the corpus changed"


@pytest.mark.behaviour("R4")
async def test_no_hits_are_an_empty_answer(retriever: Retriever) -> None:
    result = await retriever.search("anything")
    assert (result.passages, result.context, result.corpus_version) == ((), "", 0)
    await retriever.fill({"a.md": "Apples."})
    result = await retriever.search("apples", filter={"folder": "elsewhere"})
    assert (result.passages, result.context) == ((), "")


@pytest.mark.behaviour("R5")
async def test_each_hit_says_which_leg_found_it_where_and_how_well(retriever: Retriever) -> None:
    await retriever.fill({"a.md": "Der Schlüssel liegt unter der Matte.", "b.md": "The key is under the mat."})
    result = await retriever.search("Wo liegt der Schlüssel?")
    assert result.language == "de"
    best = max(result.passages, key=lambda passage: passage.score)
    assert (best.path, best.language) == ("a.md", "de")
    assert {found.leg: found.rank for found in best.found} == {"vector": 1, "lexical": 1}
    assert all(found.score > 0 for found in best.found)
    assert best.sentences[0].similarity == pytest.approx(
        next(found.score for found in best.found if found.leg == "vector"), abs=0.02
    )


@pytest.mark.behaviour("R6")
@pytest.mark.parametrize("exact_up_to", [0, 20_000], ids=["approximate", "exact"])
async def test_filters_fill_the_hits_that_were_asked_for(start: Start, exact_up_to: int) -> None:
    retriever = await start(exact_up_to=exact_up_to)
    refresh = Refresh("tree")
    for number in range(300):
        folder, tag = ("wanted/deep", "Pump") if number % 50 == 0 else ("other", "valve")
        refresh.save(
            f"{folder}/{number}.md",
            f"The pump number {number} leaks." if number % 50 else f"A note about something, {number}.",
            properties=Properties(tags=(tag,), date=dt.date(2020, 1, 1) + dt.timedelta(days=number)),
        )
    await retriever.show(refresh)
    wanted: list[tuple[dict[str, Any], int]] = [
        ({"folder": "wanted"}, 6),
        ({"folder": "/wanted/deep/"}, 6),
        ({"folder": "want"}, 0),
        ({"folders": ("elsewhere", "/wanted/deep/")}, 6),
        ({"folders": ("want", "wanted/de%")}, 0),
        ({"folders": ("other", "wanted"), "folder": "wanted"}, 6),
        ({"folder": "wanted/de%"}, 0),
        ({"tags": ("#pump", "nothing")}, 6),
        ({"since": dt.date(2020, 10, 1)}, 10),
        ({"until": dt.date(2020, 1, 3)}, 3),
        ({"folder": "wanted", "since": dt.date(2020, 2, 1), "tags": ("PUMP",)}, 5),
    ]
    for chosen, expected in wanted:
        result = await retriever.search("which pump leaks", hits=10, neighbours=0, budget=50_000, filter=chosen)
        assert len(result.passages) == expected, chosen


@pytest.mark.behaviour("R6")
async def test_a_filter_is_filled_though_the_index_comes_short(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("retriever.legs.MOST_SCANNED", 1)
    retriever = await start(exact_up_to=0)
    far = {f"far/{number}.md": f"Zucchini grow slowly here, {number}." for number in range(6)}
    await retriever.fill({f"{number}.md": f"The pump number {number} leaks." for number in range(300)} | far)
    result = await retriever.search("which pump leaks", hits=10, neighbours=0, filter={"folder": "far"})
    assert len(result.passages) == 6


@pytest.mark.behaviour("R6")
async def test_the_approximate_index_is_used_past_the_limit(start: Start, pool: Pool) -> None:
    retriever = await start(exact_up_to=0)
    await retriever.fill({f"{n}.md": f"Note {n} about valves." for n in range(50)})
    async with pool.connection() as connection:
        before = await _scans(connection)
        result = await retriever.search("note 7 about valves", hits=1, neighbours=0)
        assert result.passages[0].path == "7.md"
        await connection.execute("SELECT pg_stat_force_next_flush()")
    async with asyncio.timeout(20):
        while await _scans_of(pool) <= before:
            await retriever.search("note 8 about valves", hits=1)


@pytest.mark.behaviour("R7")
async def test_a_source_says_where_it_stands(retriever: Retriever) -> None:
    refresh = Refresh("tree")
    text = "# Valves\n\nThe amber valve\nis in room nine."
    saved_at = SAVED_AT + dt.timedelta(minutes=5)
    event = refresh.save("plant/valves.md", text, properties=Properties(title="Valves"), saved_at=saved_at)
    headed = event.chunks[1].model_copy(update={"heading": ("Valves", "Amber")})
    refresh.documents[event.path] = event.model_copy(update={"chunks": (event.chunks[0], headed)})
    await retriever.show(refresh)
    source = (await retriever.search("amber valve")).passages[-1]
    assert (source.path, source.heading, source.lines) == ("plant/valves.md", ("Valves", "Amber"), (3, 4))
    assert (source.version, source.saved_at, source.title) == (sha(text), saved_at, "Valves")
    assert source.id == chunk_id("plant/valves.md", sha(text), 1)
    assert source.runs == headed.runs


@pytest.mark.behaviour("R4")
@pytest.mark.parametrize(
    "query",
    [
        "\ufffe\uffff",
        "?!(*)~^:\\\"'" * 180,
        "AND OR NOT",
        "\u202e" * 50,
        "😀" * 2000,
        "%_%",
        "a" * 2000,
    ],
    ids=["noncharacters", "punctuation", "operators", "marks", "emoji", "patterns", "one word"],
)
async def test_no_text_breaks_a_search(retriever: Retriever, query: str) -> None:
    await retriever.fill({"a.md": "Some words AND others.", "b.md": "NUL \x00 inside."})
    result = await retriever.search(query)
    assert result.corpus_version == 1


async def _scans(connection: Any) -> int:
    row = await (
        await connection.execute(
            "SELECT coalesce(sum(idx_scan), 0)::int AS scans FROM pg_stat_user_indexes"
            " WHERE relname = 'vectors_1' AND indexrelname LIKE '%vector_idx'"
        )
    ).fetchone()
    return int(row["scans"])


async def _scans_of(pool: Pool) -> int:
    async with pool.connection() as connection:
        await connection.execute("SELECT pg_stat_clear_snapshot()")
        return await _scans(connection)
