"""A model that a test's process can load: it counts, sleeps, prints, refuses or dies, as its job says."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator


class Toy:
    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._stop = threading.Event()

    def interrupt(self) -> None:
        self._stop.set()

    def run(self, payload: tuple[str, int]) -> Iterator[object]:
        what, number = payload
        match what:
            case "count":
                yield from range(number)
            case "echo":
                yield b"\x00\xff" * number
            case "pid":
                yield os.getpid(), os.getsid(0), os.nice(0)
            case "print":
                print("a library chats")
                yield "said"
            case "sleep":
                time.sleep(number)
                yield "awake"
            case "wait":
                while self._stop.wait(60):
                    self._stop.clear()
                    yield "interrupted"
            case "die":
                os._exit(number)
            case "watched":
                try:
                    yield from range(number)
                finally:
                    with open(f"{self._folder}/closed", "w") as file:  # noqa: PTH123
                        file.write("closed")
            case _:
                raise ValueError(what)


def make(folder: str = "") -> Toy:
    return Toy(folder)


def make_none() -> Toy:
    raise RuntimeError("there is no such model")
