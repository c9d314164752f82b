"""Each image installs from a lock of its own, which is a part of the whole one and covers what its service declares."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LOCKS = ROOT / "deploy" / "requirements"
PARTS = (
    "chassis",
    "services/ingestor",
    "services/retriever",
    "services/agent",
    "services/voice-gateway",
    "services/web",
)
PIN = re.compile(r"^([a-z0-9][a-z0-9.-]*)==(\S+)", re.MULTILINE)


def pins(lock: Path) -> set[tuple[str, str]]:
    return set(PIN.findall(lock.read_text(encoding="utf-8")))


def declared(part: str) -> set[str]:
    project = tomllib.loads((ROOT / part / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    names = {re.split(r"[\[<>=;~! ]", line, maxsplit=1)[0].lower() for line in project["dependencies"]}
    return {name for name in names if not name.startswith("talkdown")}


@pytest.mark.parametrize("part", PARTS)
def test_a_services_lock_holds_what_it_declares_and_nothing_that_the_whole_lock_does_not(part: str) -> None:
    lock = pins(LOCKS / f"{Path(part).name}.lock")
    assert declared(part) | declared("chassis") <= {name for name, _ in lock}, "make lock"
    assert lock <= pins(ROOT / "requirements.lock"), "make lock"


def test_what_all_services_share_is_in_each_lock_at_the_same_version() -> None:
    shared = pins(LOCKS / "chassis.lock")
    for part in PARTS:
        assert shared <= pins(LOCKS / f"{Path(part).name}.lock"), part
