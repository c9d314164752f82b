"""What a model's provider can answer instead of an answer, each with its own plain sentence.

Nothing of the provider's own words is kept: they may quote the request.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from voice_gateway.errors import AnswerFailed

if TYPE_CHECKING:
    from openai.types.responses import Response

CUT: Final = "The model stopped before its answer was complete; ask again."
_REFUSALS: Final = frozenset({"content_filter", "content_policy_violation", "invalid_prompt"})


def failed(sentence: str) -> AnswerFailed:
    """The model did not answer."""
    return AnswerFailed(sentence, failure="model_failed")


def refused(sentence: str = "The model's provider does not answer this; put it in other words.") -> AnswerFailed:
    """The provider does not want to answer."""
    return AnswerFailed(sentence, failure="model_refused")


def limited(wait: str | None = None) -> AnswerFailed:
    """The provider takes no more for now; ``wait`` are the seconds that it names."""
    seconds = int(wait) if wait and wait.isdigit() and 0 < int(wait) <= 3600 else None
    when = f"in {seconds} seconds" if seconds else "in a minute"
    return AnswerFailed(
        f"The model's provider takes no more questions for now; ask again {when}.", failure="rate_limited"
    )


def of_exception(error: Exception) -> AnswerFailed:
    """Name what an exception of the ``openai`` package, or of its stream, means for the person who asked."""
    import openai

    match error:
        case AnswerFailed():
            return error
        case openai.RateLimitError(code="insufficient_quota"):
            return AnswerFailed(
                "The account at the model's provider has no credit left; add some and ask again.",
                failure="rate_limited",
            )
        case openai.RateLimitError():
            return limited(error.response.headers.get("retry-after"))
        case openai.APITimeoutError():
            return failed("The model took too long to answer; ask again.")
        case openai.APIConnectionError():
            return failed("The connection to the model's provider failed; check the network and ask again.")
        case openai.AuthenticationError() | openai.PermissionDeniedError():
            return failed("The model's provider refused the key; check OPENAI_API_KEY and restart.")
        case openai.NotFoundError():
            return failed(
                "The model's provider does not know this model or this address; check TALKDOWN_CASCADE_MODEL, the"
                " agent's model, and OPENAI_BASE_URL."
            )
        case openai.APIStatusError(status_code=status) if status >= 500:
            return failed("The model's provider has a fault of its own; ask again in a moment.")
        case openai.APIError(code=code):
            return of_code(code)
        case _:
            return failed("The model's provider sent something that could not be read; ask again.")


def of_code(code: str | None) -> AnswerFailed:
    """Name what an error code inside a stream, or of a failed response, means."""
    if code == "rate_limit_exceeded":
        return limited()
    if code in _REFUSALS:
        return refused()
    if code == "context_length_exceeded":
        return failed("What was said is too long for this model; ask something narrower.")
    return failed("The model did not finish its answer; ask again.")


def of_incomplete(reason: str | None) -> AnswerFailed:
    """Name why a response ended before its end."""
    if reason == "content_filter":
        return refused("The model's provider cut this answer off by its content rules; ask in other words.")
    if reason == "max_output_tokens":
        return failed("The answer grew longer than it may and was cut off; ask something narrower.")
    return of_code(None)


def check(response: Response) -> None:
    """Raise what a response that did not complete means."""
    if response.status == "failed" or response.error is not None:
        raise of_code(response.error.code if response.error else None)
    if response.status == "incomplete":
        raise of_incomplete(response.incomplete_details.reason if response.incomplete_details else None)
