"""Text that cannot command a terminal: what documents and file names say is shown, and never obeyed."""

from __future__ import annotations

import re
from typing import Protocol, TextIO

COMMANDING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""Control characters but for tab and line feed, and those that turn the direction of writing around."""


def harmless(text: str) -> str:
    r"""The text with such characters written out as ``\u001b``, which is what JSON calls them too."""
    return COMMANDING.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


class Writer(Protocol):
    """Where a command writes."""

    def write(self, text: str, /) -> object:
        """Write a text."""
        ...

    def flush(self) -> object:
        """Let it be seen."""
        ...


class Shown:
    """A stream to a terminal that writes harmless text, and writes out what its encoding does not know."""

    def __init__(self, out: TextIO) -> None:
        self._out = out

    def write(self, text: str) -> None:
        """Write a text."""
        text, encoding = harmless(text), self._out.encoding or "utf-8"
        self._out.write(text.encode(encoding, "backslashreplace").decode(encoding))

    def flush(self) -> None:
        """Let it be seen."""
        self._out.flush()
