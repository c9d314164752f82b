"""The dashboard and what it asks Prometheus for."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[2] / "deploy" / "observability"
_NAMES = re.compile(r"\b(?:talkdown|http|messaging|gen_ai|target)_[a-z_]+(?=[{\[)\s]|$)")
_PARTS = re.compile(r"_(?:bucket|count|sum|total)$")


def expressions() -> dict[str, str]:
    """Every query of the dashboard by its panel's title and its letter, as Grafana would send it."""
    board: dict[str, Any] = json.loads((FOLDER / "grafana" / "talkdown.json").read_text(encoding="utf-8"))
    return {
        f"{panel['title']} {target['refId']}": target["expr"].replace("$__rate_interval", "1m")
        for panel in board["panels"]
        for target in panel.get("targets", ())
    }


def families() -> set[str]:
    """The names of the metrics that the dashboard asks for, without the parts that they are stored in."""
    return {_PARTS.sub("", name) for expression in expressions().values() for name in _metrics_of(expression)}


def _metrics_of(expression: str) -> set[str]:
    """The metrics of a query: names that are selected, not labels that are grouped by or compared."""
    without_labels = re.sub(r"\bby \([^)]*\)|\{[^}]*\}", "", expression)
    return set(_NAMES.findall(without_labels))
