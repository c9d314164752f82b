"""A folder on a mount that tells of no changes, as Docker Desktop's: polling is chosen by itself and finds saves."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from docker_engine import missing
from docker_stack import Stack

WIFI = "What is the guest wifi password?"


@pytest.fixture
def silent_mount(stack: Stack, place: Path) -> Iterator[Path]:
    """The stack's folder seen through FUSE: what is saved beneath makes no event there."""
    if not shutil.which("bindfs") or not Path("/dev/fuse").exists():
        missing("A mount without events takes bindfs and FUSE: apt-get install bindfs.")
    mount = place / "mount"
    mount.mkdir()
    subprocess.run(["bindfs", "-o", "allow_other", str(stack.folder), str(mount)], check=True)
    yield mount
    stack.compose("rm", "--stop", "--force", "ingestor")
    subprocess.run(["umount", str(mount)], check=True)


@pytest.mark.behaviour("C12")
def test_where_no_file_events_come_polling_takes_over_by_itself_and_says_so(stack: Stack, silent_mount: Path) -> None:
    stack.up(TALKDOWN_FOLDER=str(silent_mount))
    corpus = stack.corpus()
    assert corpus.watching == "polling"
    assert "(by polling)" in stack.execute("web", "talkdown", "status")
    file = stack.save("new.md", "# Visitors\n\nThe guest wifi password is plum-29.\n")
    try:
        stack.until(lambda: "plum-29" in stack.ask(WIFI).text)
    finally:
        file.unlink()
    stack.until(lambda: stack.corpus().documents == corpus.documents)
