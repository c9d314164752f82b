"""The settings of the voice gateway that stop a start when they are wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from chassis.settings import load
from voice_gateway.__main__ import main
from voice_gateway.settings import Settings


def test_an_announced_address_is_one_and_comes_with_its_ports(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TALKDOWN_ICE_ANNOUNCED", "192.0.2.7")
    with pytest.raises(SystemExit):
        load(Settings)
    assert "set TALKDOWN_ICE_PORTS" in capsys.readouterr().err
    monkeypatch.setenv("TALKDOWN_ICE_PORTS", "50000-50019")
    assert load(Settings).ice_announced == "192.0.2.7"
    monkeypatch.setenv("TALKDOWN_ICE_ANNOUNCED", "here.example")
    with pytest.raises(SystemExit):
        load(Settings)
    assert "TALKDOWN_ICE_ANNOUNCED is wrong" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("variable", "file", "text", "says"),
    [
        ("TALKDOWN_SCENARIO", "house.yaml", "name: house\n", "house.yaml, line 1: The scenario has no `start`"),
        ("TALKDOWN_SCENARIO", "house.txt", "", "There is no such scenario"),
        ("TALKDOWN_TOOLS", "tides.py", "def tide(day):\n    'When.'\n", "`day` of the tool `tide` has no type hint"),
        ("TALKDOWN_TOOLS", "broken.py", "def tide(\n", "broken.py cannot be used"),
        ("TALKDOWN_MCP", "mcp.json", "{", "mcp.json is not JSON"),
    ],
)
def test_a_file_of_agents_or_tools_that_is_wrong_stops_the_start_with_its_sentence(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    variable: str,
    file: str,
    text: str,
    says: str,
) -> None:
    (tmp_path / file).write_text(text)
    monkeypatch.setenv(variable, str(tmp_path / file))
    with pytest.raises(SystemExit):
        main()
    assert says in capsys.readouterr().err


def test_a_voice_that_is_not_there_stops_the_start_and_those_that_are_there_are_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TALKDOWN_VOICE", "local")
    monkeypatch.setenv("TALKDOWN_VOICE_NAME", "af_hart")
    with pytest.raises(SystemExit):
        main()
    assert "no voice af_hart: set TALKDOWN_VOICE_NAME to af_heart" in capsys.readouterr().err
