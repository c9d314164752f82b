"""Saves as editors make them, on a real file system with a real watcher."""

from __future__ import annotations

import os
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from ingestor_house import House, house, until

from contracts.events import DocumentChanged, DocumentDeleted, RefreshSealed


@pytest.fixture(params=["events", "polling"])
async def watched(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[House]:
    """A watched folder with one note in it, by either way of watching."""
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "first.md").write_text("First.\n")
    # A comparison that comes by itself would hide what the watcher misses.
    async with house(folder, watching=request.param, poll_every_s=0.05, reconcile_every_s=3600) as watched:
        assert watched.retriever.texts == {"first.md": "First.\n"}
        watched.bus.published.clear()
        yield watched


def sent(watched: House) -> list[tuple[str, str | None]]:
    """What was said of documents, in order: path and text, or null for gone."""
    return [
        (event.path, event.text if isinstance(event, DocumentChanged) else None)
        for event in watched.bus.published
        if isinstance(event, DocumentChanged | DocumentDeleted)
    ]


@pytest.mark.behaviour("C12")
async def test_a_save_is_published_without_a_command(watched: House) -> None:
    watched.write("new.md", "New.\n")
    await watched.shows({"first.md": "First.\n", "new.md": "New.\n"})
    watched.write("new.md", "Newer.\n")
    await watched.shows({"first.md": "First.\n", "new.md": "Newer.\n"})
    (watched.folder / "new.md").unlink()
    await watched.shows({"first.md": "First.\n"})
    assert sent(watched) == [("new.md", "New.\n"), ("new.md", "Newer.\n"), ("new.md", None)]


@pytest.mark.behaviour("C12")
async def test_a_save_by_rename_is_one_change_and_no_deletion(watched: House) -> None:
    beside = watched.write("first.md.tmp~", "Second.\n")
    beside.replace(watched.folder / "first.md")
    await watched.shows({"first.md": "Second.\n"})
    assert sent(watched) == [("first.md", "Second.\n")]


@pytest.mark.behaviour("C12")
async def test_a_save_that_moves_the_old_file_away_first_is_one_change(watched: House) -> None:
    file = watched.folder / "first.md"
    file.rename(watched.folder / "first.md~")
    file.write_text("Second.\n")
    (watched.folder / "first.md~").unlink()
    await watched.shows({"first.md": "Second.\n"})
    assert sent(watched) == [("first.md", "Second.\n")]


@pytest.mark.behaviour("C12")
async def test_a_save_that_empties_the_file_first_is_one_change(watched: House) -> None:
    with (watched.folder / "first.md").open("w") as file:
        file.flush()
        os.fsync(file.fileno())
        file.write("Second.\n")
    await watched.shows({"first.md": "Second.\n"})
    assert sent(watched) == [("first.md", "Second.\n")]


@pytest.mark.behaviour("C12", "C4")
async def test_a_touch_or_a_save_of_the_same_text_sends_nothing(watched: House) -> None:
    (watched.folder / "first.md").touch()
    watched.write("first.md", "First.\n")
    watched.write("last.md", "Last.\n")
    await watched.shows({"first.md": "First.\n", "last.md": "Last.\n"})
    assert sent(watched) == [("last.md", "Last.\n")]


@pytest.mark.behaviour("C12")
async def test_a_moved_file_moves_in_one_refresh(watched: House) -> None:
    (watched.folder / "first.md").rename(watched.folder / "moved.md")
    await watched.shows({"moved.md": "First.\n"})
    seals = [event for event in watched.bus.published if isinstance(event, RefreshSealed)]
    assert [[document.path for document in seal.documents] for seal in seals] == [["first.md", "moved.md"]]


