"""Which text stands for a chunk: what is stored, what is embedded, and its name among the kept vectors."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence

RECIPE = "headed-1"
"""The recipe of :func:`embedded_text`; part of every fingerprint, so that a new recipe embeds anew."""

# PostgreSQL's text has no NUL, UTF-8 no lone surrogate.
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def clean(text: str) -> str:
    """The same text, code point for code point, with U+FFFD for what PostgreSQL or UTF-8 cannot hold."""
    return _UNSTORABLE.sub("\ufffd", text)


def embedded_text(title: str | None, heading: Sequence[str], context: str, plain: str) -> str:
    """What is embedded for a chunk: its title and headings on one line, its context, and, at the end, its text."""
    path = [title, *heading] if title and title not in heading else list(heading)
    return "\n".join(part for part in (" > ".join(part for part in path if part), context, plain) if part)


def hash_of(text: str, start: int) -> bytes:
    """The name of a text among the kept vectors: 16 bytes of the sha256 of it, and of where its own words begin."""
    return hashlib.sha256(f"{start}\n{text}".encode()).digest()[:16]
