"""What OpenAI's refusals and errors mean for a session; the provider's own words go nowhere (T11)."""

from __future__ import annotations

from voice_gateway.live.errors import ConnectionLost, LiveError, SessionRefused

HARMLESS = frozenset({"response_cancel_not_active", "conversation_already_has_active_response"})
"""What crosses on the wire: a cancel and a completion, two wishes for a response."""
ENDED = frozenset({"session_expired", "server_shutdown"})
"""The connection is at its end, and a new one helps."""
KEY = "The voice provider refuses the key. Set OPENAI_API_KEY to one that may use its Realtime API."
CREDIT = "There is no credit left with the voice provider."
MODEL = "The voice provider does not know this model or these settings of a session."
FATAL = {
    "invalid_api_key": KEY,
    "insufficient_quota": CREDIT,
    "model_not_found": MODEL,
    "account_deactivated": KEY,
}
PASSING = {
    "rate_limit_exceeded": "The voice provider is busy. Try again in a moment.",
    "content_filter": "The voice provider stopped the answer by its content rules.",
    "max_output_tokens": "The answer reached the voice provider's length limit.",
    "input_audio_buffer_commit_empty": "Nothing was said while the turn was open.",
}
UNKNOWN = "The voice provider could not do this. Try again."


def meaning_of(code: str | None) -> LiveError | None:
    """What an error event means: nothing, :class:`ConnectionLost`, :class:`SessionRefused`, or a passing failure."""
    code = code or "provider_error"
    if code in HARMLESS:
        return None
    if code in ENDED:
        return ConnectionLost("The voice provider ended the connection.")
    if code in FATAL:
        return SessionRefused(code, FATAL[code])
    return LiveError(code, PASSING.get(code, UNKNOWN))


def refusal_of(status: int) -> LiveError:
    """What the HTTP status of a refused connection means."""
    if status in (401, 403):
        return SessionRefused("invalid_api_key", KEY)
    if status == 402:
        return SessionRefused("insufficient_quota", CREDIT)
    if status in (400, 404, 405, 422):
        return SessionRefused("model_not_found", MODEL)
    return ConnectionLost("The voice provider takes no connection now.")