@pytest.mark.behaviour("C12")
async def test_whole_folders_move_in_about_and_out(watched: House, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    for name in ("deep/a.md", "deep/er/b.md", "c.md"):
        (outside / name).parent.mkdir(parents=True, exist_ok=True)
        (outside / name).write_text(f"{name}\n")
    outside.rename(watched.folder / "inside")
    texts = {"inside/c.md": "c.md\n", "inside/deep/a.md": "deep/a.md\n", "inside/deep/er/b.md": "deep/er/b.md\n"}
    await watched.shows({"first.md": "First.\n"} | texts)
    (watched.folder / "inside/deep").rename(watched.folder / "up")
    texts = {"inside/c.md": "c.md\n", "up/a.md": "deep/a.md\n", "up/er/b.md": "deep/er/b.md\n"}
    await watched.shows({"first.md": "First.\n"} | texts)
    (watched.folder / "up").rename(tmp_path / "up")
    await watched.shows({"first.md": "First.\n", "inside/c.md": "c.md\n"})
    shutil.rmtree(watched.folder / "inside")
    await watched.shows({"first.md": "First.\n"})
    paths = [path for path, text in sent(watched) if text is not None]
    assert len(paths) == len(set(paths)) == 5, "each place was told of once"


@pytest.mark.behaviour("C12")
async def test_files_made_together_with_their_folders_are_all_seen(watched: House) -> None:
    expected = {"first.md": "First.\n"}
    for number in range(60):
        path = f"{number}/of/many/note.md"
        watched.write(path, f"Number {number}.\n")
        expected[path] = f"Number {number}.\n"
    await watched.shows(expected, within_s=20)
    assert len(sent(watched)) == 60, "and each is told of once"


@pytest.mark.behaviour("C12")
async def test_a_burst_is_handled_once_each(watched: House) -> None:
    expected = {"first.md": "First.\n"}
    for number in range(300):
        watched.write(f"{number}.md", f"Number {number}.\n")
        expected[f"{number}.md"] = f"Number {number}.\n"
    await watched.shows(expected, within_s=20)
    assert len(sent(watched)) == 300


@pytest.mark.behaviour("C13")
async def test_a_file_that_cannot_be_read_is_named_and_taken_when_it_changes(watched: House) -> None:
    watched.write("bad.md", b"caf\xe9\n")
    watched.write("good.md", "Good.\n")
    await watched.shows({"first.md": "First.\n", "good.md": "Good.\n"})
    await until(lambda: "bad.md" in watched.parts.ledger.seen)
    (file,) = [file for file in watched.parts.ledger.files() if file.path == "bad.md"]
    assert (file.state, file.reason) == ("rejected", "It is not UTF-8 (byte 3, on line 1): save it as UTF-8.")
    watched.write("bad.md", "café\n")
    await watched.shows({"first.md": "First.\n", "good.md": "Good.\n", "bad.md": "café\n"})
    (file,) = [file for file in watched.parts.ledger.files() if file.path == "bad.md"]
    assert (file.state, file.reason) == ("accepted", None)


@pytest.mark.behaviour("C2")
async def test_a_file_that_grows_over_the_limit_leaves_with_its_reason(watched: House) -> None:
    watched.write("first.md", "x" * (256 * 1024 + 1))
    await watched.shows({})
    (file,) = watched.parts.ledger.files()
    assert file.reason == (
        "It has 262,145 bytes, over the limit of 262,144: split it up, or raise TALKDOWN_FILE_LIMIT."
    )


@pytest.mark.behaviour("C3")
async def test_a_link_that_leads_out_is_refused_when_it_is_made_later(watched: House, tmp_path: Path) -> None:
    secret = tmp_path / "secret.md"
    secret.write_text("Secret.\n")
    (watched.folder / "link.md").symlink_to(secret)
    (watched.folder / "twin.md").symlink_to(watched.folder / "first.md")
    watched.write("seen.md", "Seen.\n")
    await watched.shows({"first.md": "First.\n", "seen.md": "Seen.\n"})
    await until(lambda: "link.md" in watched.parts.ledger.seen)
    (file,) = [file for file in watched.parts.ledger.files() if file.state == "rejected"]
    assert (file.path, "leads out" in (file.reason or "")) == ("link.md", True)


@pytest.mark.behaviour("C1")
async def test_what_is_hidden_or_no_markdown_is_not_looked_at(watched: House) -> None:
    for path in (".obsidian/a.md", "x/.git/b.md", ".hidden.md", "c.txt", "d.md.swp", "md"):
        watched.write(path, "No.\n")
    watched.write("e.Markdown", "Yes.\n")
    await watched.shows({"first.md": "First.\n", "e.Markdown": "Yes.\n"})
    assert sorted(watched.parts.ledger.seen) == ["e.Markdown", "first.md"]


@pytest.mark.behaviour("C11")
async def test_malformed_front_matter_is_noticed_beside_the_file(watched: House) -> None:
    watched.write("odd.md", "---\ntitle: [\n---\nText.\n")
    await until(lambda: "odd.md" in watched.parts.ledger.seen)
    (file,) = [file for file in watched.parts.ledger.files() if file.path == "odd.md"]
    assert file.state == "accepted"
    assert "front matter is not valid YAML" in (file.reason or "")


@pytest.mark.behaviour("E1")
async def test_a_save_that_the_index_failed_on_is_sent_again(watched: House) -> None:
    failures = iter(["the model is away"])
    watched.retriever.refuses = lambda event: next(failures, None)
    watched.write("new.md", "New.\n")
    await watched.shows({"first.md": "First.\n", "new.md": "New.\n"})


@pytest.mark.behaviour("E1")
async def test_a_save_while_the_bus_is_away_arrives_when_it_is_back(tmp_path: Path) -> None:
    async with house(tmp_path, stalled_after_s=0.1) as watched:
        watched.bus.away = True
        watched.write("new.md", "New.\n")
        await until(
            lambda: watched.parts.saves.reconcile.is_set() or watched.health.waiting or watched.parts.ledger.seen
        )
        watched.bus.away = False
        await watched.shows({"new.md": "New.\n"})
