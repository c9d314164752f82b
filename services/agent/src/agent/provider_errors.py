"""What a model's provider can answer instead of an answer, each with its own plain sentence.

Nothing of the provider's own words is kept (T11): they may quote the request.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from agent.errors import ModelFailed, ModelRefused, RateLimited, TurnFailed

if TYPE_CHECKING:
    import openai

MAX_WAIT_S = 3600
_REFUSALS = frozenset({"content_filter", "content_policy_violation", "invalid_prompt"})


def of_exception(error: Exception) -> TurnFailed:
    """Name what an exception of the ``openai`` package, or of its stream, means for the person who asked."""
    import openai

    match error:
        case TurnFailed():
            return error
        case openai.RateLimitError(code="insufficient_quota"):
            return RateLimited("The account at the model's provider has no credit left; add some and ask again.")
        case openai.RateLimitError():
            return _limited(retry_after_s(error))
        case openai.APITimeoutError():
            return ModelFailed("The model took too long to answer; ask again.")
        case openai.APIConnectionError():
            return ModelFailed("The connection to the model's provider failed; check the network and ask again.")
        case openai.AuthenticationError() | openai.PermissionDeniedError():
            return ModelFailed("The model's provider refused the key; check OPENAI_API_KEY and restart.")
        case openai.NotFoundError():
            return ModelFailed(
                "The model's provider does not know this model or this address; "
                "check TALKDOWN_ANSWER_MODEL and OPENAI_BASE_URL."
            )
        case openai.APIStatusError(status_code=status) if status >= 500:
            return ModelFailed("The model's provider has a fault of its own; ask again in a moment.")
        case openai.APIError(code=code):
            return of_code(code)
        case _:
            return ModelFailed("The model's provider sent something that could not be read; ask again.")


def retry_after_s(error: openai.RateLimitError) -> float | None:
    """The seconds after which the provider says that it takes questions again, if it says so in a number."""
    headers = error.response.headers
    for name, unit in (("retry-after-ms", 1000), ("retry-after", 1)):
        try:
            wait_s = float(headers.get(name, "")) / unit
        except ValueError:
            continue
        if 0 <= wait_s <= MAX_WAIT_S:
            return wait_s
    return None


def _limited(wait_s: float | None) -> RateLimited:
    if wait_s is None:
        return RateLimited()
    seconds = max(1, math.ceil(wait_s))
    unit = "second" if seconds == 1 else "seconds"
    return RateLimited(f"The model's provider takes no more questions for now; ask again in {seconds} {unit}.")


def of_code(code: str | None) -> TurnFailed:
    """Name what an error code inside a stream, or of a failed response, means."""
    if code == "rate_limit_exceeded":
        return RateLimited()
    if code in _REFUSALS:
        return ModelRefused()
    if code == "context_length_exceeded":
        return ModelFailed("The question and what was found are too long for this model; ask something narrower.")
    return ModelFailed()


def of_incomplete(reason: str | None) -> TurnFailed:
    """Name why a response ended before its end."""
    if reason == "content_filter":
        return ModelRefused("The model's provider cut this answer off by its content rules; ask in other words.")
    if reason == "max_output_tokens":
        return ModelFailed("The answer grew longer than it may and was cut off; ask something narrower.")
    return ModelFailed()
