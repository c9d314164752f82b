"""``{field}`` in instructions and greetings; ``{{`` and ``}}`` stand for the braces themselves."""

from __future__ import annotations

import re
from collections.abc import Mapping

_PLACEHOLDER = re.compile(r"\{\{|\}\}|\{([a-z][a-z0-9_]*)\}")


def placeholders(text: str) -> tuple[str, ...]:
    """The fields that a text names, in the order of their first use."""
    return tuple(dict.fromkeys(found[1] for found in _PLACEHOLDER.finditer(text) if found[1]))


def filled(text: str, fields: Mapping[str, str]) -> str:
    """The text with its fields filled in; a field that nobody knows is left as it is written."""

    def value(found: re.Match[str]) -> str:
        return fields.get(found[1], found[0]) if found[1] else found[0][0]

    return _PLACEHOLDER.sub(value, text)
