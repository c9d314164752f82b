"""What can go wrong in the voice gateway; each class's sentence is what a person, or a client, reads.

::

    VoiceError
    ├── Refused                 an HTTP answer, or the end of a connection that was only just asked for
    │   ├── BadRequest          400
    │   ├── NotSupported        400
    │   ├── OfferRefused        400
    │   ├── CallsElsewhere      400
    │   ├── CredentialMissing   401
    │   ├── CredentialRefused   401
    │   ├── OriginRefused       403
    │   ├── CallUnknown         404
    │   ├── CallGone            404
    │   ├── TooLarge            413
    │   ├── TooManyCredentials  429, with Retry-After
    │   ├── TooManySessions     429, with Retry-After
    │   │   ├── EarsBusy
    │   │   └── MouthSaturated
    │   ├── GoingAway           503
    │   ├── NoWay               503
    │   ├── SilentVoice         503, orchestrators/opening.py
    │   └── NoCredential        502, the provider of the voice gave none
    │       ├── KeyRefused
    │       ├── SettingsRefused
    │       ├── NoCredit
    │       ├── ProviderBusy    429, with Retry-After
    │       └── ProviderSilent  503, with Retry-After
    ├── EventError              an `error` event; the session goes on
    │   └── AudioNotHere
    ├── AnswerFailed            a `response.done` with status `failed`; the session goes on
    │   ├── AgentUnreachable
    │   ├── AnswerLate
    │   ├── AnswerLost
    │   ├── GatewayStopping
    │   ├── MouthBusy
    │   └── MouthFailed
    ├── VoiceUnknown            the start ends with it
    ├── ScenarioError           orchestrators/reading.py: a session is refused with it, or the start ends
    ├── ToolsUnusable           orchestrators/orchestra.py: the start ends with it
    ├── McpConfigError          orchestrators/mcp_servers.py: the start ends with it
    └── ModelError              between the ears or the mouth and a model's process; never shown to a person
        ├── Saturated
        ├── ModelFailed
        ├── ModelDied
        └── ModelMissing        the start ends with it
"""

from __future__ import annotations

from typing import ClassVar


class VoiceError(Exception):
    """Something went wrong in the voice session; start again."""

    code: ClassVar[str] = "internal"

    def __init__(self, message: str | None = None) -> None:
        self.message = message or " ".join((type(self).__doc__ or "").split())
        super().__init__(self.message)


class Refused(VoiceError):
    """The request cannot be served."""

    status: ClassVar[int] = 400
    close_code: ClassVar[int] = 1008
    """Of a WebSocket that was accepted only to say this: policy violation, RFC 6455 section 7.4.1."""
    retry_after_s: int | None = None


class BadRequest(Refused):
    """The request is not one that the voice gateway understands."""

    code = "bad_request"


class NotSupported(Refused):
    """This voice gateway answers questions in a session of its own; leave out `intent`."""

    code = "not_supported"


class CredentialMissing(Refused):
    """Bring a credential: ask for one with `POST /v1/realtime/client_secrets`, and send it as the bearer."""

    code, status = "credential_missing", 401


class CredentialRefused(Refused):
    """This credential is unknown, was used already, or is past its time; ask for a new one and connect at once."""

    code, status = "credential_refused", 401


class OriginRefused(Refused):
    """This page's origin is not served; open Talkdown's own page, or name the origin in TALKDOWN_ALLOWED_ORIGINS."""

    code, status = "origin_refused", 403


class CallUnknown(Refused):
    """There is no such call; use the `session.id` of the credential, within an hour of its last use."""

    code, status = "call_unknown", 404


class CallGone(Refused):
    """There is no such call; it has ended, or never was."""

    code, status = "call_unknown", 404


class OfferRefused(Refused):
    """This SDP offer cannot be read; send one as a browser's `createOffer` makes it."""

    code = "invalid_offer"


class CallsElsewhere(Refused):
    """Calls are held by the provider here: connect to the `url` that came with the credential."""

    code = "calls_elsewhere"


class TooLarge(Refused):
    """The request's body is larger than it may be; send less."""

    code, status = "too_large", 413


class TooManyCredentials(Refused):
    """Too many credentials wait to be used; wait a minute and ask again."""

    code, status, retry_after_s = "too_many_credentials", 429, 60


