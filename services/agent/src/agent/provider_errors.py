"""What a model's provider can answer instead of an answer, each with its own plain sentence.

Nothing of the provider's own words is kept (T11): they may quote the request.
"""

from __future__ import annotations

from agent.errors import ModelFailed, ModelRefused, RateLimited, TurnFailed

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
            return RateLimited()
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
