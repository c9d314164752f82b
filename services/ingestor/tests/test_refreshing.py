"""The whole folder against the index: what is sent, what is reported, and what becomes of it when things go wrong."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from ingestor_house import House, house, until

from contracts.events import RefreshSealed
from contracts.refreshes import RefreshReport
from ingestor import outcomes, preparing, refreshing
from ingestor.chunking import Cut, chunk_document
from ingestor.errors import FolderUnavailable


@pytest.fixture
async def quiet(tmp_path: Path) -> AsyncIterator[House]:
    """A house where nothing happens but on command."""
    async with house(tmp_path / "notes", work=False) as quiet:
        quiet.folder.mkdir()
        yield quiet


def counts(report: RefreshReport) -> tuple[str, int, int, int, int]:
    return report.status, report.added, report.changed, report.deleted, report.unchanged


@pytest.mark.behaviour("C7", "C4")
async def test_a_refresh_reports_what_it_did_and_a_second_finds_nothing_to_do(quiet: House) -> None:
    quiet.write("b.md", "# B\n\nBee.\n")
    quiet.write("a/a.MD", "Ay.\n")
    quiet.write("bad.md", b"\xff\xfe\xfd")
    report = await quiet.parts.refreshing.refresh_tree()
    assert counts(report) == ("finished", 2, 0, 0, 0)
    assert [(one.path, one.reason[:16]) for one in report.rejected] == [("bad.md", "It is UTF-16 tex")]
    assert report.duration_ms > 0
    assert quiet.retriever.texts == {"a/a.MD": "Ay.\n", "b.md": "# B\n\nBee.\n"}
    events = list(quiet.retriever.events)
    again = await quiet.parts.refreshing.refresh_tree()
    assert counts(again) == ("finished", 0, 0, 0, 2)
    assert [one.path for one in again.rejected] == ["bad.md"]
    assert quiet.retriever.events == events, "nothing is sent where there is nothing to do"


@pytest.mark.behaviour("C7", "C14")
async def test_changed_and_deleted_files_are_told_and_a_twin_stays(quiet: House) -> None:
    for path in ("one.md", "twin.md", "old.md"):
        quiet.write(path, "The same.\n")
    await quiet.parts.refreshing.refresh_tree()
    quiet.write("old.md", "Newer.\n")
    (quiet.folder / "one.md").unlink()
    report = await quiet.parts.refreshing.refresh_tree()
    assert counts(report) == ("finished", 0, 1, 1, 1)
    assert quiet.retriever.texts == {"twin.md": "The same.\n", "old.md": "Newer.\n"}


@pytest.mark.behaviour("C7")
async def test_an_empty_folder_makes_an_empty_index_current(quiet: House) -> None:
    report = await quiet.parts.refreshing.refresh_tree()
    assert counts(report) == ("finished", 0, 0, 0, 0)
    assert quiet.retriever.manifest().state == "current"


@pytest.mark.behaviour("C4")
async def test_every_document_is_sent_again_when_the_chunker_is_another(quiet: House) -> None:
    quiet.write("a.md", "Ay.\n")
    await quiet.parts.refreshing.refresh_tree()
    old = quiet.retriever.documents["a.md"]
    quiet.retriever.documents["a.md"] = old.model_copy(update={"chunker": "talkdown-markdown/0/800"})
    assert (await quiet.parts.refreshing.refresh_tree()).changed == 1
    assert quiet.retriever.documents["a.md"].chunker == "talkdown-markdown/1/800"
    assert counts(await quiet.parts.refreshing.refresh_tree()) == ("finished", 0, 0, 0, 1)


@pytest.mark.behaviour("C4", "C15")
async def test_nothing_is_sent_for_another_embedding_which_the_index_builds_by_itself(quiet: House) -> None:
    quiet.write("a.md", "Ay.\n")
    await quiet.parts.refreshing.refresh_tree()
    events = list(quiet.retriever.events)
    quiet.retriever.embedding = "scripted/2"
    assert counts(await quiet.parts.refreshing.refresh_tree()) == ("finished", 0, 0, 0, 1)
    quiet.retriever.served = "scripted/2"
    assert counts(await quiet.parts.refreshing.refresh_tree()) == ("finished", 0, 0, 0, 1)
    assert quiet.retriever.events == events


@pytest.mark.behaviour("C16")
async def test_a_rebuild_sends_every_file_anew(quiet: House) -> None:
    quiet.write("a.md", "Ay.\n")
    await quiet.parts.refreshing.refresh_tree()
    report = await quiet.parts.refreshing.refresh_tree(rebuild=True)
    assert report.changed == 1


@pytest.mark.behaviour("C6")
async def test_two_refreshes_at_once_do_the_work_once(quiet: House) -> None:
    for number in range(20):
        quiet.write(f"{number}.md", f"Number {number}.\n")
    reports = await asyncio.gather(*(quiet.parts.refreshing.refresh_tree() for _ in range(3)))
    assert [report.added for report in reports] == [20, 0, 0]
    assert len(quiet.retriever.sent) == 20


@pytest.mark.behaviour("C7")
async def test_a_document_that_the_index_refuses_holds_up_no_other(quiet: House) -> None:
    quiet.write("good.md", "Good.\n")
    quiet.write("poison.md", "Poison.\n")
    quiet.retriever.refuses = lambda event: "it cannot be embedded" if event.text == "Poison.\n" else None
    first = await quiet.parts.refreshing.refresh_tree()
    assert first.status == "failed"
    assert "poison.md" in (first.reason or "")
    second = await quiet.parts.refreshing.refresh_tree()
    assert second.status == "finished"
    assert quiet.retriever.texts == {"good.md": "Good.\n"}
    assert [(one.path, one.reason) for one in second.rejected] == [("poison.md", "it cannot be embedded")]
    (file,) = [file for file in quiet.parts.ledger.files() if file.path == "poison.md"]
    assert (file.state, file.reason) == ("rejected", "The index could not take it: it cannot be embedded")
    quiet.write("poison.md", "Cured.\n")
    assert (await quiet.parts.refreshing.refresh_tree()).status == "finished"
    assert quiet.retriever.texts == {"good.md": "Good.\n", "poison.md": "Cured.\n"}


class Panic(BaseException):
    """What a parser in another language raises when it gives up."""


@pytest.mark.behaviour("C13")
async def test_a_document_that_brings_down_the_parser_stops_no_other(
    quiet: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    def panicking(data: bytes, text: str, length: int) -> Cut:
        if "boom" in text:
            raise Panic
        return chunk_document(data, text, length)

    monkeypatch.setattr(preparing, "chunk_document", panicking)
    quiet.write("bad.md", "boom\n")
    quiet.write("good.md", "Good.\n")
    report = await quiet.parts.refreshing.refresh_tree()
    assert report.status == "finished"
    assert quiet.retriever.texts == {"good.md": "Good.\n"}
    (file,) = [file for file in quiet.parts.ledger.files() if file.path == "bad.md"]
    assert (file.state, "please report it" in (file.reason or "")) == ("rejected", True)


@pytest.mark.behaviour("C12", "C13")
async def test_a_document_that_is_refused_each_time_is_no_change_that_no_event_told_of(
    quiet: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    def panicking(data: bytes, text: str, length: int) -> Cut:
        raise Panic

    untold: list[int] = []
    quiet.parts.refreshing.on_untold = untold.append
    monkeypatch.setattr(preparing, "chunk_document", panicking)
    monkeypatch.setattr(refreshing, "UNTOLD_AFTER_S", -1.0)
    quiet.write("bad.md", "boom\n")
    for _ in range(3):
        await quiet.parts.refreshing.refresh_tree()
    assert untold == []
    quiet.write("new.md", "New.\n")
    await quiet.parts.refreshing.refresh_tree()
    assert untold == [1]


@pytest.mark.behaviour("E1")
async def test_what_a_lost_stream_took_with_it_is_sent_again(tmp_path: Path) -> None:
    async with house(tmp_path, work=False, stalled_after_s=0.1) as deaf:
        deaf.write("a.md", "Ay.\n")
        deaf.retriever.deaf = True
        report = await deaf.parts.refreshing.refresh_tree()
        assert report.status == "failed"
        assert "no progress" in (report.reason or "")
        deaf.retriever.deaf = False
        assert counts(await deaf.parts.refreshing.refresh_tree()) == ("finished", 1, 0, 0, 0)
        assert deaf.retriever.texts == {"a.md": "Ay.\n"}


@pytest.mark.behaviour("E1", "C7")
async def test_a_document_that_takes_longer_than_the_patience_is_waited_for_while_its_texts_are_embedded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 0.0
    monkeypatch.setattr(outcomes, "time", SimpleNamespace(monotonic=lambda: now))
    monkeypatch.setattr(outcomes, "ASK_EVERY_S", 0.01)
    async with house(tmp_path, work=False, stalled_after_s=30) as slow:
        slow.write("long.md", "Long.\n")
        slow.retriever.may_stage.clear()
        refreshing = asyncio.create_task(slow.parts.refreshing.refresh_tree())
        for _ in range(6):
            asked = slow.retriever.asked
            await until(lambda asked=asked: slow.retriever.asked > asked or refreshing.done())
            assert not refreshing.done(), "it was given up although it moved"
            now += 20
            slow.retriever.texts_embedded += 32
        slow.retriever.may_stage.set()
        assert counts(await refreshing) == ("finished", 1, 0, 0, 0)
        assert len(slow.retriever.sent) == 1


@pytest.mark.behaviour("E1")
async def test_an_end_that_nobody_told_of_is_asked_for(quiet: House) -> None:
    quiet.retriever.mute = True
    quiet.write("a.md", "Ay.\n")
    assert counts(await quiet.parts.refreshing.refresh_tree())[0] == "finished"
    assert counts(await quiet.parts.refreshing.refresh_tree())[4] == 1


@pytest.mark.behaviour("E1")
async def test_an_index_that_lost_everything_is_filled_again(quiet: House) -> None:
    quiet.write("a.md", "Ay.\n")
    await quiet.parts.refreshing.refresh_tree()
    quiet.retriever.documents.clear()
    quiet.retriever.filled = False
    assert (await quiet.parts.refreshing.refresh_tree()).added == 1
    assert quiet.retriever.texts == {"a.md": "Ay.\n"}


@pytest.mark.behaviour("C7")
async def test_a_revision_from_a_clock_that_was_ahead_is_overtaken(quiet: House) -> None:
    quiet.write("a.md", "Old.\n")
    await quiet.parts.refreshing.refresh_tree()
    ahead = quiet.retriever.documents["a.md"].revision + 10**15
    quiet.retriever.documents["a.md"] = quiet.retriever.documents["a.md"].model_copy(update={"revision": ahead})
    quiet.write("a.md", "New.\n")
    await quiet.parts.refreshing.refresh_tree()
    assert quiet.retriever.texts == {"a.md": "New.\n"}
    assert quiet.retriever.documents["a.md"].revision == ahead + 1


@pytest.mark.behaviour("C7")
async def test_a_folder_that_is_gone_deletes_nothing(quiet: House) -> None:
    quiet.write("a.md", "Ay.\n")
    await quiet.parts.refreshing.refresh_tree()
    quiet.folder.rename(quiet.folder.with_name("elsewhere"))
    with pytest.raises(FolderUnavailable, match="is not there"):
        await quiet.parts.refreshing.refresh_tree()
    assert quiet.retriever.texts == {"a.md": "Ay.\n"}


@pytest.mark.behaviour("C13")
async def test_an_indexed_file_that_becomes_unreadable_leaves_the_index_with_its_reason(quiet: House) -> None:
    quiet.write("a.md", "Ay.\n")
    await quiet.parts.refreshing.refresh_tree()
    quiet.write("a.md", b"caf\xe9")
    report = await quiet.parts.refreshing.refresh_tree()
    assert report.deleted == 1
    assert [one.path for one in report.rejected] == ["a.md"]
    quiet.write("a.md", "café")
    await quiet.parts.refreshing.refresh_tree()
    assert quiet.retriever.texts == {"a.md": "café"}


@pytest.mark.behaviour("C7")
async def test_a_large_folder_is_sent_with_few_documents_ahead_of_the_index(tmp_path: Path) -> None:
    async with house(tmp_path, work=False, documents_ahead=20) as large:
        for number in range(300):
            large.write(f"{number % 7}/{number}.md", f"# Note {number}\n\nIts number is {number}.\n")
        large.retriever.may_stage.clear()
        refreshing = asyncio.create_task(large.parts.refreshing.refresh_tree())
        await until(lambda: large.retriever.asked > 2)
        assert isinstance(large.bus.published[0], RefreshSealed), "the seal comes first, so that the size is known"
        assert 20 < len(large.bus.published) <= 20 + 16 + 1
        large.retriever.may_stage.set()
        assert (await refreshing).added == 300


@pytest.mark.behaviour("C2")
async def test_a_bound_of_the_corpus_refuses_what_is_over_it_by_name(tmp_path: Path) -> None:
    async with house(tmp_path, work=False, corpus_limit=30) as bounded:
        for name in "abc":
            bounded.write(f"{name}.md", "twelve chars")
        report = await bounded.parts.refreshing.refresh_tree()
        assert report.added == 2
        assert [one.path for one in report.rejected] == ["c.md"]
        assert "TALKDOWN_CORPUS_LIMIT" in report.rejected[0].reason


@pytest.mark.behaviour("E3")
async def test_a_first_refresh_that_failed_is_not_ready_until_one_succeeds(tmp_path: Path) -> None:
    missing = tmp_path / "later"
    async with house(missing, work=False, reconcile_every_s=0.2) as late:
        keeping = asyncio.create_task(late.parts.keeping.run())
        await until(lambda: any("is not there" in waiting.why for waiting in late.health.waiting))
        missing.mkdir()
        late.write("a.md", "Ay.\n")
        await late.shows({"a.md": "Ay.\n"})
        await until(lambda: not late.health.waiting)
        keeping.cancel()


@pytest.mark.behaviour("E3")
async def test_a_retriever_that_is_not_there_is_waited_for(tmp_path: Path) -> None:
    async with house(tmp_path, work=False) as alone:
        alone.retriever.down = True
        alone.write("a.md", "Ay.\n")
        keeping = asyncio.create_task(alone.parts.keeping.run())
        await until(lambda: any("it failed" in waiting.why for waiting in alone.health.waiting))
        alone.retriever.down = False
        await alone.shows({"a.md": "Ay.\n"})
        await until(lambda: not alone.health.waiting)
        keeping.cancel()


@pytest.mark.behaviour("E1")
async def test_a_bus_that_is_away_for_a_moment_costs_nothing_but_time(quiet: House) -> None:
    quiet.write("a.md", "Ay.\n")
    quiet.bus.away = True
    refreshing = asyncio.create_task(quiet.parts.refreshing.refresh_tree())
    await until(lambda: "a.md" in quiet.parts.ledger.sent)
    quiet.bus.away = False
    assert (await refreshing).added == 1
