"""Models in processes of their own: in order of need, bounded, and gone when the gateway is."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest

from voice_gateway.errors import ModelDied, ModelFailed, Saturated
from voice_gateway.processes import GUESS, ModelProcess, open_process

HERE = str(Path(__file__).parent)


def toy(
    factory: str = "make", *, places: int = 8, stuck_s: float = 20, **arguments: object
) -> AbstractAsyncContextManager[ModelProcess]:
    return open_process(
        "toy",
        f"toy_model:{factory}",
        arguments,
        places=places,
        stuck_s=stuck_s,
        niceness=1,
        environment={"PYTHONPATH": HERE},
    )


@pytest.fixture
async def model(tmp_path: Path) -> AsyncGenerator[ModelProcess]:
    async with toy(folder=str(tmp_path)) as process:
        yield process


async def until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not true():  # noqa: ASYNC110 - a process elsewhere cannot set an event
            await asyncio.sleep(0.01)


def running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


async def test_results_come_one_by_one_and_a_job_that_waits_for_the_start_is_served(model: ModelProcess) -> None:
    assert not model.ready
    assert [number async for number in model.job(("count", 3))] == [0, 1, 2]
    assert model.ready
    assert model.taken == 0


async def test_bytes_come_as_they_are_and_what_a_library_prints_does_not_get_between(model: ModelProcess) -> None:
    assert await model.call(("print", 0)) == "said"
    assert await model.call(("echo", 1_000_000)) == b"\x00\xff" * 1_000_000


async def test_the_child_has_a_session_of_its_own_and_gives_way(model: ModelProcess) -> None:
    pid, session, niceness = await model.call(("pid", 0))
    assert pid == session == model.pid
    assert niceness == os.nice(0) + 1


async def test_a_refused_job_says_why_and_the_next_one_works(model: ModelProcess) -> None:
    with pytest.raises(ModelFailed, match="ValueError: nonsense"):
        await model.call(("nonsense", 0))
    assert await model.call(("count", 1)) == 0


async def test_what_is_due_first_goes_first_and_a_guess_goes_last(model: ModelProcess) -> None:
    await model.wait_ready()
    done: list[str] = []

    async def run(name: str, due: float) -> None:
        async for _ in model.job(("count", 2), due=due):
            done.append(name)

    async with asyncio.TaskGroup() as group:
        for name, due in (("guess", GUESS), ("later", 9.0), ("soon", 1.0)):
            group.create_task(run(name, due))
    assert done == ["soon", "soon", "later", "later", "guess", "guess"]


async def test_a_real_job_gets_in_between_two_results_of_a_guess(model: ModelProcess) -> None:
    guess = model.job(("count", 3), due=GUESS)
    assert await anext(guess) == 0
    assert await model.call(("count", 1)) == 0
    assert [number async for number in guess] == [1, 2]


async def test_a_guess_is_interrupted_within_its_step_for_what_somebody_waits_for(model: ModelProcess) -> None:
    await model.wait_ready()
    async with model.job(("wait", 0), due=GUESS) as guess:
        waiting = asyncio.ensure_future(anext(guess))
        await asyncio.sleep(0.05)
        assert await model.call(("count", 1)) == 0
        assert await waiting == "interrupted"


async def test_closing_a_job_interrupts_the_step_that_it_is_in(model: ModelProcess) -> None:
    await model.wait_ready()
    async with model.job(("wait", 0)) as job:
        waiting = asyncio.ensure_future(anext(job))
        await asyncio.sleep(0.05)
    assert await model.call(("count", 1)) == 0
    assert await waiting == "interrupted"


async def test_a_closed_job_frees_its_place_and_its_work_is_ended(model: ModelProcess, tmp_path: Path) -> None:
    async with model.job(("watched", 1_000)) as job:
        await anext(job)
    assert model.taken == 0
    await until((tmp_path / "closed").exists)


async def test_a_job_cancelled_while_it_waits_never_starts(model: ModelProcess, tmp_path: Path) -> None:
    sleeping = asyncio.create_task(model.call(("sleep", 1)))
    waiting = asyncio.create_task(model.call(("watched", 5)))
    await model.wait_ready()
    waiting.cancel()
    assert await sleeping == "awake"
    assert await model.call(("count", 1)) == 0
    assert not (tmp_path / "closed").exists()
    assert model.taken == 0


async def test_more_than_its_places_is_refused(tmp_path: Path) -> None:
    async with toy(places=1) as model:
        first = model.job(("count", 1))
        with pytest.raises(Saturated):
            model.job(("count", 1))
        assert [number async for number in first] == [0]
        assert await model.call(("count", 1)) == 0


async def test_death_fails_the_job_that_was_in_it_and_serves_those_that_waited(model: ModelProcess) -> None:
    dies = asyncio.create_task(model.call(("die", 3)))
    waits = asyncio.create_task(model.call(("count", 1), due=1.0))
    with pytest.raises(ModelDied):
        await dies
    assert await waits == 0
    assert model.ready


async def test_a_killed_child_is_started_again_though_nobody_asks(model: ModelProcess) -> None:
    await model.wait_ready()
    first = model.pid
    assert first is not None
    os.kill(first, signal.SIGKILL)
    await until(lambda: model.ready and model.pid not in (None, first))
    assert await model.call(("count", 1)) == 0


async def test_a_step_that_takes_too_long_counts_as_a_death() -> None:
    async with toy(stuck_s=0.2) as model:
        with pytest.raises(ModelDied):
            await model.call(("sleep", 60))
        assert await model.call(("count", 1)) == 0


async def test_a_model_that_cannot_be_loaded_fails_what_waits() -> None:
    async with toy("make_none") as model:
        with pytest.raises(ModelDied):
            await model.call(("count", 1))
        assert not model.ready


async def test_leaving_ends_the_child_in_the_middle_of_a_step_and_fails_what_was_open() -> None:
    async with toy() as model:
        await model.wait_ready()
        pid = model.pid
        assert pid is not None
        sleeping = asyncio.create_task(model.call(("sleep", 60)))
        await asyncio.sleep(0.05)
    with pytest.raises(ModelDied):
        await sleeping
    assert not running(pid)
    with pytest.raises(ModelDied):
        model.job(("count", 1))


async def test_the_child_ends_when_the_gateway_is_killed() -> None:
    program = """
import asyncio
from test_voice_processes import toy
async def main():
    async with toy() as model:
        await model.wait_ready()
        print(model.pid, flush=True)
        await model.call(("sleep", 60))
asyncio.run(main())
"""
    parent = await asyncio.create_subprocess_exec(
        sys.executable, "-c", program, stdout=asyncio.subprocess.PIPE, env={**os.environ, "PYTHONPATH": HERE}
    )
    assert parent.stdout is not None
    async with asyncio.timeout(20):
        child = int(await parent.stdout.readline())
    assert running(child)
    parent.kill()
    await parent.wait()
    await until(lambda: not running(child))
