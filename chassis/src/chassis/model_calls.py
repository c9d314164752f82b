"""A request to a model, local or a provider's: its span, how long it took, and the tokens that the provider counted.

Names are those of the conventions for generative AI: https://opentelemetry.io/docs/specs/semconv/gen-ai/.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from types import TracebackType
from typing import Final, Self

from opentelemetry.trace import SpanKind

from chassis import conventions, metrics
from chassis.telemetry import CLIENT, Attributes, span

DURATION = metrics.histogram(
    conventions.GEN_AI_OPERATION_DURATION, "s", "From a request to a model to the end of its answer.", metrics.MODEL_S
)
TOKENS = metrics.histogram(
    conventions.GEN_AI_TOKEN_USAGE, "{token}", "Tokens of a request, as the provider counted them.", metrics.TOKENS
)

# Models that think before they answer give reasoning items, which a server that stores nothing wants to see again.
_REASONING: Final = re.compile(r"(?:o\d|gpt-(?:[5-9]|\d\d)|codex)(?!.*-chat\b)")


class model_call:  # noqa: N801 - it is used as a verb: with model_call(CHAT, "openai", "gpt"): ...
    """``with model_call(conventions.CHAT, "openai", model) as call:`` and ``call.used(...)`` once tokens are known."""

    __slots__ = ("_began", "_of", "_span", "current")

    def __init__(
        self,
        operation: str,
        provider: str,
        model: str,
        attributes: Attributes | None = None,
        *,
        kind: SpanKind = CLIENT,
    ) -> None:
        self._of = call_of(operation, provider, model)
        self._span = span(f"{operation} {model}", {**self._of, **(attributes or {})}, kind=kind)
        self.current = self._span.current

    def used(self, input_tokens: int, output_tokens: int) -> None:
        """So many tokens were counted; never call it with an estimate."""
        self.current.set_attributes(
            {conventions.GEN_AI_INPUT_TOKENS: input_tokens, conventions.GEN_AI_OUTPUT_TOKENS: output_tokens}
        )
        count_input_tokens(self._of, input_tokens)
        TOKENS.record(output_tokens, {**self._of, conventions.GEN_AI_TOKEN_TYPE: "output"})

    def __enter__(self) -> Self:
        self._span.__enter__()
        self._began = time.perf_counter()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        failed = {conventions.ERROR_TYPE: kind.__qualname__} if kind else {}
        DURATION.record(time.perf_counter() - self._began, {**self._of, **failed})
        self._span.__exit__(kind, error, traceback)


def call_of(operation: str, provider: str, model: str) -> dict[str, str]:
    """The attributes by which calls are told apart."""
    return {
        conventions.GEN_AI_OPERATION: operation,
        conventions.GEN_AI_PROVIDER: provider,
        conventions.GEN_AI_REQUEST_MODEL: model,
    }


def count_input_tokens(of: Mapping[str, str], tokens: int) -> None:
    """So many tokens were read: of a call that writes none, such as an embedding."""
    TOKENS.record(tokens, {**of, conventions.GEN_AI_TOKEN_TYPE: "input"})


def returns_reasoning(model: str) -> bool:
    """Whether a model's name is that of one that returns reasoning items; others refuse to be asked for them."""
    return _REASONING.match(model.rpartition("/")[2]) is not None
