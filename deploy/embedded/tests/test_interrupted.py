"""Ctrl-C at any moment of the start, once or twice, with or without a reader: nothing is left running."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

BOUND_S = 40.0


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Notes and a data folder for the starts that are interrupted once, and for those that are twice."""
    places = tmp_path_factory.mktemp("once"), tmp_path_factory.mktemp("twice")
    for place in places:
        (place / "notes").mkdir()
        (place / "notes" / "a.md").write_text("# A\n\nThe code is ORCHID-47.\n")
    return places


@pytest.mark.skipif(sys.platform != "linux", reason="what is left is looked for in /proc")
@pytest.mark.parametrize("delays_s", [(0.2, 0.5), (0.9, 1.2), (1.5, 1.7), (1.9, 2.1), (2.4, 2.8), (3.4, 4.0)], ids=str)
def test_an_interrupted_start_leaves_no_process(places: tuple[Path, Path], delays_s: tuple[float, float]) -> None:
    with ThreadPoolExecutor(2) as both:
        for done in [both.submit(interrupt, *one) for one in zip(places, delays_s, (1, 2), strict=True)]:
            done.result()


def interrupt(place: Path, delay_s: float, times: int) -> None:
    """Start, interrupt after a while, and see that nothing is left."""
    reading, writing = os.pipe()
    with (place / "errors").open("wb") as errors:
        running = subprocess.Popen(
            [sys.executable, "-m", "embedded", "up", place / "notes", "--port", "0", "--data", place / "data"],
            stdout=writing,
            stderr=errors,
            env={**os.environ, "INTERRUPTED_PLACE": str(place), "TALKDOWN_VOICE": "simulated"},
            start_new_session=True,
        )
    os.close(writing)
    os.close(reading)  # as with ``| head``: nobody reads any more
    time.sleep(delay_s)  # the moment is what is tried, and any is right
    for _ in range(times):
        running.send_signal(signal.SIGINT)
    try:
        running.wait(BOUND_S)
        until = time.monotonic() + BOUND_S
        while left := left_of(place):
            assert time.monotonic() < until, left
            time.sleep(0.05)
        assert "BrokenPipe" not in (place / "errors").read_text()
    finally:
        for pid in left_of(place):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def left_of(place: Path) -> dict[int, str]:
    """The processes that have the place in their command line, their environment, or an open file; and their names."""
    left: dict[int, str] = {}
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            held = [os.fsencode(descriptor.readlink()) for descriptor in (process / "fd").iterdir()]
            told = [(process / name).read_bytes() for name in ("cmdline", "environ")]
            if int(process.name) != os.getpid() and any(os.fsencode(place) in known for known in (*held, *told)):
                left[int(process.name)] = (process / "comm").read_text().strip()
    return left
