"""The real ears: three models in processes of their own, shared by all sessions of the gateway.

::

    LocalListener (one a session) --- sound, every 32 ms ---> "hearing"         voice activity, echo: 0.3 ms a window
                                  --- a pause --------------> "end of turn"     melody: about 0.1 s
                                  --- a pause, now and then -> "speech to text" words, vocabulary: about 0.06 s a second

No process waits for another, so the beginning of speech is known while words are still being made of something else.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Final

from voice_gateway.ears import model_files
from voice_gateway.ears.listener import LocalListener
from voice_gateway.ears.port import Tuning
from voice_gateway.ears.windows import Recognition, Sound, Vocabulary, Window
from voice_gateway.errors import EarsBusy, ModelError
from voice_gateway.processes import GUESS, ModelProcess, open_process

_SILENT: Final = {"ORT_DISABLE_TELEMETRY": "1"}


@asynccontextmanager
async def open_ears(*, places: int = 4, threads: int = 1, models: Path | None = None) -> AsyncGenerator[LocalEars]:
    """Start the models; they are loaded and warmed meanwhile (:attr:`LocalEars.ready`).

    ``places`` sessions are listened to at once. ``threads`` are what the voice activity and the melody may use each;
    the recogniser chooses its own. ``models`` is a folder with the files that are to be used instead of the shipped
    ones, by their names. Raises :class:`~voice_gateway.errors.ModelMissing` when a file is missing or is another one.
    """
    voice, melody, words, library, lexicon = await asyncio.to_thread(_files, models)
    async with AsyncExitStack() as stack:
        opened = [
            await stack.enter_async_context(
                open_process(name, f"voice_gateway.ears.{module}:load", given, places=3 * places, environment=_SILENT)
            )
            for name, module, given in (
                ("hearing", "hearing", {"path": voice, "threads": threads, "places": 2 * places}),
                ("end of turn", "end_of_turn", {"path": melody, "threads": threads}),
                ("speech to text", "speech_to_text", {"library": library, "folder": words, "lexicon": lexicon}),
            )
        ]
        yield LocalEars(*opened, places=places)


class LocalEars:
    """See :class:`voice_gateway.ears.port.Ears`."""

    def __init__(self, hearing: ModelProcess, melody: ModelProcess, words: ModelProcess, *, places: int) -> None:
        self.processes = (hearing, melody, words)
        self._places = places
        self._taken = 0
        self._numbers = itertools.count(1)
        self._versions = itertools.count(1)
        self._vocabulary = Vocabulary(0, ())

    @property
    def ready(self) -> bool:
        """See the port."""
        return all(process.ready for process in self.processes)

    @property
    def full(self) -> bool:
        """See the port."""
        return self._taken >= self._places

    async def wait_ready(self) -> None:
        """Wait until the models are loaded and warm."""
        for process in self.processes:
            await process.wait_ready()

    def listen(self, tuning: Tuning | None, words: tuple[str, ...] = ()) -> LocalListener:
        """See the port."""
        if self.full:
            raise EarsBusy
        self._taken += 1
        return LocalListener(_Senses(self, next(self._numbers), words), tuning, self._leave)

    def learn(self, words: tuple[str, ...]) -> None:
        """See the port."""
        if words != self._vocabulary.words:
            self._vocabulary = Vocabulary(next(self._versions), words)

    def vocabulary(self, own: tuple[str, ...], last: Vocabulary | None = None) -> Vocabulary:
        """The words that a session listens for: its ``own`` before those of the corpus; ``last`` while they are."""
        corpus = self._vocabulary
        words = (*dict.fromkeys((*own, *corpus.words)),)
        if len(words) == len(corpus.words):
            return corpus
        return last if last is not None and last.words == words else Vocabulary(next(self._versions), words)

    async def words(self, sound: bytes, *, guess: bool = False, vocabulary: Vocabulary | None = None) -> str:
        """What is said in ``sound`` (PCM16, 16 kHz, under 20 s), corrected by the vocabulary."""
        recogniser, vocabulary = self.processes[2], vocabulary or self._vocabulary
        due = GUESS if guess else 0.0
        text: str | None = await recogniser.call(Recognition(sound, vocabulary.version), due=due)
        if text is None:
            # It was started again, or the corpus has changed: it has not learnt this vocabulary.
            text = await recogniser.call(Recognition(sound, vocabulary.version, vocabulary), due=due)
        return text or ""

    def _leave(self) -> None:
        self._taken -= 1


class _Senses:
    """The ears' models as one session has them."""

    def __init__(self, ears: LocalEars, session: int, words: tuple[str, ...]) -> None:
        self._ears = ears
        self._session = session
        self._own, self._vocabulary = words, ears.vocabulary(words)
        self._ending: asyncio.Task[None] | None = None

    async def windows(self, heard: bytes, played: bytes) -> tuple[Window, ...]:
        return await self._ears.processes[0].call(Sound(self._session, heard, played))

    async def melody(self, sound: bytes) -> float:
        return await self._ears.processes[1].call(sound)

    async def words(self, sound: bytes, guess: bool) -> str:
        self._vocabulary = self._ears.vocabulary(self._own, self._vocabulary)
        return await self._ears.words(sound, guess=guess, vocabulary=self._vocabulary)

    def close(self) -> None:
        self._ending = asyncio.create_task(self._end(), name="forget a session")

    async def _end(self) -> None:
        try:
            await self._ears.processes[0].call(Sound(self._session, b"", b"", last=True))
        except ModelError:
            return  # Its process has forgotten everything.


def _files(folder: Path | None) -> tuple[str, str, str, str, tuple[str, ...]]:
    given = str(folder) if folder is not None else None
    voice = model_files.path_of(model_files.VOICE_ACTIVITY, given)
    melody = model_files.path_of(model_files.END_OF_TURN, given)
    words = [model_files.path_of(file, given) for file in model_files.SPEECH_TO_TEXT]
    library = model_files.inside_package(*model_files.RECOGNISER)
    lexicon = tuple(str(model_files.inside_package(*file)) for file in model_files.LEXICON)
    return str(voice), str(melody), str(words[0].parent), str(library), lexicon
