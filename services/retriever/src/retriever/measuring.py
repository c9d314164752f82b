"""The metrics of documents on their way into searches."""

from __future__ import annotations

import datetime as dt

from chassis import conventions, metrics
from contracts.refreshes import RefreshReport
from retriever.visibility import Step

SEARCHABLE = metrics.histogram(
    "talkdown.document.time_to_searchable", "s", "From a save to the moment from which searches find it."
)
REFRESHED = metrics.histogram(
    "talkdown.refresh.duration",
    "s",
    "From the start of a refresh, of a save or of the tree, to its end.",
    metrics.MODEL_S,
)
OLDEST_SAVE = dt.timedelta(seconds=60)
"""A file that was moved or copied keeps its time: one so much older than its refresh was not saved just now."""


def shown(step: Step) -> None:
    """Documents became visible."""
    if step.started_at is None:
        return
    for one in step.shown:
        if one.saved_at is not None and one.saved_at > step.started_at - OLDEST_SAVE:
            SEARCHABLE.record((step.at - one.saved_at).total_seconds(), {conventions.DOCUMENT_CHANGE: one.became})


def ended(report: RefreshReport) -> None:
    """A refresh ended."""
    REFRESHED.record(report.duration_ms / 1000, {conventions.REFRESH_STATUS: report.status})
