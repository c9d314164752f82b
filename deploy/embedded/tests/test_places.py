"""Folders: the watched one, the data's, and how a running instance is found."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from embedded.data import DataFolder, Run, running_instances
from embedded.errors import DataUnusable, FolderUnusable, NoInstance
from embedded.folder import checked_folder, first_markdown
from embedded.instances import find
from embedded.welcome import command


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "share"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.delenv("TALKDOWN_CLI_TOKEN", raising=False)
    return tmp_path


def run_on(data: DataFolder, port: int) -> Run:
    return Run(
        pid=port,
        folder="/notes",
        data=str(data.path),
        url=f"http://localhost:{port}",
        port=port,
        token=f"token-{port}",
        mode="local",
        traces="",
        services={},
    )


def test_a_folder_that_is_missing_or_a_file_is_said_in_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "note.md").touch()
    with pytest.raises(FolderUnusable, match=r"^There is no folder .*missing\. Make it"):
        checked_folder(tmp_path / "missing")
    with pytest.raises(FolderUnusable, match=r"is a file\. Name the folder that holds it"):
        checked_folder(tmp_path / "note.md")
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(FolderUnusable, match="cannot be reached"):
        checked_folder(tmp_path / "loop")


def test_a_folder_that_may_not_be_read_is_said_with_the_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_path: Path, _mode: int) -> bool:
        return False

    monkeypatch.setattr(os, "access", refuse)  # root may read anything
    with pytest.raises(FolderUnusable, match=r"chmod -R a\+rX"):
        checked_folder(tmp_path)


@pytest.mark.behaviour("C3")
def test_the_watched_folder_may_be_a_symlink(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert checked_folder(tmp_path / "link") == (tmp_path / "real").resolve()


def test_the_first_markdown_is_found_at_any_depth(tmp_path: Path) -> None:
    assert first_markdown(tmp_path) is None
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "NOTE.MD").write_text("# Title\n")
    assert first_markdown(tmp_path) == tmp_path / "a" / "b" / "NOTE.MD"


def test_the_command_is_named_so_that_it_can_be_typed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    own = tmp_path / "my notes" / "bin" / "talkdown"
    own.parent.mkdir(parents=True)
    own.write_text("#!/bin/sh\n")
    own.chmod(0o755)
    monkeypatch.setattr("sys.argv", [str(own)])
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    assert command() == "'my notes/bin/talkdown'"
    monkeypatch.chdir(own.parent / "..")
    monkeypatch.setenv("PATH", str(own.parent))
    assert command() == "talkdown"


def test_each_watched_folder_has_a_data_folder_of_its_own_outside_it(tmp_path: Path, home: Path) -> None:
    one = DataFolder.of(tmp_path / "a" / "notes", None).path
    other = DataFolder.of(tmp_path / "b" / "notes", None).path
    assert one != other
    assert one.parent == home / "share" / "talkdown"
    assert one.name.startswith("notes-")


def test_a_data_folder_inside_the_watched_one_is_refused(tmp_path: Path) -> None:
    for inside in (tmp_path, tmp_path / ".talkdown"):
        with pytest.raises(DataUnusable, match="inside the watched folder"):
            DataFolder.of(tmp_path, inside)


def test_a_data_folder_that_cannot_be_written_is_said_with_the_remedy(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(DataUnusable, match="--data"):
        DataFolder(tmp_path / "file" / "data").make()


def test_a_data_folder_has_one_run_at_a_time(tmp_path: Path) -> None:
    data = DataFolder(tmp_path / "data")
    data.make()
    assert not data.is_held()
    with data.held():
        data.write_run(run_on(data, 3000))
        assert data.is_held()
        with pytest.raises(DataUnusable, match=r"already runs .*localhost:3000.*--data"), data.held():
            pass
    assert not data.is_held()


def test_an_instance_is_found_by_itself_and_named_when_there_are_several(tmp_path: Path) -> None:
    with pytest.raises(NoInstance, match="talkdown up FOLDER"):
        find()
    one, other = DataFolder(tmp_path / "one"), DataFolder(tmp_path / "other")
    one.make()
    other.make()
    with one.held():
        one.write_run(run_on(one, 3000))
        assert find().token == "token-3000"
        with other.held():
            other.write_run(run_on(other, 3001))
            with pytest.raises(NoInstance, match=r"--port 3000 .*\n.*--port 3001"):
                find()
            assert find(port=3001).token == "token-3001"
            assert find(data=other.path).url == "http://127.0.0.1:3001"
        with pytest.raises(NoInstance, match="port 3001"):
            find(port=3001)
    assert running_instances() == []


@pytest.mark.behaviour("C16")
def test_in_webs_own_container_the_instance_is_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TALKDOWN_CLI_TOKEN", "secret")
    monkeypatch.setenv("TALKDOWN_PORT", "8080")
    assert (find().url, find().token) == ("http://127.0.0.1:8080", "secret")


def test_a_run_file_that_was_cut_short_is_no_run(tmp_path: Path) -> None:
    data = DataFolder(tmp_path / "data")
    data.make()
    (data.path / "run.json").write_text('{"pid": 1, ')
    assert data.read_run() is None
