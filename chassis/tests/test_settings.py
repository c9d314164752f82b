"""Settings come from the environment, and a wrong one stops the start with a sentence."""

from __future__ import annotations

from typing import ClassVar

import pytest
from pydantic import Field, SecretStr

from chassis.settings import Part, ServiceSettings, load


class Answering(ServiceSettings):
    """Settings of a service that answers, with one of its own that must be set."""

    parts: ClassVar[frozenset[Part]] = frozenset({"answers"})
    folder: str = Field(default="", description="the folder of the documents")


class Needy(ServiceSettings):
    """Settings with one that has no default."""

    folder: str = Field(description="the folder of the documents")


@pytest.fixture(autouse=True)
def clean(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (
        "TALKDOWN_MODE",
        "TALKDOWN_ANSWERS",
        "TALKDOWN_EMBEDDINGS",
        "TALKDOWN_VOICE",
        "OPENAI_API_KEY",
        "OPENAI_BASE_URL",
    ):
        monkeypatch.delenv(name, raising=False)


def test_a_mode_is_a_preset_and_each_part_may_be_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = ServiceSettings()
    assert (settings.chosen_embeddings, settings.chosen_answers, settings.chosen_voice) == (
        "local",
        "extractive",
        "local",
    )
    monkeypatch.setenv("TALKDOWN_MODE", "live")
    monkeypatch.setenv("TALKDOWN_EMBEDDINGS", "scripted")
    settings = ServiceSettings()
    assert (settings.chosen_embeddings, settings.chosen_answers, settings.chosen_voice) == (
        "scripted",
        "responses",
        "openai",
    )


@pytest.mark.behaviour("T13")
def test_live_without_a_key_does_not_start_and_says_what_to_set(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TALKDOWN_MODE", "live")
    for key in ("", "  "):
        monkeypatch.setenv("OPENAI_API_KEY", key)
        with pytest.raises(SystemExit) as ended:
            load(Answering)
        assert ended.value.code == 2
        said = capsys.readouterr().err
        assert "set OPENAI_API_KEY to a key of the provider" in said
        assert said.count("\n") == 1
    monkeypatch.setenv("OPENAI_API_KEY", "sk-123")
    assert load(Answering).openai_api_key == SecretStr("sk-123")


@pytest.mark.behaviour("T13")
def test_a_part_that_was_chosen_by_itself_is_what_is_to_be_changed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TALKDOWN_ANSWERS", "chat")
    with pytest.raises(SystemExit):
        load(Answering)
    assert "or TALKDOWN_ANSWERS=extractive to use none" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("address", "told"),
    [
        (None, "https://api.openai.com/v1"),
        ("http://127.0.0.1:11434/v1/", "http://127.0.0.1:11434/v1"),
        ("https://me:pw-secret@models.lan", "https://models.lan"),
    ],
)
def test_the_providers_address_is_told_without_a_password(address: str | None, told: str) -> None:
    assert ServiceSettings(openai_base_url=address).provider_url == told


@pytest.mark.behaviour("T13")
def test_a_service_that_carries_out_no_part_needs_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TALKDOWN_MODE", "live")
    assert load(ServiceSettings).mode == "live"


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("TALKDOWN_PORT", "eighty", "TALKDOWN_PORT is wrong"),
        ("TALKDOWN_PORT", "70000", "a port from 0 to 65535"),
        ("TALKDOWN_MODE", "cloud", "set it to local, simulated or live"),
        ("OPENAI_BASE_URL", "models.lan/v1", "it is written as https://host/v1"),
        ("OPENAI_BASE_URL", "https://a;script-src *", "OPENAI_BASE_URL is wrong"),
        ("TALKDOWN_BUS_PARTITIONS", "0", "TALKDOWN_BUS_PARTITIONS is wrong"),
    ],
)
def test_a_wrong_setting_is_told_by_its_variable_and_what_to_set(
    name: str, value: str, says: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(SystemExit):
        load(ServiceSettings)
    assert says in capsys.readouterr().err


def test_a_missing_setting_is_told_by_its_variable(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        load(Needy)
    assert capsys.readouterr().err == "talkdown: TALKDOWN_FOLDER is not set: set it to the folder of the documents.\n"


def test_secrets_are_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    monkeypatch.setenv("TALKDOWN_POSTGRES_URL", "postgresql://me:pw-secret@db/x")
    monkeypatch.setenv("TALKDOWN_REDIS_URL", "redis://:pw-secret@cache/0")
    assert "secret" not in repr(ServiceSettings())


def test_the_bus_is_where_the_frames_are_unless_told_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TALKDOWN_REDIS_URL", "redis://cache:1/0")
    assert ServiceSettings().chosen_bus_url == "redis://cache:1/0"
    monkeypatch.setenv("TALKDOWN_BUS_URL", "kafka://broker:9092")
    assert ServiceSettings().chosen_bus_url == "kafka://broker:9092"
