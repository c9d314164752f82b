"""The metrics of turns."""

from __future__ import annotations

from chassis import conventions, metrics
from contracts.events import TurnFinished

WHOLE = metrics.histogram(
    "talkdown.turn.duration", "s", "From a question's acceptance to the end of its turn.", metrics.MODEL_S
)
WAITED = metrics.histogram(
    "talkdown.turn.wait.duration", "s", "From a question's acceptance to its claim by a worker.", metrics.MODEL_S
)
SEARCHED = metrics.histogram(
    "talkdown.turn.search.duration",
    "s",
    "From the claim of a turn to its passages, a model's choice of words included.",
    metrics.MODEL_S,
)
FIRST_DELTA = metrics.histogram(
    "talkdown.turn.time_to_first_delta",
    "s",
    "From a question's acceptance to the first words of its answer.",
    metrics.MODEL_S,
)
RUNNING = metrics.level("talkdown.turn.running", "{turn}", "Turns that are being answered.")


def ended(event: TurnFinished, failure: str | None) -> None:
    """A turn ended that was run here; ``failure`` is the code of its error, if it has one."""
    if event.status == "failed":
        status = of_failure(failure or "internal")
    else:
        status = {conventions.TURN_STATUS: "abstained" if event.abstained else event.status}
    WHOLE.record(event.total_ms / 1000, status)
    WAITED.record(event.waited_ms / 1000)
    if event.searched_ms is not None:
        SEARCHED.record(event.searched_ms / 1000)
    if event.first_delta_ms is not None:
        FIRST_DELTA.record(event.first_delta_ms / 1000)


def swept(failure: str, age_s: float) -> None:
    """A turn was ended that nobody ran, or ran to its end, so many seconds after its question was accepted."""
    WHOLE.record(age_s, of_failure(failure))


def of_failure(code: str) -> dict[str, str]:
    """The attributes of a failed turn."""
    return {conventions.TURN_STATUS: "failed", conventions.ERROR_TYPE: code}
