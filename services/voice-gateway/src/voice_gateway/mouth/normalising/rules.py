"""What a rule of normalisation is."""

from __future__ import annotations

from collections.abc import Callable
from re import Match, Pattern

Rule = tuple[Pattern[str], Callable[[Match[str]], str | None]]
"""A pattern, and how what it matched is read: words and marks; None when it is not what the pattern took it for."""
