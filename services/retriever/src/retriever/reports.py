"""What a refresh did, read from its row."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from contracts.refreshes import RefreshReport, RejectedFile


def report_of(row: Mapping[str, Any]) -> RefreshReport:
    """The report of a refresh that ended; the clocks of two machines may disagree, a duration is never negative."""
    status, path = row["status"], row["rejected_path"]
    took = (row["finished_at"] - row["started_at"]).total_seconds()
    return RefreshReport(
        refresh_id=row["refresh_id"],
        status=status,
        reason=row["reason"],
        added=row["added"],
        changed=row["changed"],
        deleted=row["deleted"],
        unchanged=row["unchanged"],
        rejected=(RejectedFile(path=path, reason=row["reason"]),) if path else (),
        embedded=row["embedded"],
        started_at=row["started_at"],
        finished_at=row["finished_at"],
        duration_ms=max(0.0, took * 1000),
    )
