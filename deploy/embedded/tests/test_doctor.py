"""The doctor names what is wrong on a machine, each with its remedy."""

from __future__ import annotations

import io
import re
import shutil
import socket
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from embedded import doctor
from embedded.doctor import Finding


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "share"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    for name in ("MODE", "EMBEDDINGS", "VOICE", "POSTGRES_URL", "REDIS_URL"):
        monkeypatch.delenv(f"TALKDOWN_{name}", raising=False)


def test_a_machine_that_is_well_has_nothing_bad(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.md").write_text("# A\n")
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    out = io.StringIO()
    findings = doctor.examine(tmp_path / "notes", port, tmp_path / "data")
    assert doctor.show(findings, out) == 0, out.getvalue()
    assert {finding.what for finding in findings} >= {"python", "postgres", "valkey", "model", "port", "data", "folder"}


def test_what_the_voice_lacks_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    assert doctor.voice().state == "good"
    monkeypatch.setattr(doctor, "VOICE_PACKAGES", ("moonshine_voice", "no_such_package"))
    assert doctor.voice().state == "bad"
    assert "no_such_package missing" in doctor.voice().said
    monkeypatch.setenv("TALKDOWN_VOICE", "simulated")
    assert doctor.voice() == Finding("voice", "good", "silent: questions are typed")
    monkeypatch.setenv("TALKDOWN_VOICE", "gemini")
    assert doctor.voice().state == "bad"
    monkeypatch.setenv("TALKDOWN_VOICE", "openai")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    assert "needs OPENAI_API_KEY" in doctor.voice().said
    monkeypatch.delenv("TALKDOWN_VOICE")
    monkeypatch.setenv("TALKDOWN_MODE", "live")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-123")
    assert doctor.voice() == Finding("voice", "good", "held by the provider")


def test_a_taken_port_is_bad_and_comes_with_another(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        findings = doctor.examine(None, port, tmp_path / "data")
    assert doctor.show(findings, io.StringIO()) == 1
    assert next(finding for finding in findings if finding.what == "port").said.endswith(f"--port {port + 1}")


def test_a_processor_without_avx2_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.machine", lambda: "x86_64")
    (tmp_path / "cpuinfo").write_text("flags : fpu sse2 avx\n")
    assert "TALKDOWN_EMBEDDINGS" in doctor.processor(tmp_path / "cpuinfo").said
    (tmp_path / "cpuinfo").write_text("flags : fpu sse2 avx avx2\n")
    assert doctor.processor(tmp_path / "cpuinfo").state == "good"


def test_an_old_python_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "version_info", (3, 10, 0))
    assert doctor.python() == Finding("python", "bad", doctor.python().said)
    assert "3.11" in doctor.python().said


@pytest.mark.parametrize(("name", "state"), [("missing", "bad"), ("file.md", "bad"), ("empty", "warning")])
def test_a_folder_that_cannot_serve_is_named(tmp_path: Path, name: str, state: str) -> None:
    (tmp_path / "file.md").touch()
    (tmp_path / "empty").mkdir()
    assert doctor.watched(tmp_path / name).state == state


@pytest.mark.behaviour("C12")
def test_an_inotify_limit_that_is_too_low_is_named_with_the_command(tmp_path: Path) -> None:
    (tmp_path / "max_user_watches").write_text("100\n")
    (tmp_path / "max_user_instances").write_text("128\n")
    found = doctor.watches(tmp_path, tmp_path)
    assert found.state == "warning"
    assert "sysctl fs.inotify.max_user_watches" in found.said


def test_a_full_disk_is_bad(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: Path) -> SimpleNamespace:
        return SimpleNamespace(total=10, used=9, free=1)

    monkeypatch.setattr(shutil, "disk_usage", full)
    found = doctor.data_folder(None, tmp_path / "data")
    assert (found.state, "--data" in found.said) == ("bad", True)


def test_data_of_another_version_is_bad(tmp_path: Path) -> None:
    (tmp_path / "data" / "postgres").mkdir(parents=True)
    (tmp_path / "data" / "postgres" / "PG_VERSION").write_text("12\n")
    assert "PostgreSQL 12" in doctor.data_folder(None, tmp_path / "data").said


def test_missing_programs_and_models_are_bad(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TALKDOWN_POSTGRES_BIN", str(tmp_path))
    monkeypatch.setenv("TALKDOWN_VALKEY_BIN", str(tmp_path / "nothing"))
    monkeypatch.setattr(doctor, "find_spec", dict[str, object]().get)
    assert [found.state for found in (doctor.postgres(None), doctor.valkey(), doctor.model())] == ["bad"] * 3


def test_servers_of_ones_own_are_not_looked_for(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TALKDOWN_POSTGRES_BIN", str(tmp_path))
    monkeypatch.setenv("TALKDOWN_POSTGRES_URL", "postgresql://me@db/notes")
    monkeypatch.setenv("TALKDOWN_REDIS_URL", "redis://cache/0")
    monkeypatch.setenv("TALKDOWN_EMBEDDINGS", "openai")
    assert [found.state for found in (doctor.postgres(None), doctor.valkey(), doctor.model())] == ["good"] * 3


def test_of_valkey_the_name_and_the_version_are_said() -> None:
    assert re.fullmatch(r"Valkey \d+\.\d+\.\d+", doctor.valkey().said)


def test_without_a_folder_nothing_is_said_of_a_data_folder(tmp_path: Path) -> None:
    assert "data" not in {finding.what for finding in doctor.examine(None, 0, None)}
    assert "data" in {finding.what for finding in doctor.examine(None, 0, tmp_path / "data")}


def test_a_voice_needs_as_much_memory_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    meminfo = tmp_path / "meminfo"
    meminfo.write_text(f"MemAvailable: {3 * 512 * 1024} kB\n")
    assert "TALKDOWN_VOICE=simulated" in doctor.memory(meminfo).said
    monkeypatch.setenv("TALKDOWN_VOICE", "simulated")
    assert doctor.memory(meminfo) == Finding("memory", "good", "1.5 GiB available")
