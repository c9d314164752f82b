"""The check of the real services does what it says, tried on a provider of ours."""

from __future__ import annotations

import json
import re
from pathlib import Path

import live_check
import pytest
from openai_live_server import Script, openai_live
from openai_live_session import Answer, Call, Say, Session, tone


@pytest.fixture(autouse=True)
def _short_question(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_check, "question", lambda: tone(300))


def model(session: Session) -> Answer:
    """What a model would answer to the scenarios."""
    asked = session.last_text
    outputs = [item for item in session.items if item["type"] == "function_call_output"]
    if "only the word orchid" in str(session.settings.get("instructions")):
        return (Say("Orchid."),)
    if "both halves" in asked and not outputs:
        return (Call("first_half"), Call("second_half"))
    if "Count slowly" in asked:
        return (Say(" ".join(map(str, range(1, 60)))),)
    if "Which valve" in asked:
        told = " ".join(str(item.get("content")) for item in session.items)
        return (Say("The amber one." if re.search("amber one", told) else "I do not know."),)
    return (Say("Done."),)


async def test_every_scenario_is_measured_and_written_down(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("GEMINI_API_KEY", raising=False)
    async with openai_live(Script(brain=model, heard=["Which valve?"], pace_s=0.002)) as provider:
        monkeypatch.setenv("OPENAI_API_KEY", provider.key)
        monkeypatch.setenv("OPENAI_BASE_URL", provider.url)
        monkeypatch.setenv("TALKDOWN_LIVE_CHECK_PRICES", "openai=4/16")
        code = await live_check.check(tmp_path / "found.json")
        assert provider.wrong == []
    printed = capsys.readouterr().out
    assert code == 0, printed
    found = json.loads((tmp_path / "found.json").read_text())
    assert [one["scenario"] for one in found] == ["answers", "spoken", "tools", "interruption", "lost", "handoff"]
    assert all(one["first_sound_s"] > 0 and one["output_tokens"] > 0 for one in found)
    assert found[0]["cost"] == pytest.approx((40 * 4 + 20 * 16) / 1_000_000)
    assert provider.key not in json.dumps(found) + printed


async def test_a_scenario_that_fails_is_said_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GEMINI_API_KEY", raising=False)
    async with openai_live(Script(refuse=[401] * 10)) as provider:
        monkeypatch.setenv("OPENAI_API_KEY", provider.key)
        monkeypatch.setenv("OPENAI_BASE_URL", provider.url)
        assert await live_check.check(tmp_path / "found.json") == 1
    found = json.loads((tmp_path / "found.json").read_text())
    assert {one["passed"] for one in found} == {False}
    assert found[0]["problem"].startswith("invalid_api_key")


async def test_without_a_key_it_says_what_to_set(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("GEMINI_API_KEY", raising=False)
    assert await live_check.check() == 2
    assert "set OPENAI_API_KEY" in capsys.readouterr().out


def test_prices_are_read_or_refused_with_how_they_are_written() -> None:
    assert live_check.prices("openai=4/16, gemini=3/12") == {"openai": (4.0, 16.0), "gemini": (3.0, 12.0)}
    with pytest.raises(ValueError, match="openai=4/16"):
        live_check.prices("4/16")
