"""The table of guarantees: each test that runs over several adapters is one, named as the test is."""

from __future__ import annotations

import re
from collections.abc import Iterable

import pytest
from bus_carrier import ADAPTERS

NAME = re.compile(r"::test_(?P<guarantee>\w+)\[(?P<adapter>\w+)\]$")
HELD, BROKEN, SKIPPED = "held", "BROKEN", "skipped"


def table(reports: Iterable[pytest.TestReport]) -> list[str]:
    """The lines: a guarantee and a word for each adapter; a dash where the adapter does not promise it."""
    rows: dict[str, dict[str, str]] = {}
    for report in reports:
        found = NAME.search(report.nodeid)
        if found is None or found["adapter"] not in ADAPTERS:
            continue
        row = rows.setdefault(found["guarantee"].replace("_", " "), {})
        if report.failed:
            row[found["adapter"]] = BROKEN
        elif report.skipped:
            row[found["adapter"]] = SKIPPED
        elif report.when == "call":
            row.setdefault(found["adapter"], HELD)
    if not rows:
        return []
    wide = max(map(len, rows))
    lines = [f"{'':{wide}}  " + "  ".join(f"{adapter:<7}" for adapter in ADAPTERS).rstrip()]
    for guarantee, row in rows.items():
        words = "  ".join(f"{row.get(adapter, '-'):<7}" for adapter in ADAPTERS)
        lines.append(f"{guarantee:{wide}}  {words}".rstrip())
    words = [word for row in rows.values() for word in row.values()]
    counts = ", ".join(f"{words.count(kind)} {kind.lower()}" for kind in (HELD, BROKEN, SKIPPED) if kind in words)
    return [*lines, f"{len(rows)} guarantees: {counts}"]
