"""``python -m voice_gateway.orchestrators``: what docs/agents.md tells to do before anybody speaks."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from voice_gateway.orchestrators.__main__ import main

REPOSITORY = Path(__file__).parents[4]
DOCUMENT = (REPOSITORY / "docs" / "agents.md").read_text("utf-8")
BLOCKS = re.findall(r"```(yaml|python)\n(.*?)```", DOCUMENT, flags=re.DOTALL)
MCP = next(iter(re.findall(r"```json\n(.*?)```", DOCUMENT, flags=re.DOTALL)))


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    """The handbook's scenario with the agent of the document, and its tool beside it."""
    agent, handoffs, use = (text for kind, text in BLOCKS if kind == "yaml")
    tool, _, server = (text for kind, text in BLOCKS if kind == "python")
    scenario = (REPOSITORY / "handbook" / "talkdown.yaml").read_text("utf-8")
    scenario = scenario.replace("\nhandoffs:\n", f"\n{agent}\nhandoffs:\n{handoffs}\n")
    for folder in (path for path in (REPOSITORY / "handbook").iterdir() if path.is_dir()):
        (tmp_path / folder.name).mkdir()
    (tmp_path / "plain.yaml").write_text(scenario)
    (tmp_path / "talkdown.yaml").write_text(scenario.replace("- name: concierge\n", f"- name: concierge\n{use}"))
    (tmp_path / "tides.py").write_text(tool)
    (tmp_path / "tides_server.py").write_text(server)
    (tmp_path / "mcp.json").write_text(MCP.replace(".venv/bin/python", sys.executable))
    served = scenario.replace("- name: concierge\n", "- name: concierge\n    tools: [tides_next_low_tide]\n")
    (tmp_path / "served.yaml").write_text(served)
    return tmp_path


def looked(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *words: str) -> tuple[int, str, str]:
    monkeypatch.setattr(sys, "argv", ["orchestrators", *words])
    code = main()
    told = capsys.readouterr()
    return code, told.out, told.err


def test_the_documents_agent_and_tool_are_sound_as_they_stand_there(
    notes: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    code, out, err = looked(capsys, monkeypatch, str(notes / "plain.yaml"))
    assert (code, err) == (0, "")
    assert "gardener, in people, running" in out
    assert "-> gardener: Plants, watering, heating, and who looks after them. (the gardener)" in out
    tides = str(notes / "tides.py")
    code, out, _ = looked(capsys, monkeypatch, "--tools", tides, str(notes / "talkdown.yaml"))
    assert code == 0
    assert "tool next_low_tide: Tell when the causeway can be driven on a day." in out
    assert "concierge, who starts; tools: retrieve_documents, next_low_tide" in out
    code, out, _ = looked(capsys, monkeypatch, "--tools", tides, "--call", "next_low_tide", '{"day": "2026-03-14"}')
    assert (code, out) == (0, '{"low_tide": "9:25", "open_for": "five hours"}\n')


def test_what_is_wrong_is_told_with_its_line(
    notes: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    code, _, err = looked(capsys, monkeypatch, str(notes / "talkdown.yaml"))
    assert code == 1
    assert re.search(r"talkdown\.yaml, line \d+: `concierge` wants the tool `next_low_tide`", err)
    tides = str(notes / "tides.py")
    for words, says in (
        (("--tools", str(notes / "none.py")), "none.py cannot be used: There is no file"),
        (("--tools", "tides_that_nobody_wrote"), "ModuleNotFoundError: No module named 'tides_that_nobody_wrote'"),
        (("--tools", tides, "--call", "next_low_tide", "[]"), "no JSON object"),
        (("--tools", tides, "--call", "next_low_tide", "{}"), "The arguments do not fit"),
        (("--call", "nothing", "{}"), "There is no tool `nothing`: name its file with --tools"),
        (("--mcp", str(notes / "none.json")), "none.json cannot be read"),
    ):
        code, _, err = looked(capsys, monkeypatch, *words)
        assert code == 1
        assert says in err


def test_the_documents_server_is_found_from_the_folder_of_its_file(
    notes: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    code, out, err = looked(capsys, monkeypatch, "--mcp", str(notes / "mcp.json"), str(notes / "served.yaml"))
    assert (code, err) == (0, "")
    assert "tool tides_next_low_tide: Tell when the causeway can be driven on a day" in out
    assert "concierge, who starts; tools: tides_next_low_tide" in out


def test_a_server_that_is_down_is_named_with_the_reason_and_the_rest_is_looked_at_all_the_same(
    notes: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (notes / "mcp.json").write_text('{"mcpServers": {"tides": {"command": "./nowhere"}}}')
    mcp = ("--mcp", str(notes / "mcp.json"))
    code, out, err = looked(capsys, monkeypatch, *mcp, str(notes / "served.yaml"))
    assert code == 1
    assert err == f"The MCP server `tides` cannot be used: there is no `{notes}/nowhere`.\n"
    assert "concierge, who starts; tools: tides_next_low_tide" in out
    code, _, err = looked(capsys, monkeypatch, *mcp, "--call", "tides_next_low_tide", "{}")
    assert code == 1
    assert "The tools of `tides` cannot be reached right now" in err


@pytest.mark.parametrize(
    ("file", "says"),
    [
        ("def tide(\n", "own.py cannot be used: SyntaxError in own.py, line 1: '(' was never closed"),
        ("\nimport not_there_at_all\n", "ModuleNotFoundError in own.py, line 2: No module named 'not_there_at_all'"),
        ("import json\n\njson.loads('')\n", "JSONDecodeError in own.py, line 3: Expecting value"),
        ("raise SystemExit(0)\n", "own.py cannot be used: It ends the program when it is loaded"),
        ("def tide(day: Day) -> str:\n    'When.'\n", "NameError in own.py, line 1: name 'Day' is not defined"),
        ("def tide(day: 'Day') -> str:\n    'When.'\n", "cannot be used: NameError: name 'Day' is not defined"),
        ("def tide(day):\n    'When.'\n", "own.py cannot be used: The parameter `day` of the tool `tide` has no type"),
        (
            "def tide() -> str:\n    'When.'\n    raise KeyError('secret')\n",
            "The tool `tide` failed: KeyError in own.py, line 3: 'secret'",
        ),
    ],
)
def test_what_fails_in_a_file_of_ones_own_is_told_with_its_kind_and_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, file: str, says: str
) -> None:
    (tmp_path / "own.py").write_text(file)
    code, out, err = looked(capsys, monkeypatch, "--tools", str(tmp_path / "own.py"), "--call", "tide", "{}")
    assert (code, out) == (1, "")
    assert says in err


def test_to_look_at_nothing_is_no_success(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SystemExit) as ended:
        looked(capsys, monkeypatch)
    assert ended.value.code == 2
    assert "name what to look at" in capsys.readouterr().err
