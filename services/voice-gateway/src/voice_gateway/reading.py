"""A text read aloud as it stands: a response out of band, in no conversation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from opentelemetry.trace import Span

from contracts.turns import MAX_QUESTION_LENGTH
from voice_gateway.errors import EventError
from voice_gateway.heard import Passage
from voice_gateway.mouth.port import Manner
from voice_gateway.protocol import ResponseWanted
from voice_gateway.responding import Responding
from voice_gateway.responses import Response
from voice_gateway.speaking import Voice

MAX_TEXT = MAX_QUESTION_LENGTH


class Reading(Responding):
    """``text`` being read aloud."""

    def __init__(
        self, response: Response, text: str, voice: Voice, manner: Manner, *, parent: str | None = None
    ) -> None:
        super().__init__(response, parent=parent)
        self.text = text
        self._voice, self._manner = voice, manner

    async def respond(self, current: Span) -> None:
        """Speak it, when the voice is free."""
        self.response.begin()
        async with self._voice.lent(self.response, self._manner) as speaker:
            await speaker.say(Passage(self.text, self.text))
        self.response.complete()


def text_of(wanted: ResponseWanted) -> str:
    """What a response out of band is to read; :class:`EventError` when it is not one message with a text."""
    message = wanted.input[0] if wanted.input and len(wanted.input) == 1 else None
    content: object = cast(Mapping[str, object], message).get("content") if isinstance(message, dict) else None
    texts = [
        text
        for part in (cast(list[object], content) if isinstance(content, list) else [])
        if isinstance(part, dict) and isinstance(text := cast(Mapping[str, object], part).get("text"), str)
    ]
    text = " ".join("\n".join(texts).split())
    if not text:
        raise EventError(
            "invalid_value",
            "A response out of band reads a text aloud: give it as the one message of `input`.",
            param="response.input",
        )
    if len(text) > MAX_TEXT:
        raise EventError(
            "invalid_value",
            f"At most {MAX_TEXT:,} characters are read at a time, and this has {len(text):,}; send it in phrases.",
            param="response.input",
        )
    return text
