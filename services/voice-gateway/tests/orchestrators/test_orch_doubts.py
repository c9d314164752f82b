"""What of a scenario that can be read does not fit its notes or this machine, or is most likely not meant."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from voice_gateway.orchestrators.__main__ import main

SCENARIO = """\
name: house
start: a
agents:
  - name: a
    instructions: Be kind.
    voice: {local: VOICE, openai: marin}
    folders:
      - FOLDER
  - name: b
    instructions: Be brief.
    voice: marin
handoffs:
  - from: a
    to: b
    when: It is asked for.
    PHRASES
"""


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    (tmp_path / "people" / "staff").mkdir(parents=True)
    (tmp_path / "note.md").touch()
    return tmp_path


def looked(
    notes: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    *words: str,
    voice: str = "af_heart",
    folder: str = "people",
    phrases: str = "phrases: [the other]",
    file: str = "talkdown.yaml",
    more: str = "",
) -> tuple[int, str]:
    text = SCENARIO.replace("VOICE", voice).replace("FOLDER", folder).replace("PHRASES", phrases)
    (notes / file).write_text(text + more)
    monkeypatch.setattr(sys, "argv", ["orchestrators", *words, str(notes / file)])
    code = main()
    return code, capsys.readouterr().err.replace(f"{notes}/", "")


@pytest.mark.parametrize("folder", ["people", "people/staff", "/people/"])
def test_what_fits_is_no_doubt(
    notes: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, folder: str
) -> None:
    assert looked(notes, capsys, monkeypatch, folder=folder) == (0, "")


def test_a_folder_that_the_notes_do_not_have_is_a_mistake_in_its_line(
    notes: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    said = "`a` searches in the folder `peple`, and the notes have none of this name; is `people` meant?\n"
    assert looked(notes, capsys, monkeypatch, folder="peple") == (1, f"talkdown.yaml, line 8: {said}")
    assert looked(notes, capsys, monkeypatch, folder="note.md")[0] == 1
    # A scenario that lies elsewhere says nothing of where the notes are.
    assert looked(notes, capsys, monkeypatch, folder="peple", file="house.yaml") == (0, "")
    code, err = looked(notes, capsys, monkeypatch, "--notes", str(notes), folder="other", file="house.yaml")
    assert (code, err.endswith("there are: people.\n")) == (1, True)


def test_a_local_voice_that_is_not_there_is_a_mistake_in_its_line(
    notes: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    code, err = looked(notes, capsys, monkeypatch, voice="nobody")
    assert code == 1
    assert err.startswith("talkdown.yaml, line 6: There is no local voice `nobody` for `a`; there are: af_heart,")


def test_a_handoff_that_nobody_can_ask_for_is_a_warning_where_no_model_decides(
    notes: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TALKDOWN_CASCADE_ANSWERS", raising=False)
    code, err = looked(notes, capsys, monkeypatch, phrases="phrases: []")
    assert code == 0
    assert err.startswith("talkdown.yaml, line 13: The handoff from `a` to `b` has no `phrases`: ")
    monkeypatch.setenv("TALKDOWN_CASCADE_ANSWERS", "chat")
    assert looked(notes, capsys, monkeypatch, phrases="phrases: []") == (0, "")


def test_an_agent_that_nobody_gets_to_is_a_warning(
    notes: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    more = "  - {from: c, to: a, when: x, phrases: [back]}\n"
    text = SCENARIO.replace("handoffs:", "  - {name: c, instructions: Be quick.}\nhandoffs:")
    monkeypatch.setattr(f"{__name__}.SCENARIO", text)
    code, err = looked(notes, capsys, monkeypatch, more=more)
    assert code == 0
    assert err.startswith("talkdown.yaml, line 12: Nobody gets to `c` from `a`; add a handoff")