class TooManySessions(Refused):
    """All voice sessions are taken; wait for one to end, then connect again with the same credential."""

    code, status, retry_after_s = "too_many_sessions", 429, 5
    close_code = 1013


class EarsBusy(TooManySessions):
    """As many people are being listened to as this machine can; wait for one to stop, then connect again."""


class MouthSaturated(TooManySessions):
    """As many people are being spoken with as this machine can; wait for one to stop, then connect again."""


class GoingAway(Refused):
    """Talkdown is shutting down; connect again once it is back."""

    code, status, retry_after_s = "going_away", 503, 5
    close_code = 1001


class NoWay(Refused):
    """No call can reach this machine: TALKDOWN_ICE_ADDRESSES or TALKDOWN_ICE_PORTS name nothing that is free here."""

    code, status, retry_after_s = "no_way", 503, 5


class NoCredential(Refused):
    """The provider of the voice could not open a call; try again in a moment."""

    code, status = "provider_failed", 502


class KeyRefused(NoCredential):
    """The provider of the voice refused the key: set OPENAI_API_KEY to one that it takes, and start Talkdown again."""

    code = "key_refused"


class SettingsRefused(NoCredential):
    """The provider of the voice has no such call: check TALKDOWN_REALTIME_MODEL, TALKDOWN_TRANSCRIPTION_MODEL,
    TALKDOWN_VOICE_NAME and OPENAI_BASE_URL, or set TALKDOWN_VOICE to local, and start Talkdown again."""

    code = "settings_refused"


class NoCredit(NoCredential):
    """The account at the provider of the voice has no credit left; add some, then try again."""

    code = "no_credit"


class ProviderBusy(NoCredential):
    """The provider of the voice takes no more calls of this account just now; try again in a moment."""

    code, status, retry_after_s = "provider_busy", 429, 10

    def __init__(self, retry_after_s: int | None = None) -> None:
        super().__init__()
        if retry_after_s is not None:
            self.retry_after_s = retry_after_s


class ProviderSilent(NoCredential):
    """The provider of the voice does not answer: is this machine online, and is OPENAI_BASE_URL right? Try again."""

    code, status, retry_after_s = "provider_silent", 503, 5


class EventError(VoiceError):
    """The event cannot be served. ``code``, ``param`` and ``event_id`` go to the client as the protocol names them."""

    def __init__(self, code: str, message: str, *, param: str | None = None, event_id: str | None = None) -> None:
        super().__init__(message)
        self.reason = code
        self.param = param
        self.event_id = event_id


class AudioNotHere(EventError):
    """Sound was sent to, or wanted from, a voice that is silent."""

    def __init__(self, param: str) -> None:
        super().__init__(
            "audio_not_available",
            "This voice is simulated and has neither ears nor mouth: send the question as `input_text`"
            ' and take the answer as text (`output_modalities: ["text"]`).',
            param=param,
        )


class AnswerFailed(VoiceError):
    """The answer could not be finished; ask again."""

    def __init__(self, message: str | None = None, *, failure: str | None = None) -> None:
        super().__init__(message)
        self.failure = failure or self.code
        """The code that the client gets."""


class AgentUnreachable(AnswerFailed):
    """Questions cannot be answered right now; ask again in a moment."""

    code = "unavailable"


class AnswerLate(AnswerFailed):
    """The answer took longer than it may; ask again."""

    code = "deadline"


class AnswerLost(AnswerFailed):
    """The process that wrote this answer ended before it was done; ask again."""

    code = "worker_lost"


class GatewayStopping(AnswerFailed):
    """Talkdown is shutting down and could not finish this answer; ask again once it is back."""

    code = "stopping"


class MouthBusy(AnswerFailed):
    """More waits to be spoken than this machine can speak; the text stands on the page."""

    code = "speech_busy"


class MouthFailed(AnswerFailed):
    """This could not be spoken; the text stands on the page."""

    code = "speech_failed"


class VoiceUnknown(VoiceError):
    """There is no voice of this name."""


class ModelError(VoiceError):
    """A model could not do what was asked of it."""

    code = "model"


class Saturated(ModelError):
    """As much waits for this model as may wait."""


class ModelFailed(ModelError):
    """The model refused this job; it goes on with the next."""


class ModelDied(ModelError):
    """The model's process ended, or did not answer, while it had this job; it is started again."""


class ModelMissing(ModelError):
    """A model's file is missing or is not the one that this version was made with; install Talkdown again."""

    code = "model_missing"
