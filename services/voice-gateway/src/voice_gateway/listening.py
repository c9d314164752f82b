"""The ears of one session, as the protocol tells of them: what is heard becomes items, and moves the floor.

::

    SpeechStarted          speech_started                                             hold
    Words                  transcription.delta, of the words that stand by now
    Utterance              speech_stopped, committed, item, transcription             confirmed: the person's turn
    Utterance, "mhm"       speech_stopped, cleared                                    release
    Dismissed              speech_stopped, cleared                                    release
    Failed                 speech_stopped, committed, item, transcription.failed      release

What the client commits by hand becomes an item at once, and its words come when the ears know them.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import Protocol

from voice_gateway import protocol
from voice_gateway.conversation import Conversation, Item, Part, new_id
from voice_gateway.ears.port import (
    Dismissed,
    Ears,
    Failed,
    Heard,
    Listener,
    PerhapsOver,
    SpeechStarted,
    Tuning,
    Utterance,
    Words,
)
from voice_gateway.errors import EventError, Refused
from voice_gateway.responses import Emit
from voice_gateway.session_config import SessionConfig
from voice_gateway.sound import BYTES_A_MS, duration_ms

log = logging.getLogger(__name__)

LEAST_COMMIT_MS = 100
"""As the provider has it."""
MAX_AHEAD_S = 5.0
"""So much sound is taken at once, as when a recording is sent; who sends more waits."""
AT_MOST = 8.0
"""Sound that came at once is worked off so many times faster than it was spoken."""
PIECE_S = 1.0
AGAIN_S = 1.0
"""Ears that were lost are asked for again so often at most."""
NOT_UNDERSTOOD = {
    "type": "server_error",
    "code": "not_understood",
    "message": "What was said could not be made out; say it again.",
    "param": None,
}


class Turns(Protocol):
    """What happens when somebody speaks."""

    def began(self, since_ms: float) -> None:
        """Speech began so long ago; it may be nothing."""
        ...

    def perhaps(self, text: str) -> None:
        """It may be over, and its words so far are these."""
        ...

    def nothing(self) -> None:
        """It was no utterance."""
        ...

    async def confirmed(self, item: Item, silent_ms: float) -> None:
        """It was an utterance, is this item, and ended so long ago."""
        ...


class Listening:
    """Sound in, events and items out. ``config`` gives the session's settings of the moment."""

    def __init__(
        self,
        ears: Ears,
        conversation: Conversation,
        emit: Emit,
        turns: Turns,
        config: Callable[[], SessionConfig],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._ears, self._conversation, self._emit, self._turns, self._config = ears, conversation, emit, turns, config
        self._clock = clock
        self._listener: Listener | None = None
        self._task: asyncio.Task[None] | None = None
        self._speech: str | None = None
        """The id of the item that the speech of the moment becomes."""
        self._shown = ""
        """The words of it that were told already; what was told stands."""
        self._committed: deque[Item] = deque()
        self._buffered_ms = self._heard_ms = 0.0
        self._ahead_s, self._taken_at = 0.0, clock()
        self._open_again_at = 0.0
        self._transcribing: set[asyncio.Task[None]] = set()

    @property
    def hears(self) -> bool:
        """Whether somebody speaks."""
        return self._speech is not None

    def open(self) -> None:
        """Take a place at the ears; :class:`~voice_gateway.errors.EarsBusy` when there is none."""
        self._listener = self._ears.listen(self._tuning())
        self._task = asyncio.create_task(self._follow(self._listener))

    def tune(self) -> None:
        """The settings changed."""
        if self._listener is not None:
            self._listener.tune(self._tuning())

    async def take(self, pcm: bytes) -> None:
        """Hear a sound of any length; who sends faster than the ears may be asked to hear is made to wait."""
        for piece in _pieces(pcm):
            self.hear(piece)
            now = self._clock()
            self._ahead_s = max(0.0, self._ahead_s - (now - self._taken_at) * AT_MOST) + duration_ms(piece) / 1000
            self._taken_at = now
            if self._ahead_s > MAX_AHEAD_S:
                await asyncio.sleep((self._ahead_s - MAX_AHEAD_S) / AT_MOST)

    def hear(self, pcm: bytes) -> None:
        """The next sound from the microphone; :class:`~voice_gateway.errors.EarsBusy`, now and then, without ears."""
        if self._listener is None:
            if self._clock() < self._open_again_at:
                return
            self._open_again_at = self._clock() + AGAIN_S
            self.open()
        assert self._listener is not None
        self._buffered_ms += duration_ms(pcm)
        self._heard_ms += duration_ms(pcm)
        self._listener.hear(pcm)

    def playing(self, pcm: bytes) -> None:
        """The sound that the person's loudspeaker plays now."""
        if self._listener is not None:
            self._listener.playing(pcm)

    def commit(self) -> None:
        """The client says that what was heard is an utterance."""
        if self._listener is None or self._buffered_ms < LEAST_COMMIT_MS:
            raise EventError(
                "input_audio_buffer_commit_empty",
                f"The buffer has {self._buffered_ms:.2f} ms of sound; a commit takes at least {LEAST_COMMIT_MS} ms.",
            )
        item = self._add(self._speech or new_id("item"))
        item.known = asyncio.Event()
        self._speech = None
        self._committed.append(item)
        self._listener.commit()

    def clear(self) -> None:
        """The client says that what was heard is to be forgotten."""
        self._buffered_ms = 0.0
        if self._listener is not None:
            self._listener.clear()
        if self._speech is not None:
            self._speech = None
            self._turns.nothing()
        self._emit({"type": "input_audio_buffer.cleared"})

    def transcribe(self, item: Item, sounds: dict[int, bytes]) -> None:
        """Make out the words of an item that the client brought as sound."""
        task = asyncio.create_task(self._transcribe(item, sounds))
        self._transcribing.add(task)
        task.add_done_callback(self._transcribing.discard)

    async def close(self) -> None:
        """Hear no more."""
        tasks = [*self._transcribing, *([self._task] if self._task else [])]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        if self._listener is not None:
            await self._listener.close()
            self._listener = None
        for item in self._committed:
            _set(item.known)

    def _tuning(self) -> Tuning | None:
        audio = self._config().audio
        turns = audio.input.turn_detection if audio else None
        return turns.tuning() if turns else None

    async def _follow(self, listener: Listener) -> None:
        try:
            async for heard in listener:
                await self._on(heard)
        except Exception:
            log.exception("the ears of a session failed")
        # Closing a session cancels this task: who comes here has lost the ears. The next sound asks for others.
        self._listener = None
        await listener.close()
        if self._speech is not None:
            self._stopped(0)
            self._turns.nothing()
        while self._committed:
            self._not_understood(self._committed.popleft())

    async def _on(self, heard: Heard) -> None:
        match heard:
            case SpeechStarted():
                self._speech, self._shown = self._speech or new_id("item"), ""
                self._emit(protocol.of_input("speech_started", self._speech, audio_start_ms=heard.at_ms))
                tuning = self._tuning()
                padding_ms = tuning.prefix_padding_ms if tuning else 0
                self._turns.began(max(0.0, self._heard_ms - heard.at_ms - padding_ms))
            case Words() if self._speech is not None and not self._committed:
                self._show(self._speech, heard.text.rpartition(" ")[0])
            case PerhapsOver():
                self._turns.perhaps(heard.text)
            case Utterance() if self._committed:
                self._understood(self._committed.popleft(), heard)
            case Utterance(backchannel=False):
                item = self._add(self._stopped(heard.end_ms))
                self._understood(item, heard)
                await self._turns.confirmed(item, max(0.0, self._heard_ms - heard.end_ms))
            case Failed() if self._committed:
                self._not_understood(self._committed.popleft())
            case Failed():
                item = self._add(self._stopped(heard.end_ms))
                self._not_understood(item)
                self._turns.nothing()
            case Dismissed() if self._committed:
                self._understood(self._committed.popleft(), Utterance("", heard.end_ms, heard.end_ms))
            case Utterance() | Dismissed():
                if self._speech is not None:
                    self._stopped(heard.end_ms)
                    self._buffered_ms = 0.0
                    self._emit({"type": "input_audio_buffer.cleared"})
                    self._turns.nothing()
            case _:
                pass

    def _stopped(self, end_ms: int) -> str:
        """``speech_stopped``; gives the id of the item that the speech may become."""
        item_id = self._speech or new_id("item")
        self._speech = None
        self._emit(protocol.of_input("speech_stopped", item_id, audio_end_ms=end_ms))
        return item_id

    def _add(self, item_id: str) -> Item:
        """``committed``, and the item."""
        self._buffered_ms = 0.0
        item = Item(item_id, "user", [Part("input_audio", None)])
        before = self._conversation.add(item)
        self._emit(protocol.of_input("committed", item_id, previous_item_id=before))
        self._emit(protocol.item_event("added", item.wire(), before))
        self._emit(protocol.item_event("done", item.wire(), before))
        for dropped in self._conversation.drop_oldest():
            self._emit({"type": "conversation.item.deleted", "item_id": dropped})
        return item

    def _understood(self, item: Item, heard: Utterance) -> None:
        item.parts[0].text = heard.text
        _set(item.known)
        if self._transcribed:
            self._show(item.id, heard.text)
            self._shown = ""
            usage = {"type": "duration", "seconds": max(0, heard.end_ms - heard.start_ms) / 1000}
            self._emit(protocol.transcription("completed", item.id, transcript=heard.text, usage=usage))

    def _show(self, item_id: str, words: str) -> None:
        """Tell what is new in ``words``, unless they correct what was told: ``completed`` has the last word."""
        if self._transcribed and words.startswith(self._shown) and len(words) > len(self._shown):
            self._emit(protocol.transcription("delta", item_id, delta=words[len(self._shown) :]))
            self._shown = words

    def _not_understood(self, item: Item) -> None:
        _set(item.known)
        if self._transcribed:
            self._emit(protocol.transcription("failed", item.id, error=NOT_UNDERSTOOD))

    @property
    def _transcribed(self) -> bool:
        audio = self._config().audio
        return audio is not None and audio.input.transcription is not None

    async def _transcribe(self, item: Item, sounds: dict[int, bytes]) -> None:
        try:
            for place, pcm in sounds.items():
                item.parts[place].text = await self._words(pcm)
                usage = {"type": "duration", "seconds": duration_ms(pcm) / 1000}
                event = protocol.transcription(
                    "completed", item.id, transcript=item.parts[place].text or "", usage=usage
                )
                self._emit({**event, "content_index": place})
        except Refused as error:
            detail = {**NOT_UNDERSTOOD, "code": error.code, "message": error.message}
            self._emit(protocol.transcription("failed", item.id, error=detail))
        except Exception:
            log.exception("the sound of an item could not be transcribed")
            self._not_understood(item)
        finally:
            _set(item.known)

    async def _words(self, pcm: bytes) -> str:
        """The words in a sound, heard by ears of its own; :class:`EarsBusy` when there is no place for them."""
        listener = self._ears.listen(None)
        try:
            for piece in _pieces(pcm):
                listener.hear(piece)
                await asyncio.sleep(PIECE_S / AT_MOST)
            listener.commit()
            async for heard in listener:
                if isinstance(heard, Utterance):
                    return heard.text
                if isinstance(heard, Dismissed):
                    return ""
                if isinstance(heard, Failed):
                    break
        finally:
            await listener.close()
        raise RuntimeError("the ears failed")


def _set(known: asyncio.Event | None) -> None:
    if known is not None:
        known.set()


def _pieces(pcm: bytes) -> Iterator[bytes]:
    size = int(PIECE_S * 1000) * BYTES_A_MS
    return (pcm[start : start + size] for start in range(0, len(pcm), size))
