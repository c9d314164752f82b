"""A model in a process of its own, warm, that does one step of one job at a time.

::

    gateway (asyncio)                                     python -m voice_gateway.model_child NAME
      ModelProcess                                          reads `(factory, arguments)`, loads and warms the model
        jobs that want their next result                      <- ready
        the one that is due first   --- start, payload -->   results = model.run(payload); next(results)
        hands it to whoever waits   <-- result -----------
        closed                      --- close ----------->   results.close(), after model.interrupt() where it has one
        ends, even by kill -9       --- end of file ----->   exits at once, in the middle of a step too

The gateway asks for every single result, so between two results of one job a job that is due earlier gets in, a
cancelled one costs at most the step it is in, and nobody computes what nobody reads. A guess is interrupted within its
step for what somebody waits for, where the model has an ``interrupt``. Messages are pickles with their
length in front; both ends are the same program. Results must be plain values (``bytes``, ``str``, numbers, tuples,
dataclasses of a light module), so that the gateway's process never loads what the model stands on.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import pickle
import sys
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from time import monotonic
from typing import Any, Final, Literal, Self

from voice_gateway.errors import ModelDied, ModelError, ModelFailed, Saturated
from voice_gateway.model_child import LENGTH

log = logging.getLogger(__name__)

GUESS: Final = float("inf")
"""When a job is due that is only a guess: after everything that somebody really waits for."""

_FIRST_WAIT_S: Final = 0.2
_LONGEST_WAIT_S: Final = 10.0
_CLOSE_S: Final = 2.0


@asynccontextmanager
async def open_process(
    name: str,
    factory: str,
    arguments: Mapping[str, object],
    *,
    places: int,
    stuck_s: float = 30.0,
    start_s: float = 120.0,
    niceness: int = 0,
    environment: Mapping[str, str] | None = None,
) -> AsyncGenerator[ModelProcess]:
    """Start the model that ``factory`` ("module:function") makes of ``arguments``; leaving ends its process.

    It is not waited for until it is ready (see :attr:`ModelProcess.ready`): jobs wait. ``places`` is how many jobs may
    be open at once. A step longer than ``stuck_s`` seconds, or a start longer than ``start_s``, counts as a death.
    ``niceness`` gives way to the gateway's own process, which keeps the clock of what is played.
    """
    child = _Child(name, factory, arguments, start_s, niceness, environment or {})
    process = ModelProcess(child, places, stuck_s)
    keeping = asyncio.create_task(process.keep(), name=f"model {name}")
    try:
        yield process
    finally:
        keeping.cancel()
        await asyncio.wait({keeping})
        process.end()


class ModelProcess:
    """The gateway's end of a model's process."""

    def __init__(self, child: _Child, places: int, stuck_s: float) -> None:
        self._child = child
        self._places = places
        self._stuck_s = stuck_s
        self._open: set[Job] = set()
        self._asked: list[_Step] = []
        self._more = asyncio.Event()
        self._ready = asyncio.Event()
        self._ended = False
        self._number = 0
        self._in_work: Job | None = None

    @property
    def ready(self) -> bool:
        """Whether the model is loaded and warm."""
        return self._ready.is_set()

    @property
    def pid(self) -> int | None:
        """The child's process id while there is one."""
        return self._child.pid

    @property
    def taken(self) -> int:
        """How many jobs are open, of ``places``."""
        return len(self._open)

    async def wait_ready(self) -> None:
        """Wait until the model is loaded and warm."""
        await self._ready.wait()

    def job(self, payload: object, *, due: float = 0.0) -> Job:
        """A job whose results are read one by one; raises :class:`Saturated` when all places are taken.

        Of the jobs that want a result the one with the smallest ``due`` goes first, then the one that asked first.
        """
        if self._ended:
            raise ModelDied
        if len(self._open) >= self._places:
            raise Saturated
        self._number += 1
        job = Job(self, self._number, pickle.dumps(payload, protocol=5), due)
        self._open.add(job)
        return job

    async def call(self, payload: object, *, due: float = 0.0) -> Any:
        """The one result of a job that has one."""
        async with self.job(payload, due=due) as job:
            async for result in job:
                return result
        raise ModelFailed("The model gave no result.")

    async def keep(self) -> None:
        """Keep a child running until cancelled."""
        wait = _FIRST_WAIT_S
        try:
            while True:
                began = monotonic()
                try:
                    await self._child.start()
                    self._ready.set()
                    await self._serve()
                except Exception as error:
                    self._in_work = None
                    warm = self._ready.is_set()
                    self._ready.clear()
                    self._lose(everything=not warm)
                    log.warning("the %s model is started again: %s", self._child.name, error or type(error).__name__)
                    if warm and monotonic() - began > _LONGEST_WAIT_S:
                        wait = _FIRST_WAIT_S
                await self._child.stop(patience_s=0)
                await asyncio.sleep(wait)
                wait = min(wait * 2, _LONGEST_WAIT_S)
        finally:
            self._ready.clear()
            await self._child.stop(patience_s=_CLOSE_S)

    async def _serve(self) -> None:
        gone = asyncio.create_task(self._child.wait())
        try:
            while True:
                step = await self._next_step(gone)
                self._child.send(step.message)
                step.job.started = True
                step.job.in_work, self._in_work = step, step.job
                kind, value = await asyncio.wait_for(self._child.receive(), self._stuck_s)
                step.job.in_work = self._in_work = None
                step.settle(kind, value)
                if kind != "result":
                    self._open.discard(step.job)
                await asyncio.sleep(0)  # whoever got the result asks for the next one before something else is begun
        finally:
            gone.cancel()

    async def _next_step(self, gone: asyncio.Task[None]) -> _Step:
        while True:
            self._asked = [step for step in self._asked if not step.answer.done()]
            if self._asked:
                step = min(self._asked, key=lambda step: (step.job.due, step.number))
                self._asked.remove(step)
                return step
            self._more.clear()
            more = asyncio.create_task(self._more.wait())
            try:
                await asyncio.wait({more, gone}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                more.cancel()
            if gone.done():
                raise EOFError("it died while it had nothing to do")

    def _lose(self, *, everything: bool) -> None:
        """Fail the jobs that the child held; what only waits is kept for the next one, unless there may be none."""
        for job in list(self._open):
            if job.started or everything:
                job.fail(ModelDied())
                self._open.discard(job)
        for step in self._asked:
            if step.job not in self._open:
                step.fail(ModelDied())

    def end(self) -> None:
        """Fail all that is open; nothing more is taken."""
        self._ended = True
        self._lose(everything=True)

    def ask(self, job: Job) -> _Step:
        """Queue the next step of ``job``."""
        self._number += 1
        step = _Step(self._number, job, asyncio.get_running_loop().create_future())
        self._asked.append(step)
        self._more.set()
        if self._in_work is not None and job.due < GUESS <= self._in_work.due and self.ready:
            self._child.send(("interrupt", self._in_work.number, b""))
        return step

    def close(self, job: Job) -> None:
        """Free the place of ``job`` and let the child forget it."""
        self._open.discard(job)
        if job.started and self.ready:
            self._child.send(("close", job.number, b""))


class Job:
    """One job of a :class:`ModelProcess`: iterate over its results; closing it stops the work."""

    def __init__(self, process: ModelProcess, number: int, payload: bytes, due: float) -> None:
        self.due = due
        """When its next result is wanted, on one clock for all jobs of the process; may be changed at any time."""
        self.number = number
        self.payload = payload
        self.started = False
        self.in_work: _Step | None = None
        self._process = process
        self._failure: ModelError | None = None
        self._over = False

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:
        if self._failure is not None:
            raise self._failure
        if self._over:
            raise StopAsyncIteration
        kind, value = await self._process.ask(self).answer
        if kind == "result":
            return value
        self._over = True
        if kind == "failed":
            raise ModelFailed(value)
        raise StopAsyncIteration

    def fail(self, failure: ModelError) -> None:
        """Its child is gone."""
        self._failure = failure
        if self.in_work is not None:
            self.in_work.fail(failure)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop it: it never starts, or ends at the end of the step that it is in."""
        if not self._over:
            self._over = True
            self._process.close(self)


Kind = Literal["result", "end", "failed"]


@dataclass(slots=True)
class _Step:
    number: int
    job: Job
    answer: asyncio.Future[tuple[Kind, Any]] = field(repr=False)

    @property
    def message(self) -> tuple[str, int, bytes]:
        return ("next", self.job.number, b"") if self.job.started else ("start", self.job.number, self.job.payload)

    def settle(self, kind: Kind, value: object) -> None:
        if not self.answer.done():
            self.answer.set_result((kind, value))

    def fail(self, failure: ModelError) -> None:
        if not self.answer.done():
            self.answer.set_exception(failure)


class _Child:
    """The process itself, and the pipes to it."""

    def __init__(
        self,
        name: str,
        factory: str,
        arguments: Mapping[str, object],
        start_s: float,
        niceness: int,
        environment: Mapping[str, str],
    ) -> None:
        self.name = name
        self._first_message = (factory, dict(arguments), niceness)
        self._start_s = start_s
        self._environment = environment
        self._process: asyncio.subprocess.Process | None = None
        self._saying: asyncio.Task[None] | None = None

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process and self._process.returncode is None else None

    async def start(self) -> None:
        """Start it and wait until its model is warm."""
        pipe = asyncio.subprocess.PIPE
        # A session of its own: what is sent to the gateway's group (Ctrl-C) does not end a model that still speaks.
        self._process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "voice_gateway.model_child", self.name,
            stdin=pipe, stdout=pipe, stderr=pipe, limit=1 << 20, start_new_session=True,
            env={**os.environ, **self._environment},
        )  # fmt: skip
        self._saying = asyncio.create_task(self._log(self._process))
        self.send(self._first_message)
        await asyncio.wait_for(self.receive(), self._start_s)

    def send(self, message: object) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        content = pickle.dumps(message, protocol=5)
        self._process.stdin.write(LENGTH.pack(len(content)))
        self._process.stdin.write(content)

    async def receive(self) -> tuple[Kind, Any]:
        assert self._process is not None
        assert self._process.stdout is not None
        (length,) = LENGTH.unpack(await self._process.stdout.readexactly(LENGTH.size))
        return pickle.loads(await self._process.stdout.readexactly(length))  # noqa: S301 - our own child

    async def wait(self) -> None:
        assert self._process is not None
        await self._process.wait()

    async def stop(self, *, patience_s: float) -> None:
        """End it by closing its input; kill it when it has not ended after ``patience_s`` seconds."""
        process = self._process
        if process is None:
            return
        assert process.stdin is not None
        process.stdin.close()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), patience_s)
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()
        if self._saying is not None:
            self._saying.cancel()
            await asyncio.wait({self._saying})
        self._process = None

    async def _log(self, process: asyncio.subprocess.Process) -> None:
        assert process.stderr is not None
        while said := await process.stderr.read(4096):
            for line in said.decode(errors="replace").splitlines():
                log.info("%s: %s", self.name, line)
