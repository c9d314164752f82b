"""The child's end of a model's process (see :mod:`voice_gateway.processes`): ``python -m`` this, then its name.

The first message names the factory, "module:function", and its arguments; the model is made of them and warmed, and the
first answer says so. Then every command is answered by one result, in order.
"""

from __future__ import annotations

import contextlib
import importlib
import logging
import os
import pickle
import queue
import signal
import struct
import threading
from collections.abc import Generator, Iterator
from typing import Any, BinaryIO, Final, Protocol

LENGTH: Final = struct.Struct(">I")
"""What stands before every message: its length in bytes."""

Command = tuple[str, int, bytes]


class Model(Protocol):
    """What a factory returns, loaded and warm."""

    def run(self, payload: Any, /) -> Iterator[Any]:
        """The results of one job, one at a time; a generator is closed when its job is."""
        ...


class Interruptible(Protocol):
    """A model that can be told, from another thread, to give up the step that it is in."""

    def interrupt(self) -> None:
        """The step is no longer wanted, or something else is wanted sooner; it may end with any result or none."""
        ...


def main() -> None:
    """Be a model's process until the input ends."""
    # Whatever a model's library prints must not get between the messages.
    answers, commands = os.fdopen(os.dup(1), "wb"), os.fdopen(os.dup(0), "rb")
    os.dup2(2, 1)
    with open(os.devnull, "rb") as nothing:  # noqa: PTH123 - a file descriptor is wanted
        os.dup2(nothing.fileno(), 0)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    factory, arguments, niceness = _read(commands)
    os.nice(niceness)
    waiting: queue.SimpleQueue[Command] = queue.SimpleQueue()
    desk = _Desk()
    threading.Thread(target=_listen, args=(commands, waiting, desk), daemon=True).start()
    module, _, function = str(factory).partition(":")
    model: Model = getattr(importlib.import_module(module), function)(**arguments)
    desk.model = model
    _write(answers, ("result", None))
    _work(model, waiting, answers, desk)


class _Desk:
    """Which job is in work, seen from both threads."""

    def __init__(self) -> None:
        self.model: object = None
        self._lock = threading.Lock()
        self._number: int | None = None

    @contextlib.contextmanager
    def working_on(self, number: int) -> Generator[None]:
        with self._lock:
            self._number = number
        try:
            yield
        finally:
            with self._lock:
                self._number = None

    def interrupt(self, number: int) -> None:
        with self._lock:
            interrupt = getattr(self.model, "interrupt", None)
            if number == self._number and interrupt is not None:
                interrupt()


def _listen(commands: BinaryIO, waiting: queue.SimpleQueue[Command], desk: _Desk) -> None:
    """Pass commands on; the gateway's end, however it came, is ours at once, whatever the model is doing."""
    try:
        while True:
            command: Command = _read(commands)
            if command[0] in ("close", "interrupt"):
                desk.interrupt(command[1])
            if command[0] != "interrupt":
                waiting.put(command)
    finally:
        os._exit(0)


def _work(model: Model, waiting: queue.SimpleQueue[Command], answers: BinaryIO, desk: _Desk) -> None:
    jobs: dict[int, Iterator[Any]] = {}
    while True:
        command, number, payload = waiting.get()
        if command == "close":
            results = jobs.pop(number, None)
            if isinstance(results, Generator):
                with contextlib.suppress(Exception):
                    results.close()
            continue
        try:
            if command == "start":
                jobs[number] = iter(model.run(pickle.loads(payload)))  # noqa: S301
            with desk.working_on(number):
                answer = ("result", next(jobs[number]))
        except StopIteration:
            answer = ("end", None)
        except Exception as error:
            logging.exception("a job failed")
            answer = ("failed", f"{type(error).__name__}: {error}")
        if answer[0] != "result":
            jobs.pop(number, None)
        _write(answers, answer)


def _read(commands: BinaryIO) -> Any:
    (length,) = LENGTH.unpack(_exactly(commands, LENGTH.size))
    return pickle.loads(_exactly(commands, length))  # noqa: S301 - the gateway that started us


def _exactly(commands: BinaryIO, size: int) -> bytes:
    content = commands.read(size)
    if len(content) < size:
        raise EOFError
    return content


def _write(answers: BinaryIO, message: object) -> None:
    content = pickle.dumps(message, protocol=5)
    answers.write(LENGTH.pack(len(content)) + content)
    answers.flush()


if __name__ == "__main__":
    main()
