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


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    """The handbook's scenario with the agent of the document, and its tool beside it."""
    agent, handoffs, use = (text for kind, text in BLOCKS if kind == "yaml")
    tool = next(text for kind, text in BLOCKS if kind == "python")
    scenario = (REPOSITORY / "handbook" / "talkdown.yaml").read_text("utf-8")
    scenario = scenario.replace("\nhandoffs:\n", f"\n{agent}\nhandoffs:\n{handoffs}\n")
    (tmp_path / "plain.yaml").write_text(scenario)
    (tmp_path / "talkdown.yaml").write_text(scenario.replace("- name: concierge\n", f"- name: concierge\n{use}"))
    (tmp_path / "tides.py").write_text(tool)
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
        (("--tools", str(notes / "none.py")), "The tools cannot be used"),
        (("--tools", tides, "--call", "next_low_tide", "[]"), "no JSON object"),
        (("--tools", tides, "--call", "next_low_tide", "{}"), "The arguments do not fit"),
        (("--call", "nothing", "{}"), "There is no tool `nothing`"),
    ):
        code, _, err = looked(capsys, monkeypatch, *words)
        assert code == 1
        assert says in err
