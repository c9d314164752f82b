"""Settings that name files, as somebody writes them who stands in the folder of these files."""

from __future__ import annotations

from pathlib import Path

import pytest

from embedded.errors import FolderUnusable
from embedded.named_files import current_folder, with_whole_paths


def test_a_relative_path_is_one_from_the_folder_where_the_product_was_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", "/home/mara")
    told = with_whole_paths(
        {
            "TALKDOWN_MCP": "mcp.json",
            "TALKDOWN_TOOLS": "tides.py, ./sub/moon.py,~/sun.py,/else/where.py",
            "TALKDOWN_SCENARIO": "../my.yaml",
            "OTHER": "mcp.json",
        },
        tmp_path,
    )
    assert told == {
        "TALKDOWN_MCP": f"{tmp_path}/mcp.json",
        "TALKDOWN_TOOLS": f"{tmp_path}/tides.py,{tmp_path}/sub/moon.py,/home/mara/sun.py,/else/where.py",
        "TALKDOWN_SCENARIO": f"{tmp_path}/../my.yaml",
        "OTHER": "mcp.json",
    }


@pytest.mark.parametrize(
    "told",
    [
        {},
        {"TALKDOWN_MCP": "", "TALKDOWN_TOOLS": "", "TALKDOWN_SCENARIO": ""},
        {"TALKDOWN_TOOLS": "house.tides,moon", "TALKDOWN_SCENARIO": "notes"},
        {"TALKDOWN_TOOLS": ",", "TALKDOWN_MCP": "/etc/mcp"},
    ],
)
def test_what_is_no_relative_path_stays_as_it_is(told: dict[str, str], tmp_path: Path) -> None:
    assert with_whole_paths(told, tmp_path) == told


def test_a_folder_that_is_gone_under_somebodys_feet_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    with pytest.raises(FolderUnusable, match="change to another"):
        current_folder()
