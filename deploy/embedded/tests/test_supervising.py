"""How children are kept running, and that nothing is left of them, however the supervisor ends."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from embedded.children import Child, Watchdog
from embedded.data import DataFolder, Run
from embedded.errors import ServiceFailed
from embedded.launch import Launch
from embedded.leftovers import end_leftovers
from embedded.logs import cut
from embedded.supervisor import Supervisor

BOUND_S = 60.0
STEADY = "import time; open('ready', 'w').close(); time.sleep(600)"


def child(folder: Path, program: str, *, name: str = "child", stage: int = 0) -> Child:
    folder.mkdir(exist_ok=True)

    def launch() -> Launch:
        (folder / "ready").unlink(missing_ok=True)
        return Launch(
            name=name,
            command=(sys.executable, "-c", program),
            environment=os.environ,
            folder=folder,
            log=folder / f"{name}.log",
            ready=lambda _pid: (folder / "ready").exists(),
        )

    return Child(name, launch, stage)


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    with contextlib.suppress(OSError):  # a zombie that nobody has read yet is dead
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    return True


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(BOUND_S):
        while not condition():  # noqa: ASYNC110 - a condition of other processes, which set no event of ours
            await asyncio.sleep(0.02)


def until_now(condition: Callable[[], bool]) -> None:
    last = time.monotonic() + BOUND_S
    while not condition():
        assert time.monotonic() < last, "it did not come true in time"
        time.sleep(0.02)


@pytest.fixture
def data(tmp_path: Path) -> DataFolder:
    folder = DataFolder(tmp_path / "data")
    folder.make()
    return folder


async def test_a_child_that_dies_is_started_again_and_says_so(data: DataFolder, tmp_path: Path) -> None:
    seen: list[str] = []
    one = child(tmp_path / "one", STEADY)
    async with Supervisor(data, lambda: seen.append(one.state)) as supervisor:
        supervisor.start(one)
        await supervisor.until_ready([one])
        first = one.pid
        assert first is not None
        os.kill(first, signal.SIGKILL)
        await until(lambda: one.state == "ready" and one.pid not in (None, first))
        assert "restarting" in seen
        assert supervisor.states() == [{"name": "child", "state": "ready", "detail": None}]
        last = one.pid
        assert last is not None
    assert not is_alive(last)


async def test_what_a_child_started_ends_with_it(data: DataFolder, tmp_path: Path) -> None:
    program = (
        "import subprocess, sys; below = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)']);"
        " open('below', 'a').write(f'{below.pid} '); "
    ) + STEADY
    one = child(tmp_path / "one", program)
    async with Supervisor(data, lambda: None) as supervisor:
        supervisor.start(one)
        await supervisor.until_ready([one])
        killed = one.pid
        assert killed is not None
        below = int((tmp_path / "one" / "below").read_text())
        os.kill(killed, signal.SIGKILL)
        await until(lambda: one.pid not in (None, killed))
        await until(lambda: not is_alive(below))


async def test_a_child_that_never_comes_up_fails_the_start_with_its_last_words(
    data: DataFolder, tmp_path: Path
) -> None:
    one = child(tmp_path / "one", "raise SystemExit('nothing works')")
    async with Supervisor(data, lambda: None) as supervisor:
        supervisor.start(one)
        with pytest.raises(ServiceFailed, match=r"child does not come up .*nothing works"):
            await supervisor.until_ready([one])


async def test_a_wrong_setting_is_said_once_in_the_services_own_sentence(data: DataFolder, tmp_path: Path) -> None:
    """T13."""
    one = child(tmp_path / "one", "import sys; sys.stderr.write('talkdown: Set OPENAI_API_KEY.\\n'); sys.exit(2)")
    async with Supervisor(data, lambda: None) as supervisor:
        supervisor.start(one)
        with pytest.raises(ServiceFailed, match=r"^Set OPENAI_API_KEY\.$"):
            await supervisor.until_ready([one])
    assert one.restarts == 1


async def test_stages_stop_one_after_the_other(data: DataFolder, tmp_path: Path) -> None:
    note = tmp_path / "order"
    program = (
        "import signal, sys, time\n"
        "def end(*_):\n"
        f"    open({str(note)!r}, 'a').write(sys.argv[1] if len(sys.argv) > 1 else NAME)\n"
        "    sys.exit(0)\n"
        "signal.signal(signal.SIGTERM, end)\n" + STEADY
    )
    late = child(tmp_path / "late", f"NAME = 'late '\n{program}", name="late", stage=1)
    early = child(tmp_path / "early", f"NAME = 'early '\n{program}", name="early", stage=0)
    async with Supervisor(data, lambda: None) as supervisor:
        supervisor.start(late, early)
        await supervisor.until_ready([late, early])
    assert note.read_text() == "early late "


async def test_a_child_that_ignores_the_signal_is_killed(
    data: DataFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("embedded.children.STOP_S", 0.2)
    one = child(tmp_path / "one", "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); " + STEADY)
    async with Supervisor(data, lambda: None) as supervisor:
        supervisor.start(one)
        await supervisor.until_ready([one])
        pid = one.pid
        assert pid is not None
    assert not is_alive(pid)


def test_the_watchdog_ends_everything_when_the_supervisor_is_killed(tmp_path: Path) -> None:
    program = textwrap.dedent(
        f"""
        import asyncio, pathlib, sys
        sys.path.insert(0, {str(Path(__file__).parent)!r})
        import test_supervising as here
        from embedded.data import DataFolder
        from embedded.supervisor import Supervisor

        async def main():
            folder = pathlib.Path({str(tmp_path)!r})
            data = DataFolder(folder / "data")
            data.make()
            first = here.child(folder / "a", here.STEADY)
            last = here.child(folder / "b", here.STEADY, name="b", stage=1)
            async with Supervisor(data, lambda: None) as supervisor:
                supervisor.start(first, last)
                await supervisor.until_ready([first, last])
                print(first.pid, last.pid, supervisor._dog._process.pid, flush=True)
                await supervisor.forever()

        asyncio.run(main())
        """
    )
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as supervisor:
        assert supervisor.stdout is not None
        pids = [int(pid) for pid in supervisor.stdout.readline().split()]
        assert len(pids) == 3
        assert all(is_alive(pid) for pid in pids)
        supervisor.kill()
        supervisor.wait()
        until_now(lambda: not [pid for pid in pids if is_alive(pid)])


def test_what_a_killed_run_and_its_watchdog_left_behind_is_ended_at_the_next_start(data: DataFolder) -> None:
    left = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
    stranger = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
    try:
        now = time.time()
        data.write_run(
            Run(
                pid=1,
                folder="/notes",
                data=str(data.path),
                url="",
                port=1,
                token="",
                mode="local",
                traces="",
                services={},
                children=(("agent", left.pid, now), ("web", stranger.pid, now - 3600)),
            )
        )
        assert end_leftovers(data) == ["agent"]
        assert left.poll() is not None
        assert stranger.poll() is None
        assert data.read_run() is None
    finally:
        left.kill()
        left.wait()
        stranger.kill()
        stranger.wait()


def test_a_log_past_its_limit_starts_over_and_keeps_one_older_file(tmp_path: Path) -> None:
    log = tmp_path / "web.log"
    with log.open("ab", buffering=0) as held:
        held.write(b"old " * 100)
        assert not cut(log, limit=1000)
        assert cut(log, limit=100)
        held.write(b"new")
    assert log.read_bytes() == b"new"
    assert (tmp_path / "web.log.1").read_bytes() == b"old " * 100


async def test_a_watchdog_with_nothing_left_ends_by_itself() -> None:
    dog = Watchdog()
    await dog.start()
    async with asyncio.timeout(BOUND_S):
        await dog.stop()
