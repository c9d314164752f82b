"""The settings of the voice gateway that stop a start when they are wrong."""

from __future__ import annotations

import pytest

from chassis.settings import load
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
