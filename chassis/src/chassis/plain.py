"""Errors whose message is a sentence of our own, and may be shown to anybody."""

from __future__ import annotations

__all__ = ["Plain"]


class Plain(Exception):
    """The base of errors that say what went wrong in one sentence, and quote nobody.

    The sentence holds no text of a document, no key, and nothing that a provider or a library said: it stands in
    reports and dead letters as it is. Of every other error these tell the kind and the place alone.
    """
