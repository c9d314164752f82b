"""What a session replies: the response that a client asks for, or that an utterance is answered with.

::

    response.create                       --> the agent is asked about the last item
    response.create, conversation "none"  --> a text is read aloud as it stands
    an utterance, with create_response    --> as the first
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from secrets import token_hex
from uuid import UUID

from chassis import conventions
from contracts.frames import Accepted
from contracts.turns import MAX_QUESTION_LENGTH
from contracts.voice import TimelineEvent
from voice_gateway import measuring, protocol
from voice_gateway.answering import Answering
from voice_gateway.around import Around
from voice_gateway.conversation import Conversation, Item
from voice_gateway.credentials import Grant
from voice_gateway.errors import AnswerFailed, CallUnknown, EventError
from voice_gateway.floor import Floor
from voice_gateway.foresight import Foresight
from voice_gateway.moments import Moments
from voice_gateway.playout import Playout
from voice_gateway.protocol import ResponseWanted
from voice_gateway.reading import Reading, text_of
from voice_gateway.responses import NO_TOKENS, Emit, Response
from voice_gateway.session_config import SessionConfig
from voice_gateway.speaking import Voice

_AS_QUESTION = (
    "put a question into the conversation with `conversation.item.create`, and leave out `conversation` and `input`."
)
OUT_OF_BAND = (
    "A response out of band is speech: give it the modality `audio`, and its text as the one message of `input`; or "
    + _AS_QUESTION
)
OUT_OF_BAND_SILENT = "A response out of band is speech, and this voice is silent: " + _AS_QUESTION


class Replies:
    """The replies of one session; ``config`` gives its settings of the moment, ``session`` is its ``traceparent``."""

    def __init__(
        self,
        grant: Grant,
        around: Around,
        conversation: Conversation,
        playout: Playout,
        floor: Floor,
        emit: Emit,
        config: Callable[[], SessionConfig],
        *,
        session: str | None,
        sound_in_events: bool,
    ) -> None:
        self._grant, self._around, self._means = grant, around, around.means
        self._conversation, self._floor, self._emit, self._config = conversation, floor, emit, config
        self._session = session
        self._moments = Moments(self._tell)
        self._voice: Voice | None = None
        self._foresight: Foresight | None = None
        if around.senses is not None:
            mouth = around.senses.mouth
            self._voice = Voice(mouth, playout, self._moments.add, paced=sound_in_events)
            self._foresight = Foresight(
                around.agent, mouth, grant.chat_id, lambda: self._means.manner(config()), self._accepted
            )
            playout.on_started = lambda _speech: self._moments.played()
            playout.on_stopped = measuring.spoken

    def began(self, since_ms: float) -> None:
        """Somebody speaks: say nothing for now."""
        if self._foresight is not None:
            self._foresight.forget()
        if self._floor.hold():
            measuring.BARGE_IN.record(since_ms / 1000)

    def perhaps(self, text: str) -> None:
        """They may have asked this: prepare for it."""
        if self._foresight is not None:
            self._foresight.perhaps(text)

    def nothing(self) -> None:
        """It was nothing: go on."""
        if self._foresight is not None:
            self._foresight.forget()
        self._floor.release()

    async def confirmed(self, item: Item, silent_ms: float) -> None:
        """They said this ``item``: give way, and answer, as the session's settings say."""
        self._moments.heard(silent_ms)
        audio = self._config().audio
        turns = audio.input.turn_detection if audio else None
        if turns is None or turns.interrupt_response:
            await self._floor.interrupt()
        else:
            self._floor.release_later()
        if turns is not None and turns.create_response:
            try:
                self._answer(ResponseWanted())
            except EventError as error:
                self._emit(protocol.failure(error))

    def respond(self, wanted: ResponseWanted) -> None:
        """Begin the response that the client wants; :class:`EventError` says why not."""
        self._means.check_modalities(wanted.output_modalities, "response.output_modalities")
        if wanted.conversation == "none" and self._spoken(wanted) and self._voice and self._foresight:
            self._read(wanted, self._voice, self._foresight)
        elif wanted.conversation == "none" or wanted.input is not None:
            raise EventError(
                "not_supported",
                OUT_OF_BAND if self._voice else OUT_OF_BAND_SILENT,
                param="response.conversation" if wanted.conversation == "none" else "response.input",
            )
        else:
            self._answer(wanted)

    async def close(self) -> None:
        """Prepare nothing more, and tell what there is to tell."""
        self._moments.flush()
        if self._foresight is not None:
            await self._foresight.close()

    def _spoken(self, wanted: ResponseWanted) -> bool:
        return "audio" in (wanted.output_modalities or self._config().output_modalities)

    def _read(self, wanted: ResponseWanted, voice: Voice, foresight: Foresight) -> None:
        text = text_of(wanted)
        self._floor.check_reading()
        manner = self._means.manner(self._config(), _voice(wanted))
        metadata = wanted.metadata or {}
        response = Response(None, self._emit, wanted.metadata, manner=manner, usage=NO_TOKENS)
        reading = Reading(response, text, voice, manner, parent=metadata.get("traceparent"))
        self._floor.give(reading)
        if (turn_id := _turn(metadata)) is not None:
            self._moments.of(turn_id)
            self._moments.add("first_phrase")
            foresight.reads(turn_id, text)
        reading.start({conventions.GEN_AI_CONVERSATION_ID: str(self._grant.chat_id)})

    def _answer(self, wanted: ResponseWanted) -> None:
        self._floor.check_answer()
        manner = self._means.manner(self._config(), _voice(wanted)) if self._spoken(wanted) else None
        metadata = wanted.metadata or {}
        usage = NO_TOKENS if self._around.settings.chosen_answers in ("extractive", "scripted") else None
        answering = Answering(
            self._around.agent,
            Response(self._conversation, self._emit, wanted.metadata, manner=manner, usage=usage),
            chat_id=self._grant.chat_id,
            question=self._question(),
            limit_s=self._around.settings.answer_s,
            voice=self._voice,
            session=self._session,
            parent=metadata.get("traceparent"),
            asked=self._asked,
            moment=self._moments.add,
        )
        self._floor.give(answering)
        answering.start({conventions.GEN_AI_CONVERSATION_ID: str(self._grant.chat_id)})

    def _question(self) -> Callable[[], Awaitable[str]]:
        """The last item as a question, that is to be waited for while its words are made out."""
        item = self._conversation.last
        if item is None or item.role != "user":
            raise EventError(
                "no_question",
                "The last item is no question; add one with `conversation.item.create` and the role `user` first.",
            )
        known = item.known
        if known is None or known.is_set():
            _check(item)

        async def asked() -> str:
            if known is not None:
                await known.wait()
            try:
                return _check(item)
            except EventError as error:
                raise AnswerFailed(error.message, failure=error.reason) from error

        return asked

    def _asked(self, turn_id: UUID, traceparent: str | None) -> None:
        """A turn of this session was accepted, asked in the span ``traceparent``."""
        self._moments.of(turn_id)
        if traceparent is not None:
            self._around.calls.turn(self._grant.call_id, turn_id, traceparent)

    def _accepted(self, frame: Accepted) -> None:
        """A turn that is spoken here was asked elsewhere: what happens in it belongs to its trace."""
        self._around.calls.turn(self._grant.call_id, frame.turn_id, f"00-{frame.trace_id}-{token_hex(8)}-01")

    def _tell(self, events: Sequence[TimelineEvent]) -> None:
        with suppress(CallUnknown):
            self._around.calls.record(self._grant.call_id, events, None)


def _check(item: Item) -> str:
    """The question that an item asks; :class:`EventError` when it is none."""
    question = item.text.strip()
    if not question:
        raise EventError("blank_question", "The question is blank; ask it in words.")
    if len(question) > MAX_QUESTION_LENGTH:
        raise EventError(
            "question_too_long",
            f"A question has at most {MAX_QUESTION_LENGTH:,} characters, and this one has {len(question):,}.",
        )
    return question


def _voice(wanted: ResponseWanted) -> object:
    return wanted.audio.output.voice if wanted.audio else None


def _turn(metadata: dict[str, str]) -> UUID | None:
    try:
        return UUID(metadata["turn_id"])
    except (KeyError, ValueError):
        return None
