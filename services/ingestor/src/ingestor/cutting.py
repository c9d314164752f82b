"""Cutting a block that is too long for one chunk: at its sentences, else its lines, its words, its code points."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from chassis.sentences import sentence_spans
from ingestor.markdown import Block, Document

__all__ = ["columns", "cut", "fits", "length_of"]

# Sentences are sought in a window of the text at a time, so that a line of 256 KiB costs no more than its length.
_WINDOW: Final = 4000
_STEP_BACK: Final = 16
_PAUSES: Final = "。！？；，、：;,:)）」』】》…·"


def length_of(document: Document, start: int, end: int) -> int:
    """The code points in the bytes ``[start, end)``."""
    return len(document.data[start:end].decode())


def fits(document: Document, start: int, end: int, limit: int) -> bool:
    """Say whether the bytes ``[start, end)`` are at most ``limit`` code points; they are counted only in doubt."""
    size = end - start
    return size <= limit or (size <= 4 * limit and length_of(document, start, end) <= limit)


def columns(document: Document, start: int, end: int) -> int:
    """The columns that the bytes ``[start, end)`` take in a terminal: what a wide script says in fewer letters."""
    text = document.data[start:end].decode()
    return len(text) if text.isascii() else sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def cut(document: Document, block: Block, limit: int) -> list[Block]:
    """Cut a block without children into parts of at most ``limit`` characters that follow each other without a gap."""
    parts: list[Block] = []
    marks = [block.start, *(_sentences(document, block) if block.kind != "code" else ()), block.end]
    first = block.first
    for start, end in pairwise(marks):
        for at in [*_pieces(document, start, end, limit), end]:
            last = block.last if at == block.end else max(first, min(document.plain.offset_of(at), block.last))
            parts.append(Block("part", parts[-1].end if parts else start, at, first, last, context=block.context))
            first = last
    return parts


def _sentences(document: Document, block: Block) -> Iterator[int]:
    """The bytes where the sentences of a block begin, but for the first; the space between belongs to the former."""
    plain = document.plain
    previous = block.start
    for before, after in _breaks(plain.text, block.first, block.last):
        left, right = plain.byte_of(before), plain.byte_of(after)
        between = document.data[left:right]
        line_end = max(between.rfind(b"\n"), between.rfind(b"\r"))
        space = line_end if line_end >= 0 else max(between.rfind(b" "), between.rfind(b"\t"))
        mark = left + space + 1 if space >= 0 else right
        if previous < mark < block.end:
            yield mark
            previous = mark


def _breaks(text: str, first: int, last: int) -> Iterator[tuple[int, int]]:
    """For each two neighbouring sentences, the last character of the one and the first of the other."""
    while first < last:
        stop = min(first + _WINDOW, last)
        spans = sentence_spans(text[first:stop])
        if stop < last and len(spans) > 1:
            # The window's last sentence may go on behind it.
            stop = first + spans[-1][0]
        for (_, end), (start, _) in pairwise(spans):
            yield first + end - 1, first + start
        first = stop


def _pieces(document: Document, start: int, end: int, limit: int) -> Iterator[int]:
    """Where to cut ``[start, end)`` so that each piece fits: after a line, a word, a pause, or at worst a character."""
    data = document.data
    while not fits(document, start, end, limit):
        window = data[start : min(start + 4 * limit, end)].decode(errors="ignore")[:limit]
        at = max(window.rfind("\n"), window.rfind("\r")) + 1
        if at <= limit // 4:
            at = max(window.rfind(" "), window.rfind("\t")) + 1
        if at <= limit // 4:
            at = max(map(window.rfind, _PAUSES)) + 1
        if at <= limit // 4:
            at = _between_letters(window)
        start += len(window[:at].encode())
        yield start


def _between_letters(window: str) -> int:
    """The end of the window, moved back so that no mark is parted from its letter."""
    for at in range(len(window) - 1, max(len(window) - _STEP_BACK, 1), -1):
        if not (unicodedata.combining(window[at]) or window[at] in "\u200d\ufe0f" or window[at - 1] == "\u200d"):
            return at
    return len(window)
