"""Services are forked by the nursery, or executed where it cannot be: the outcome is the same."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from embedded.launch import Launch
from embedded.ports import LOOPBACK, listen
from embedded.spawning import Nursery, Process

BOUND_S = 60.0
PROGRAM = """
import os, socket, sys
listening = socket.socket(fileno=int(os.environ["TALKDOWN_LISTEN_FD"]))
print("name", __name__, "word", os.environ["WORD"], "home", "HOME" in os.environ, "at", os.getcwd())
print("port", listening.getsockname()[1], "leads", os.getpid() == os.getsid(0) == os.getpgid(0), file=sys.stderr)
sys.exit(7)
"""


@pytest.fixture
async def nursery(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Nursery]:
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))  # where the service of these tests is
    nursery = Nursery()
    await nursery.start()
    yield nursery
    await nursery.stop()


def launch(folder: Path, program: str, listening: int) -> Launch:
    (folder / "newborn.py").write_text(program)
    return Launch(
        name="newborn",
        command=(sys.executable, "-m", "newborn"),
        environment={"WORD": "said", "PYTHONPATH": str(folder), "TALKDOWN_LISTEN_FD": str(listening)},
        folder=folder,
        log=folder / "newborn.log",
        ready=lambda _: True,
        listening=listening,
        module="newborn",
    )


async def spawn(nursery: Nursery, launch: Launch) -> Process:
    with launch.log.open("ab") as log:
        return await nursery.spawn(launch, log)


@pytest.mark.parametrize("by", ["nursery", "program"])
async def test_a_service_has_its_environment_its_socket_its_log_and_its_exit_code(
    nursery: Nursery, tmp_path: Path, by: str
) -> None:
    if by == "program":
        await nursery.stop()
    with listen(LOOPBACK, 0) as bound:
        order = launch(tmp_path, PROGRAM, bound.fileno())
        process = await spawn(nursery, order)
        async with asyncio.timeout(BOUND_S):
            assert await process.wait() == 7
        said = sorted(order.log.read_text().splitlines())
        assert said == [
            f"name __main__ word said home False at {tmp_path}",
            f"port {bound.getsockname()[1]} leads True",
        ]


async def test_the_end_by_a_signal_is_told_from_an_exit(nursery: Nursery, tmp_path: Path) -> None:
    with listen(LOOPBACK, 0) as bound:
        process = await spawn(nursery, launch(tmp_path, "import time; time.sleep(600)", bound.fileno()))
        os.kill(process.pid, signal.SIGKILL)
        async with asyncio.timeout(BOUND_S):
            assert await process.wait() == -signal.SIGKILL


@pytest.mark.skipif(sys.platform != "linux", reason="there is a nursery on Linux only")
async def test_without_its_nursery_a_service_is_a_program_of_its_own(nursery: Nursery, tmp_path: Path) -> None:
    assert nursery.pid is not None
    os.kill(nursery.pid, signal.SIGKILL)
    with listen(LOOPBACK, 0) as bound:
        process = await spawn(nursery, launch(tmp_path, PROGRAM, bound.fileno()))
        async with asyncio.timeout(BOUND_S):
            assert await process.wait() == 7
