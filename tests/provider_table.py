"""``docs/providers.md``, made of ``tests/data/providers.toml``.

``python tests/provider_table.py`` writes it; ``--check`` writes nothing, and exits with 1 when it is out of date or
names a test that does not exist.
"""

from __future__ import annotations

import ast
import sys
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
DATA = ROOT / "tests/data/providers.toml"
PAGE = ROOT / "docs/providers.md"
MEASURED = "measured: "
HEAD = """# Providers

What Talkdown does with whom. *Measured here* means: with the provider's own client package, over a real socket, against
a server of ours that speaks its protocol; in live sessions it also checks all that it is sent by that package's types.
No test of this repository asks a provider's own machines; `make live-check` does, with a key, and writes what it
measured. Everything else is what the linked documentation says. An empty cell is a question that does not arise, or
that no documentation answers.

How sessions use these differences: `Capabilities` in `services/voice-gateway/src/voice_gateway/live/port.py`.
"""
FOOT = """
This page is made by `tests/provider_table.py` from `tests/data/providers.toml`; edit that.
"""


@dataclass(frozen=True)
class Cell:
    """An answer, and the test that shows it or the page that says it."""

    answer: str
    test: str | None = None
    link: str | None = None

    @classmethod
    def read(cls, text: str) -> Cell:
        """``answer | measured: file::test`` or ``answer | link``; ``ValueError`` for anything else."""
        answer, _, source = (part.strip() for part in text.partition(" | "))
        if source.startswith(MEASURED):
            return cls(answer, test=source.removeprefix(MEASURED))
        if source.startswith("https://"):
            return cls(answer, link=source)
        raise ValueError(f"a cell needs a test or a link: {text!r}")

    def __str__(self) -> str:
        return f"{self.answer} · [documented]({self.link})" if self.test is None else f"{self.answer} · *measured here*"


def page() -> str:
    """The whole page."""
    told: dict[str, Any] = tomllib.loads(DATA.read_text())
    providers: list[str] = told["providers"]
    parts = [HEAD]
    for table in told["table"]:
        parts += [f"\n## {table['title']}\n\n{table['says']}\n\n", _row(["", *providers]), _row(["---"] * 7)]
        for row in table["row"]:
            cells = [str(Cell.read(row[name])) if name in row else "" for name in providers]
            parts.append(_row([row["feature"], *cells]))
    return "".join((*parts, FOOT))


def missing() -> list[str]:
    """The tests that cells name and that do not exist."""
    told: dict[str, Any] = tomllib.loads(DATA.read_text())
    providers: list[str] = told["providers"]
    cells = [
        Cell.read(row[name]) for table in told["table"] for row in table["row"] for name in providers if name in row
    ]
    return sorted({cell.test for cell in cells if cell.test is not None and not _exists(cell.test)})


def _exists(test: str) -> bool:
    file, _, name = test.partition("::")
    return (ROOT / file).is_file() and name in _tests(ROOT / file)


@cache
def _tests(file: Path) -> frozenset[str]:
    functions = (
        node for node in ast.parse(file.read_text()).body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    )
    return frozenset(node.name for node in functions)


def _row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |\n"


def main() -> int:
    """Write the page, or with ``--check`` compare it; the exit code."""
    if gone := missing():
        print("tests/data/providers.toml names tests that do not exist:", *gone, sep="\n  ")
        return 1
    if "--check" in sys.argv[1:]:
        current = PAGE.is_file() and PAGE.read_text() == page()
        if not current:
            print("docs/providers.md is out of date: run python tests/provider_table.py")
        return 0 if current else 1
    PAGE.write_text(page())
    return 0


if __name__ == "__main__":
    sys.exit(main())
