"""The dashboard, and what it asks Prometheus for."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import promql_parser as promql

FOLDER = Path(__file__).parents[1] / "deploy" / "observability"
_PARTS = re.compile(r"_(?:bucket|count|sum|total)$")


def expressions() -> dict[str, str]:
    """Every query of the dashboard by its panel's title and its letter, as Grafana would send it."""
    board: dict[str, Any] = json.loads((FOLDER / "grafana" / "talkdown.json").read_text(encoding="utf-8"))
    return {
        f"{panel['title']} {target['refId']}": target["expr"].replace("$__rate_interval", "1m")
        for panel in board["panels"]
        for target in panel.get("targets", ())
    }


def selected() -> set[str]:
    """The names that the dashboard asks for, as Prometheus stores them; a query that is none is a ``ValueError``."""
    return {name for expression in expressions().values() for name in _selected(promql.parse(expression))}


def families() -> set[str]:
    """The same, without the parts in which a histogram or a counter is stored."""
    return {_PARTS.sub("", name) for name in selected()}


def _selected(expression: promql.Expr) -> Iterator[str]:
    found: list[str] = []

    def look(part: promql.Expr) -> bool:
        if isinstance(part, promql.VectorSelector):
            found.append(str(part.name))
        return True

    promql.walk(expression, look)
    yield from found


def grouped_by() -> set[str]:
    """The labels that the dashboard groups by."""
    found: set[str] = set()

    def look(part: promql.Expr) -> bool:
        if isinstance(part, promql.AggregateExpr) and part.modifier is not None:
            found.update(part.modifier.labels)
        return True

    for expression in expressions().values():
        promql.walk(promql.parse(expression), look)
    return found
