"""The mouth that runs on the person's machine: Kokoro in a process of its own.

::

    speak(text) ----- job, due now ------------> ModelProcess --- piece by piece ---> Spoken, Spoken, …
    prepare(text) --- job, due after all else -> ModelProcess --- kept here, for the next speak of the same text
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Final

from voice_gateway.errors import ModelDied, ModelError, MouthBusy, MouthFailed, Saturated
from voice_gateway.mouth.port import Manner, Spoken
from voice_gateway.processes import GUESS, Job, ModelProcess, open_process

log = logging.getLogger(__name__)

SHIPPED: Final = Path(__file__).with_name("voices")
SLOWEST: Final = 0.5
FASTEST: Final = 2.0

_BYTES_A_SECOND: Final = 48_000
_LONGEST: Final = 20_000
"""Characters of one text: some twenty minutes of speech."""
_STUCK_S: Final = 60.0
_AHEAD: Final = 6
"""Pieces made and not yet taken, of one text."""


@asynccontextmanager
async def open_mouth(
    *,
    threads: int = 2,
    voices: tuple[Path, ...] = (SHIPPED / "af_heart.bin", SHIPPED / "am_michael.bin"),
    places: int = 16,
    at_once: int = 2,
    kept_s: float = 8.0,
    niceness: int = 0,
    environment: Mapping[str, str] | None = None,
) -> AsyncGenerator[LocalMouth]:
    """Start the mouth's process; leaving ends it. Its model loads meanwhile (see :attr:`LocalMouth.ready`).

    ``voices`` are files in Kokoro's format, the usual one first. ``places`` is how many texts may wait or be in work,
    ``at_once`` how many can be in work without a gap in any of them on this machine, ``kept_s`` how many seconds
    prepared speech is kept.
    """
    arguments = {"voices": tuple(str(voice) for voice in voices), "threads": threads}
    async with open_process(
        "mouth",
        "voice_gateway.mouth.speaker:make",
        arguments,
        places=places,
        stuck_s=_STUCK_S,
        niceness=niceness,
        environment=environment,
    ) as process:
        mouth = LocalMouth(process, tuple(voice.stem for voice in voices), at_once=at_once, kept_s=kept_s)
        try:
            yield mouth
        finally:
            mouth.close()


class LocalMouth:
    """A :class:`~voice_gateway.mouth.port.Mouth` whose model has a process of its own."""

    def __init__(self, process: ModelProcess, voices: tuple[str, ...], *, at_once: int, kept_s: float) -> None:
        self._process = process
        self._voices = voices
        self._at_once = at_once
        self._kept_s = kept_s
        self._spoken: dict[_Making, tuple[str, Manner]] = {}
        self._prepared: dict[tuple[str, Manner], _Making] = {}

    @property
    def ready(self) -> bool:
        """Whether the model is loaded and warm."""
        return self._process.ready

    @property
    def voices(self) -> tuple[str, ...]:
        """The names that a manner may hold, the usual one first; any other gets the usual one."""
        return self._voices

    @property
    def saturated(self) -> bool:
        """Whether as many texts are in work as can be without a gap; one that is made, and only plays, is not."""
        return sum(not making.made for making in self._spoken) >= self._at_once

    async def wait_ready(self) -> None:
        """Wait until the model is loaded and warm."""
        await self._process.wait_ready()

    async def speak(self, text: str, manner: Manner) -> AsyncGenerator[Spoken]:
        """Speak ``text`` piece by piece; see :class:`~voice_gateway.mouth.port.Mouth`."""
        manner = self._heeded(manner)
        making = self._prepared.pop((text, manner), None)
        again = making is None or making.failed
        if making is None or making.failed:
            making = self._make(text, manner, due=0.0, hurried=True)
        self._spoken[making] = (text, manner)
        spoke = False
        try:
            try:
                async with aclosing(making.taken()) as pieces:
                    async for piece in pieces:
                        spoke = True
                        yield piece
            except ModelDied:
                if spoke or not again:
                    raise
                # The process may have died of something else, and it is back in a moment.
                self._spoken.pop(making, None)
                making = self._make(text, manner, due=0.0, hurried=True)
                self._spoken[making] = (text, manner)
                async with aclosing(making.taken()) as pieces:
                    async for piece in pieces:
                        yield piece
        except ModelError as error:
            log.warning("a text of %d characters could not be spoken: %s", len(text), error)
            raise MouthFailed from error
        finally:
            self._spoken.pop(making, None)
            making.close()

    def prepare(self, text: str, manner: Manner) -> None:
        """Make the sound of ``text`` when nothing else waits; see :class:`~voice_gateway.mouth.port.Mouth`."""
        key = (text, self._heeded(manner))
        if key in self._prepared or key in self._spoken.values():
            return
        while len(self._prepared) >= max(2, self._at_once):
            self._forget(next(iter(self._prepared)))
        with contextlib.suppress(MouthBusy, ModelDied):
            # While something is spoken there is time for long pieces, which sound better.
            self._prepared[key] = self._make(text, key[1], due=GUESS, hurried=not self._spoken)
            self._keep(key, self._prepared[key])

    def forget(self, text: str, manner: Manner) -> None:
        """Make no more of what was prepared of ``text``."""
        self._forget((text, self._heeded(manner)))

    def close(self) -> None:
        """Throw away what was prepared."""
        for key in list(self._prepared):
            self._forget(key)

    def _make(self, text: str, manner: Manner, *, due: float, hurried: bool) -> _Making:
        try:
            job = self._process.job((text[:_LONGEST], manner.voice, manner.speed, hurried), due=due)
        except Saturated as error:
            raise MouthBusy from error
        return _Making(job, text[_LONGEST:])

    def _heeded(self, manner: Manner) -> Manner:
        voice = manner.voice if manner.voice in self._voices else self._voices[0]
        return Manner(voice, min(max(manner.speed, SLOWEST), FASTEST))

    def _keep(self, key: tuple[str, Manner], making: _Making) -> None:
        asyncio.get_running_loop().call_later(self._kept_s, self._expire, key, making)

    def _expire(self, key: tuple[str, Manner], making: _Making) -> None:
        # However long something is spoken, what comes behind it is still wanted.
        if self._spoken and self._prepared.get(key) is making:
            self._keep(key, making)
        else:
            self._forget(key, making)

    def _forget(self, key: tuple[str, Manner], only: _Making | None = None) -> None:
        if key in self._prepared and only in (None, self._prepared[key]):
            self._prepared.pop(key).close()


class _Making:
    """The sound of one text while it is made; a task of its own asks for the next piece as soon as one is there."""

    def __init__(self, job: Job, rest: str) -> None:
        self._job = job
        self._rest = rest
        self._pieces: asyncio.Queue[Spoken | ModelError | None] = asyncio.Queue(_AHEAD)
        self._failure: ModelError | None = None
        self._made_s = 0.0
        self._wanted_since: float | None = None
        self._task = asyncio.create_task(self._make())

    @property
    def failed(self) -> bool:
        """Whether it ended before it was whole."""
        return self._failure is not None

    @property
    def made(self) -> bool:
        """Whether there is nothing more to make of it."""
        return self._task.done()

    async def taken(self) -> AsyncGenerator[Spoken]:
        """The pieces, now wanted in earnest; what was too long to speak comes last, without sound."""
        # Each piece is due when those before it have been played.
        self._wanted_since = asyncio.get_running_loop().time()
        self._job.due = self._wanted_since
        while (piece := await self._pieces.get()) is not None:
            if isinstance(piece, ModelError):
                raise piece
            yield piece
        if self._rest:
            yield Spoken(self._rest, b"")

    def close(self) -> None:
        """Make no more of it."""
        self._task.cancel()
        self._job.close()

    async def _make(self) -> None:
        try:
            async for text, pcm in self._job:
                if not pcm and not text:
                    continue  # it gave way to something that is wanted now
                self._made_s += len(pcm) / _BYTES_A_SECOND
                if self._wanted_since is not None:
                    self._job.due = self._wanted_since + self._made_s
                await self._pieces.put(Spoken(text, pcm))
            await self._pieces.put(None)
        except ModelError as error:
            self._failure = error
            await self._pieces.put(error)
