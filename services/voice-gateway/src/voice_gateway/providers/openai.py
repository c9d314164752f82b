"""The voice of OpenAI, or of a server with the same Realtime API: it holds the calls that the gateway lets people into.

::

    page --Start--> web --> gateway --permanent key--> POST {provider}/realtime/client_secrets
    page <---- ek_..., the provider's address --------'
    page <=========== SDP, sound, events ===========> {provider}/realtime/calls

The permanent key goes nowhere else, and nothing of the provider's own words is passed on or logged (V2, T11): they may
quote the request. The ``openai`` package is imported at the first use: it costs more than a second, and no other voice
needs it. https://platform.openai.com/docs/api-reference/realtime-sessions/create-realtime-client-secret
"""

from __future__ import annotations

import importlib
import logging
import re
from typing import TYPE_CHECKING, Annotated, cast
from urllib.parse import urlsplit

from pydantic import BaseModel, Field, ValidationError

from chassis.conventions import GEN_AI_PROVIDER, GEN_AI_REQUEST_MODEL, SERVER_ADDRESS
from chassis.telemetry import CLIENT, span
from contracts.vocabulary import Count, JsonObject
from contracts.voice import CREDENTIAL_PATTERN
from voice_gateway.credentials import Minted
from voice_gateway.errors import KeyRefused, NoCredential, NoCredit, ProviderBusy, ProviderSilent, SettingsRefused
from voice_gateway.settings import Settings

if TYPE_CHECKING:
    from openai import AsyncOpenAI
    from openai.types.realtime import RealtimeSessionCreateRequestParam

log = logging.getLogger(__name__)

VOICE = "marin"
LEAST_S = 10
"""The shortest life of a credential that OpenAI gives, in seconds."""
MAX_KEYWORDS = 100
MAX_KEYWORD_LENGTH = 64
MAX_RETRY_AFTER_S = 600
READ_ALOUD = (
    "You are the voice of a reader. Say aloud exactly the text that you are given, word for word, in its own language,"
    " calmly and clearly. Add nothing, leave nothing out, and answer nothing."
)
TAKES_KEYWORDS = re.compile(r"gpt-(live-)?transcribe")
REASONS = re.compile(r"gpt-realtime-2(?!\d)")
"""Models that think before they speak, which reading aloud does not need."""


class _Credential(BaseModel, from_attributes=True):
    value: Annotated[str, Field(pattern=CREDENTIAL_PATTERN)]
    expires_at: Count


class OpenAIVoice:
    """Lets people into calls with the provider, whose session is as the settings say."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._client: AsyncOpenAI | None = None
        self._keywords: tuple[str, ...] = ()

    @property
    def url(self) -> str:
        """Where the page finds the session."""
        return f"{self._settings.provider_url}/realtime"

    @property
    def session(self) -> JsonObject:
        """The settings of a session: it listens and transcribes, and speaks only what it is given (V3)."""
        settings = self._settings
        pcm = {"type": "audio/pcm", "rate": 24000}
        transcription: JsonObject = {"model": settings.transcription_model}
        if settings.voice_language is not None:
            transcription["language"] = settings.voice_language
        if self._keywords and TAKES_KEYWORDS.match(settings.transcription_model):
            transcription["keywords"] = list(self._keywords)
        session: JsonObject = {
            "type": "realtime",
            "model": settings.realtime_model,
            "output_modalities": ["audio"],
            "instructions": READ_ALOUD,
            "tools": [],
            "tool_choice": "none",
            "audio": {
                "input": {
                    "format": pcm,
                    "transcription": transcription,
                    "turn_detection": {"type": "server_vad", "create_response": False, "interrupt_response": False},
                },
                "output": {"format": pcm, "voice": settings.voice_name or VOICE, "speed": settings.voice_speed},
            },
        }
        if REASONS.match(settings.realtime_model):
            session["reasoning"] = {"effort": "minimal"}
        return session

    def learn(self, words: tuple[str, ...]) -> None:
        """Name the first of these words to the provider in the calls from now on."""
        self._keywords = tuple(word for word in words if len(word) <= MAX_KEYWORD_LENGTH)[:MAX_KEYWORDS]

    async def mint(self, session: JsonObject, *, seconds: int | None = None) -> Minted:
        """A credential for a call with this session, to be used within ``seconds`` or as long as ours at most.

        :class:`~voice_gateway.errors.NoCredential` when the provider gives none.
        """
        most = self._settings.credential_s
        about = {
            GEN_AI_PROVIDER: "openai",
            GEN_AI_REQUEST_MODEL: self._settings.realtime_model,
            SERVER_ADDRESS: urlsplit(self.url).hostname or "",
        }
        with span("create client secret", about, kind=CLIENT):
            try:
                answer = await self._open().realtime.client_secrets.create(
                    expires_after={"anchor": "created_at", "seconds": max(LEAST_S, min(seconds or most, most))},
                    session=cast("RealtimeSessionCreateRequestParam", session),
                )
                given = _Credential.model_validate(answer)
            except Exception as error:
                refusal = _meaning(error)
                log.warning("the provider gave no credential", extra={"code": refusal.code, "error": _name(error)})
                raise refusal from None
        return Minted(given.value, given.expires_at)

    @staticmethod
    def warm() -> None:
        """Import what the first call would wait for; in a thread, so that the client is left to the loop."""
        importlib.import_module("openai.resources.realtime.client_secrets")

    async def close(self) -> None:
        """Close the connections to the provider."""
        if self._client is not None:
            await self._client.close()

    def _open(self) -> AsyncOpenAI:
        if self._client is None:
            from openai import AsyncOpenAI

            key, settings = self._settings.openai_api_key, self._settings
            self._client = AsyncOpenAI(
                api_key=key.get_secret_value().strip() if key else "",
                base_url=settings.openai_base_url,
                timeout=settings.provider_s,
                max_retries=0,
            )
        return self._client


def _meaning(error: Exception) -> NoCredential:
    import openai

    match error:
        case openai.APIConnectionError():  # a time-out too
            return ProviderSilent()
        case openai.AuthenticationError() | openai.PermissionDeniedError():
            return KeyRefused()
        case openai.RateLimitError(code="insufficient_quota"):
            return NoCredit()
        case openai.RateLimitError():
            wait = error.response.headers.get("retry-after", "")
            return ProviderBusy(min(int(wait), MAX_RETRY_AFTER_S) if wait.isdecimal() else None)
        case openai.APIStatusError(status_code=400 | 404 | 405 | 422):
            return SettingsRefused()
        case openai.APIError() | ValidationError():
            return NoCredential()
        case _:
            raise error


def _name(error: Exception) -> str:
    return type(error).__name__
