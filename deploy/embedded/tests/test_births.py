"""Services are forked by the nursery, or executed where it cannot be: the outcome is the same."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import time
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


@pytest.mark.parametrize("by", ["nursery", "program"])
async def test_a_birth_that_nobody_waits_for_any_more_leaves_nothing(nursery: Nursery, tmp_path: Path, by: str) -> None:
    if by == "program":
        await nursery.stop()
    with listen(LOOPBACK, 0) as bound:
        order = launch(tmp_path, "import time; time.sleep(600)", bound.fileno())
        for rounds in range(4):  # a birth is ordered, and cancelled a few turns of the loop later
            birth = asyncio.create_task(spawn(nursery, order))
            for _ in range(1 + rounds):
                await asyncio.sleep(0)
            birth.cancel()
            async with asyncio.timeout(BOUND_S):
                await asyncio.wait({birth})
            if not birth.cancelled():  # it was over before
                os.kill(birth.result().pid, signal.SIGKILL)
                await birth.result().wait()
            assert not holders(order.log)


@pytest.mark.skipif(sys.platform != "linux", reason="there is a nursery on Linux only")
@pytest.mark.parametrize("answered", [True, False])
def test_a_service_ends_when_the_supervisor_is_gone(tmp_path: Path, answered: bool) -> None:
    program = f"""
import asyncio, os, pathlib, sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
import test_births as here
from embedded.spawning import Nursery

async def main():
    nursery = Nursery()
    await nursery.start()
    with here.listen(here.LOOPBACK, 0) as bound:
        order = here.launch(pathlib.Path({str(tmp_path)!r}), "import time; time.sleep(600)", bound.fileno())
        birth = asyncio.create_task(here.spawn(nursery, order))
        await (birth if {answered} else asyncio.sleep(0.01))
        print("ordered", flush=True)
        os._exit(0)

asyncio.run(main())
"""
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    subprocess.run([sys.executable, "-c", program], env=environment, check=True, timeout=BOUND_S)
    until = time.monotonic() + BOUND_S
    while left := holders(tmp_path / "newborn.log"):
        assert time.monotonic() < until, left
        time.sleep(0.02)


def holders(file: Path) -> list[int]:
    """The processes but ourselves that hold a file open."""
    found: list[int] = []
    for descriptor in Path("/proc").glob("[0-9]*/fd/*"):
        with contextlib.suppress(OSError):
            if descriptor.parts[2] != str(os.getpid()) and descriptor.readlink() == file:
                found.append(int(descriptor.parts[2]))
    return found


def test_what_is_loaded_before_the_fork_is_no_model_and_nothing_heavy() -> None:
    program = "\n".join(
        (
            "import importlib, sys",
            "from embedded.nursery import PRELOADED",
            "for name in PRELOADED: importlib.import_module(name)",
            "heavy = {'numpy', 'onnxruntime', 'tokenizers', 'tantivy', 'aiortc', 'av', 'moonshine_voice', 'openai'}",
            "print(sorted(heavy & sys.modules.keys()))",
        )
    )
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "[]"
