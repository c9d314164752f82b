"""Senses without models: loud sound is a voice, and what it says is written down beforehand."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from voice_gateway.ears.listener import LocalListener
from voice_gateway.ears.port import Heard, Tuning
from voice_gateway.ears.windows import Window
from voice_gateway.errors import ModelDied

WINDOW_IN = 32 * 48
WINDOW_OUT = 32 * 32


def sound(ms: int, level: int = 1000) -> bytes:
    """PCM16 at 24 kHz, to the window: as loud as ``level``."""
    return level.to_bytes(2, "little", signed=True) * (ms // 32 * 32 * 24)


def silence(ms: int) -> bytes:
    """No sound."""
    return sound(ms, 0)


@dataclass
class FakeSenses:
    """A voice where it is louder than 100; an echo where what plays is as loud as what is heard.

    ``say`` gives the words of a stretch by its number of voiced windows; ``over`` how finished the melody sounds.
    """

    say: Callable[[int], str] = lambda voiced: f"Words of {voiced} windows." if voiced else ""
    over: Callable[[int], float] = lambda voiced: 0.9
    dies: int = 0
    deaf: int = 0
    hold: asyncio.Event | None = None
    asked: list[int] = field(default_factory=list[int])
    guesses: list[int] = field(default_factory=list[int])
    closed: bool = False
    rest: bytes = b""
    played: bytes = b""

    async def windows(self, heard: bytes, played: bytes) -> tuple[Window, ...]:
        await asyncio.sleep(0)
        if self.deaf:
            self.deaf -= 1
            raise ModelDied
        self.rest += heard
        self.played += played
        found: list[Window] = []
        while len(self.rest) >= WINDOW_IN:
            window, self.rest = self.rest[:WINDOW_IN], self.rest[WINDOW_IN:]
            ours, self.played = self.played[:2], self.played[WINDOW_IN:]
            level = int.from_bytes(window[:2], "little", signed=True)
            echo = level > 100 and ours == window[:2]
            found.append(Window(0.95 if level > 100 else 0.01, echo, window[:2] * (WINDOW_OUT // 2)))
        return tuple(found)

    async def melody(self, sound: bytes) -> float:
        await asyncio.sleep(0)
        return self.over(voiced(sound))

    async def words(self, sound: bytes, guess: bool) -> str:
        (self.guesses if guess else self.asked).append(len(sound) // WINDOW_OUT)
        if self.hold is not None:
            await self.hold.wait()
        await asyncio.sleep(0)
        if self.dies:
            self.dies -= 1
            raise ModelDied
        return self.say(voiced(sound))

    def close(self) -> None:
        self.closed = True


def voiced(sound: bytes) -> int:
    """How many windows of PCM16 at 16 kHz are loud."""
    levels = (int.from_bytes(sound[place : place + 2], "little") for place in range(0, len(sound), WINDOW_OUT))
    return sum(level > 100 for level in levels)


async def hear(
    *pieces: bytes | Callable[[LocalListener], None],
    senses: FakeSenses | None = None,
    tuning: Tuning | None = Tuning(),  # noqa: B008 - it is frozen
) -> list[Heard]:
    """All that a listener tells of sound and of what is done to it, in this order."""
    listener = LocalListener(senses or FakeSenses(), tuning, lambda: None)
    for piece in pieces:
        if isinstance(piece, bytes):
            for start in range(0, len(piece), 960):
                listener.hear(piece[start : start + 960])
                if start % (960 * 100) == 0:
                    await done_with(listener)
        else:
            piece(listener)
    told: list[Heard] = []

    async def read() -> None:
        async for heard in listener:
            told.append(heard)

    reading = asyncio.create_task(read())
    await done_with(listener)
    await listener.close()
    await asyncio.wait_for(reading, 5)
    return told


async def done_with(listener: LocalListener) -> None:
    """Wait until the listener has heard all that it was given."""
    heard = asyncio.Event()
    listener.when_heard(heard.set)
    await asyncio.wait_for(heard.wait(), 20)
