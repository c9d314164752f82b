"""How a watcher chooses its way, and what it says of it."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NoReturn

import pytest
from ingestor_house import House, house, until
from watchfiles import Change, awatch  # pyright: ignore[reportUnknownVariableType]

from ingestor import watching
from ingestor.mounts import file_system_of, is_silent
from ingestor.watching import Watcher


class Heard:
    """What a watcher said."""

    def __init__(self) -> None:
        self.hints: set[str] = set()
        self.overflows = 0

    def hint(self, paths: Iterable[str]) -> None:
        self.hints.update(paths)

    def overflow(self) -> None:
        self.overflows += 1


@asynccontextmanager
async def running(folder: Path, heard: Heard) -> AsyncGenerator[Watcher]:
    watcher = Watcher(folder, heard.hint, heard.overflow, poll_every_s=0.02)
    task = asyncio.create_task(watcher.run())
    try:
        await until(watcher.begun.is_set)
        yield watcher
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


@pytest.mark.behaviour("C12")
async def test_polling_takes_over_by_itself_when_the_limit_of_watches_is_reached(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*paths: object, **how: object) -> NoReturn:
        raise OSError("OS file watch limit reached. about [...]")

    monkeypatch.setattr(watching, "awatch", full)
    heard = Heard()
    async with running(tmp_path, heard) as watcher:
        await until(lambda: watcher.state.by == "polling")
        assert "fs.inotify.max_user_watches" in (watcher.state.notice or "")
        (tmp_path / "a.md").write_text("Text.\n")
        await until(lambda: "a.md" in heard.hints)


def on_nfs(folder: Path) -> str:
    return "nfs4"


@pytest.mark.behaviour("C12")
async def test_polling_takes_over_by_itself_on_a_mount_that_tells_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watching, "file_system_of", on_nfs)
    heard = Heard()
    async with running(tmp_path, heard) as watcher:
        assert watcher.state.by == "polling"
        assert watcher.state.notice == (
            "The folder is on a nfs4 mount, which tells of no changes, so it is looked at again and again."
        )
        (tmp_path / "a.md").write_text("Text.\n")
        await until(lambda: "a.md" in heard.hints)


@pytest.mark.behaviour("C12")
async def test_a_folder_that_goes_away_is_noticed_by_polling_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watching, "file_system_of", on_nfs)
    (tmp_path / "notes").mkdir()
    heard = Heard()
    async with running(tmp_path / "notes", heard) as watcher:
        assert watcher.state.by == "polling"
        (tmp_path / "notes").rename(tmp_path / "away")
        await until(lambda: heard.overflows == 1)
        (tmp_path / "away").rename(tmp_path / "notes")
        await until(lambda: heard.overflows == 2)
        (tmp_path / "notes" / "a.md").write_text("Text.\n")
        await until(lambda: "a.md" in heard.hints)


@pytest.mark.behaviour("C12")
async def test_polling_takes_over_when_comparisons_find_what_no_event_told_of(tmp_path: Path) -> None:
    heard = Heard()
    async with running(tmp_path, heard) as watcher:
        assert watcher.state.by == "events"
        watcher.missed(1)
        assert watcher.state.by == "events", "once may be chance"
        watcher.missed(1)
        await until(lambda: watcher.state.by == "polling")
        await until(lambda: heard.overflows > 0)
        assert "no file events" in (watcher.state.notice or "")
        (tmp_path / "a.md").write_text("Text.\n")
        await until(lambda: "a.md" in heard.hints)


@pytest.mark.behaviour("C12", "C3")
async def test_a_root_that_leads_elsewhere_is_watched_anew(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    root = tmp_path / "notes"
    root.symlink_to(tmp_path / "one")
    heard = Heard()
    async with running(root, heard):
        root.unlink()
        root.symlink_to(tmp_path / "two")
        await until(lambda: heard.overflows > 0)
        (tmp_path / "two" / "a.md").write_text("Text.\n")
        await until(lambda: "a.md" in heard.hints)


@pytest.mark.behaviour("C12")
async def test_a_watcher_that_fails_begins_anew_and_everything_is_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    breaks = asyncio.Event()

    async def breaking() -> AsyncIterator[set[tuple[Change, str]]]:
        await breaks.wait()
        raise RuntimeError("the watcher broke")
        yield set()

    def failing(root: Path, **how: Any) -> AsyncIterator[set[tuple[Change, str]]]:
        return awatch(root, **how) if breaks.is_set() else breaking()

    monkeypatch.setattr(watching, "awatch", failing)
    heard = Heard()
    async with running(tmp_path, heard):
        breaks.set()
        await until(lambda: heard.overflows > 0)
        (tmp_path / "a.md").write_text("Text.\n")
        await until(lambda: "a.md" in heard.hints)


@pytest.mark.behaviour("C12", "C13")
async def test_a_name_that_is_no_text_does_not_bring_down_the_watcher(tmp_path: Path) -> None:
    heard = Heard()
    async with running(tmp_path, heard):
        (tmp_path / os.fsdecode(b"bad\xff\xfe.md")).write_text("Text.\n")
        await until(lambda: heard.overflows > 0)
        (tmp_path / "a.md").write_text("Text.\n")
        await until(lambda: "a.md" in heard.hints)


@pytest.mark.behaviour("C12")
async def test_a_watcher_that_keeps_failing_gives_way_to_polling(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(root: Path, **how: Any) -> NoReturn:
        raise RuntimeError("the watcher broke")

    monkeypatch.setattr(watching, "awatch", broken)
    heard = Heard()
    async with running(tmp_path, heard) as watcher:
        await until(lambda: watcher.state.by == "polling")
        assert "File events fail" in (watcher.state.notice or "")
        (tmp_path / "a.md").write_text("Text.\n")
        await until(lambda: "a.md" in heard.hints)


async def overflowing(watched: House) -> None:
    watched.parts.saves.hint(f"{number}.md" for number in range(6_000))


@pytest.mark.behaviour("C12")
async def test_more_hints_than_can_be_trusted_are_a_comparison_of_everything(tmp_path: Path) -> None:
    async with house(tmp_path, watching="polling", poll_every_s=3600, reconcile_every_s=3600) as watched:
        watched.write("unseen.md", "Text.\n")
        await overflowing(watched)
        await watched.shows({"unseen.md": "Text.\n"})


def test_the_file_system_of_a_folder_is_that_of_the_nearest_mount(tmp_path: Path) -> None:
    real = tmp_path.resolve()
    (real / "a b").mkdir()
    mounts = tmp_path / "mountinfo"
    spaced = str(real).replace(" ", "\\040")
    mounts.write_text(
        "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
        f"23 22 0:30 / {spaced}/a\\040b rw master:2 - fuse.sshfs host:/x rw\n"
        "odd line\n"
    )
    assert file_system_of(real, mounts) == "ext4"
    assert file_system_of(real / "a b", mounts) == "fuse.sshfs"
    assert file_system_of(real, tmp_path / "missing") is None


@pytest.mark.parametrize(
    ("kind", "silent"),
    [("ext4", False), ("overlay", False), ("nfs4", True), ("9p", True), ("fuse.grpcfuse", True), (None, False)],
)
def test_networks_and_shared_folders_are_silent(kind: str | None, silent: bool) -> None:
    assert is_silent(kind) is silent
