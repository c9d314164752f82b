"""Correct a transcript by the words that only the notes know."""

from __future__ import annotations


class Correction:
    """Of transcripts, by one vocabulary."""

    def __init__(self, words: tuple[str, ...]) -> None:
        self._words = words

    def __call__(self, text: str) -> str:
        """The text, with the vocabulary's words where they were meant."""
        return text
