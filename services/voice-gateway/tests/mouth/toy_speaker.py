"""A mouth's model without a model: a piece a word, a tenth of a second each; some words do something else."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path


class ToySpeaker:
    def __init__(self, log: str) -> None:
        self._log = Path(log)

    def run(self, payload: tuple[str, str, float, bool]) -> Iterator[tuple[str, bytes]]:
        text, voice, speed, hurried = payload
        with self._log.open("a") as log:
            log.write(f"{text}|{voice}|{speed}|{'hurried' if hurried else 'at ease'}\n")
        for word in text.split():
            match word:
                case "die":
                    if not self._log.with_name("died").exists():
                        self._log.with_name("died").touch()
                        os._exit(1)
                case "refuse":
                    raise ValueError("no")
                case "slow":
                    time.sleep(0.3)
                case _:
                    pass
            yield f"{word} ", bytes(4_800)


def make(log: str) -> ToySpeaker:
    return ToySpeaker(log)
